//! GOAL as LogGOPSim's `txt2bin` writes it: little-endian, packed. Offsets of ranks count from after the magic number.

use super::{PS_PER_NS, known};
use crate::{Act, Builder, Graph, Node, WorkError};

/// First eight bytes of a file, as a number.
pub const MAGIC: u64 = 4223;

/// Bytes of one node.
const NODE_BYTES: usize = 39;

/// Reads a binary GOAL schedule. `file` names it in errors.
///
/// # Errors
/// The first byte at fault. Whether the schedule can end is for [`Graph::check`] to say.
pub fn read_binary(bytes: &[u8], file: &str) -> Result<Graph, WorkError> {
    let mut reader = Reader { file, bytes, at: 0 };
    if reader.u64("the magic number")? != MAGIC {
        return Err(WorkError::at_byte(file, 0, "no magic number 4223", "give a file that `txt2bin` wrote"));
    }
    let ranks = reader.u32("the number of ranks")?;
    reader.take(2, "the processors and network cards")?;
    reader.need(u64::from(ranks) * 16, "the table of ranks")?;
    let mut builder =
        Builder::new(file, ranks).map_err(|error| WorkError::at_byte(file, 8, error.problem, error.hint))?;
    for rank in 0..ranks {
        let (at, start) = (reader.at, reader.u64("the start of a rank")?);
        reader.u64("the end of a rank")?;
        let start = usize::try_from(start).ok().and_then(|start| start.checked_add(8));
        let start = start.filter(|&start| start <= bytes.len());
        let start = start.ok_or_else(|| {
            let problem = format!("rank {rank} begins beyond the end of the file");
            WorkError::at_byte(file, at, problem, "copy the file again; it is damaged or cut")
        })?;
        read_rank(Reader { at: start, ..reader }, rank, ranks, &mut builder)?;
    }
    Ok(builder.finish())
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Refuses a file that ends before so many more bytes.
    fn need(&self, count: u64, what: &str) -> Result<(), WorkError> {
        let left = (self.bytes.len() - self.at) as u64;
        if count <= left {
            return Ok(());
        }
        let problem = format!("the file ends within {what}: {left} of {count} bytes are there");
        Err(WorkError::at_byte(self.file, self.at, problem, "copy the file again; it is cut"))
    }

    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], WorkError> {
        self.need(count as u64, what)?;
        self.at += count;
        Ok(&self.bytes[self.at - count..self.at])
    }

    fn u8(&mut self, what: &str) -> Result<u8, WorkError> {
        Ok(self.take(1, what)?[0])
    }

    fn u32(&mut self, what: &str) -> Result<u32, WorkError> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4, what)?);
        Ok(u32::from_le_bytes(bytes))
    }

    fn u64(&mut self, what: &str) -> Result<u64, WorkError> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8, what)?);
        Ok(u64::from_le_bytes(bytes))
    }

    fn error(&self, at: usize, problem: String) -> WorkError {
        WorkError::at_byte(self.file, at, problem, "copy the file again, or write it anew with `txt2bin`")
    }
}

/// Dependents of one node: number and place in the appendix, after its end and after its start.
struct Dependents {
    at: usize,
    ends: (u32, u32),
    starts: (u32, u32),
}

fn read_rank(mut reader: Reader<'_>, rank: u32, ranks: u32, builder: &mut Builder) -> Result<(), WorkError> {
    let count = reader.u32("the number of nodes")?;
    let (roots_at, roots) = (reader.at, reader.u32("the number of roots")?);
    reader.need(u64::from(roots) * 4 + u64::from(count) * NODE_BYTES as u64, "the nodes of a rank")?;
    let roots: Vec<u32> = (0..roots).map(|_| reader.u32("the roots")).collect::<Result<_, _>>()?;
    let mut expected = Vec::with_capacity(count as usize);
    let mut dependents = Vec::with_capacity(count as usize);
    let mut first = None;
    for number in 0..count {
        let at = reader.at;
        expected.push(reader.u32("a node")?);
        let (kind, peer, size, tag) =
            (reader.u8("a node")?, reader.u32("a node")?, reader.u64("a node")?, reader.u32("a node")?);
        let act = match kind {
            1 => Act::Send { to: peer, bytes: size, tag },
            2 => Act::Recv { from: known(peer), bytes: size, tag: known(tag) },
            3 => match size.checked_mul(PS_PER_NS) {
                Some(ps) => Act::Calc { ps },
                None => return Err(reader.error(at, format!("calc {size}: more than 2^54 ns"))),
            },
            _ => return Err(reader.error(at + 4, format!("a node of type {kind}; types are 1, 2 and 3"))),
        };
        if let Act::Send { to: peer, .. } | Act::Recv { from: Some(peer), .. } = act
            && peer >= ranks
        {
            return Err(reader.error(at + 5, format!("rank {peer} of {ranks} ranks")));
        }
        if matches!(act, Act::Send { bytes: 0, .. } | Act::Recv { bytes: 0, .. }) {
            return Err(reader.error(at + 9, "a message of 0 bytes".to_owned()));
        }
        let (cpu, nic) = (reader.u8("a node")?, reader.u8("a node")?);
        let id = builder.add(rank, Node { act, cpu, nic, part: 0, line: 0 })?;
        first.get_or_insert(id - number);
        let ends = (reader.u32("a node")?, reader.u32("a node")?);
        let starts = (reader.u32("a node")?, reader.u32("a node")?);
        dependents.push(Dependents { at, ends, starts });
    }
    let Some(first) = first else { return Ok(()) };
    let edges: u64 = dependents.iter().map(|of| u64::from(of.ends.0) + u64::from(of.starts.0)).sum();
    reader.need(edges * 4, "the dependents of a rank")?;
    let mut found = vec![0u32; count as usize];
    for (before, Dependents { at, ends, starts }) in (first..).zip(&dependents) {
        for ((many, place), by_end) in [(*ends, true), (*starts, false)] {
            if many == 0 {
                continue;
            }
            let skip = u64::from(place) * 4;
            reader.need(skip + u64::from(many) * 4, "the dependents of a rank")?;
            let mut appendix = Reader { at: reader.at + skip as usize, ..reader };
            for _ in 0..many {
                let after = appendix.u32("the dependents of a rank")?;
                let known = found.get_mut(after as usize);
                let problem = || reader.error(*at, format!("it releases node {after} of {count}"));
                *known.ok_or_else(problem)? += 1;
                if by_end {
                    builder.requires(first + after, before);
                } else {
                    builder.irequires(first + after, before);
                }
            }
        }
    }
    let wrong = (0..count as usize).find(|&node| found[node] != expected[node]);
    if let Some(node) = wrong {
        let problem = format!("it waits for {} nodes, and {} release it", expected[node], found[node]);
        return Err(reader.error(dependents[node].at, problem));
    }
    let free: Vec<u32> = (0..count).filter(|&node| expected[node as usize] == 0).collect();
    let mut listed = roots;
    listed.sort_unstable();
    if listed != free {
        return Err(reader.error(roots_at, "the roots are not the nodes that wait for nothing".to_owned()));
    }
    Ok(())
}
