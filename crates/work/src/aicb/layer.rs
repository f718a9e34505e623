//! Lines of layers.

use super::groups::Group;
use crate::WorkError;
use crate::collective::Kind;

/// Pass over a layer: what it computes, and what its groups do with the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) compute_ps: u64,
    pub(super) collective: Option<(Kind, Group)>,
    pub(super) bytes: u64,
}

/// A layer; its passes are forward, gradients of inputs, gradients of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) passes: [Pass; 3],
    /// Time that follows each collective.
    pub(super) update_ps: u64,
}

const KINDS: [(&str, Kind); 4] = [
    ("ALLREDUCE", Kind::AllReduce),
    ("ALLGATHER", Kind::AllGather),
    ("REDUCESCATTER", Kind::ReduceScatter),
    ("ALLTOALL", Kind::AllToAll),
];
const COLUMNS: usize = 12;
/// Largest time in nanoseconds, and size: sums of many stay within 64 bits.
const MOST: u64 = 1 << 50;

pub(super) fn read_all<'a>(
    mut lines: impl Iterator<Item = (u32, &'a str)>,
    file: &str,
) -> Result<Vec<Layer>, WorkError> {
    let Some((counted, line)) = lines.next() else {
        return Err(WorkError::at_line(file, 2, "no number of layers", "write it alone on the second line"));
    };
    let count: usize = line.trim().parse().map_err(|_| {
        let problem = format!("{}: no number of layers", line.trim());
        WorkError::at_line(file, counted, problem, "write it alone on the second line")
    })?;
    let layers: Vec<Layer> =
        lines.map(|(number, line)| read(line, (file, number))).collect::<Result<_, _>>()?;
    if layers.len() != count || count == 0 {
        let problem = format!("{count} layers, and {} follow", layers.len());
        return Err(WorkError::at_line(file, counted, problem, "write their number, at least 1"));
    }
    Ok(layers)
}

fn read(line: &str, (file, number): (&str, u32)) -> Result<Layer, WorkError> {
    let refuse = |problem: String, hint: &str| WorkError::at_line(file, number, problem, hint);
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() != COLUMNS {
        return Err(refuse(
            format!("{} columns", words.len()),
            "write 12: name, -1, thrice time, collective and size, and the time after each",
        ));
    }
    let whole = |column: usize, what: &str| {
        let word = words[column];
        word.parse().ok().filter(|&value: &u64| value <= MOST).ok_or_else(|| {
            refuse(format!("{what}: {word}: no whole number up to 2^50"), "write nanoseconds or bytes")
        })
    };
    let pass = |first: usize, what: &str, usual: Group| {
        Ok(Pass {
            compute_ps: whole(first, &format!("time {what}"))? * 1000,
            collective: collective(words[first + 1], usual).ok_or_else(|| {
                let hint = "take NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, with _EP or _DP_EP";
                refuse(format!("collective {what}: {}: not read", words[first + 1]), hint)
            })?,
            bytes: whole(first + 2, &format!("size {what}"))?,
        })
    };
    let passes = [
        pass(2, "forward", Group::Tensor)?,
        pass(5, "of input gradients", Group::Tensor)?,
        pass(8, "of weight gradients", Group::Data)?,
    ];
    Ok(Layer { passes, update_ps: whole(COLUMNS - 1, "time after collectives")? * 1000 })
}

/// Collective of a word, of the usual group unless it names another. The outer option is whether it is known.
fn collective(word: &str, usual: Group) -> Option<Option<(Kind, Group)>> {
    if word == "NONE" {
        return Some(None);
    }
    let (name, kind) = KINDS.into_iter().find(|(name, _)| word.starts_with(name))?;
    let group = match &word[name.len()..] {
        "" => usual,
        "_EP" => Group::Expert,
        "_DP_EP" => Group::ExpertData,
        _ => return None,
    };
    Some(Some((kind, group)))
}
