//! Expansion of a collective by its algorithm.

use super::expansion::{Expansion, Move};
use super::{
    Algorithm, Collective, Kind, all_to_all, barrier, double_tree, halving_doubling, hierarchical, ring, tree,
};
use crate::{Builder, NodeId, WorkError};

/// Adds a collective of `ranks` to a graph. What begins it at a rank waits for the rank's `gate`. Returns, rank by rank,
/// the nodes with which it ends there.
///
/// # Errors
/// Settings that do not fit each other or the number of ranks.
pub fn expand(
    builder: &mut Builder,
    collective: &Collective,
    ranks: &[u32],
    gate: impl Fn(u32) -> Option<NodeId>,
) -> Result<Vec<Vec<NodeId>>, WorkError> {
    Ok(expanded(builder, collective, ranks, gate, None)?.0)
}

/// The same, and tells what each message carries.
///
/// # Errors
/// Settings that do not fit each other or the number of ranks.
pub fn expand_with_moves(
    builder: &mut Builder,
    collective: &Collective,
    ranks: &[u32],
) -> Result<Vec<Move>, WorkError> {
    Ok(expanded(builder, collective, ranks, |_| None, Some(Vec::new()))?.1)
}

fn expanded(
    builder: &mut Builder,
    collective: &Collective,
    ranks: &[u32],
    gate: impl Fn(u32) -> Option<NodeId>,
    moves: Option<Vec<Move>>,
) -> Result<(Vec<Vec<NodeId>>, Vec<Move>), WorkError> {
    check(collective, ranks)?;
    let first = builder.count();
    let mut expansion = Expansion { builder, ranks, collective, moves };
    let members: Vec<usize> = (0..ranks.len()).collect();
    match (collective.kind, collective.algorithm) {
        (Kind::AllToAll, algorithm) => all_to_all::expand(&mut expansion, algorithm)?,
        (_, Algorithm::Dissemination) => barrier::expand(&mut expansion)?,
        (_, Algorithm::Ring) => expansion.in_channels(1, |expansion, whole, channel| {
            let mut members = members.clone();
            if channel % 2 == 1 {
                members[1..].reverse();
            }
            ring::expand(expansion, whole, &members)
        })?,
        (_, Algorithm::HalvingDoubling) => {
            expansion.in_channels(1, |expansion, whole, _| halving_doubling::expand(expansion, whole))?;
        }
        (_, Algorithm::DoubleTree) => expansion.in_channels(2, double_tree::expand)?,
        (_, Algorithm::Hierarchical) => {
            expansion.in_channels(1, |expansion, whole, _| hierarchical::expand(expansion, whole))?;
        }
        (Kind::Reduce, Algorithm::Tree) => {
            expansion.in_channels(1, |expansion, whole, _| tree::reduce(expansion, &whole))?;
        }
        (_, Algorithm::Tree) => {
            expansion.in_channels(1, |expansion, whole, _| tree::expand(expansion, whole))?;
        }
        (Kind::Gather | Kind::Scatter, _) => {
            expansion.in_channels(1, |expansion, whole, _| all_to_all::root_parts(expansion, &whole))?;
        }
        (_, Algorithm::Direct | Algorithm::Pairwise) => {
            expansion.in_channels(1, |expansion, whole, _| all_to_all::parts(expansion, whole))?;
        }
    }
    let moves = expansion.moves.unwrap_or_default();
    let ends = builder.gate_and_ends(first, ranks, gate);
    Ok((ends, moves))
}

fn check(collective: &Collective, ranks: &[u32]) -> Result<(), WorkError> {
    let Collective { kind, algorithm, bytes, channels, segments, group, .. } = *collective;
    let refuse = |problem: String, hint: String| Err(WorkError::new(kind.name(), problem, hint));
    let count = ranks.len() as u64;
    if count < 2 {
        return refuse(format!("{count} ranks"), "give it two ranks or more".to_owned());
    }
    if !kind.algorithms().contains(&algorithm) {
        let names: Vec<&str> = kind.algorithms().iter().map(|algorithm| algorithm.name()).collect();
        let hint = format!("take one of {}", names.join(", "));
        return refuse(format!("algorithm {}", algorithm.name()), hint);
    }
    if algorithm == Algorithm::HalvingDoubling && kind != Kind::AllReduce && !count.is_power_of_two() {
        let hint = "take a power of two, or the algorithm ring".to_owned();
        return refuse(format!("halving and doubling of {count} ranks"), hint);
    }
    if algorithm == Algorithm::Hierarchical
        && (group < 2 || u64::from(group) >= count || !count.is_multiple_of(group.into()))
    {
        let hint = format!("take a number of ranks per group from 2 to {} that divides {count}", count / 2);
        return refuse(format!("groups of {group} among {count} ranks"), hint);
    }
    let trees = if algorithm == Algorithm::DoubleTree { 2 } else { 1 };
    let parts = match kind {
        Kind::AllToAll if collective.blocks.is_some() => 0,
        Kind::Broadcast | Kind::Reduce | Kind::Barrier => 1,
        _ => count,
    };
    let least = (parts * trees).saturating_mul(channels.into()).saturating_mul(segments.into());
    if channels == 0 || segments == 0 || bytes < least {
        return refuse(
            format!("{bytes} bytes in {channels} channels and {segments} segments of {count} ranks"),
            format!("give it at least one channel and segment, and {least} bytes: one for each part"),
        );
    }
    if kind == Kind::AllToAll && segments > 1 {
        return refuse(
            format!("{segments} segments"),
            "leave `segments` at 1: blocks are not forwarded".to_owned(),
        );
    }
    if kind == Kind::Barrier && (channels > 1 || segments > 1) {
        return refuse(
            format!("{channels} channels and {segments} segments"),
            "leave both at 1: there are no data to divide".to_owned(),
        );
    }
    if collective.blocks.as_ref().is_some_and(|blocks| blocks.len() as u64 != count * count) {
        return refuse(
            "blocks of another number of ranks".to_owned(),
            "give one size for each pair".to_owned(),
        );
    }
    if collective.blocks.is_some() && algorithm == Algorithm::Ring {
        return refuse("blocks of several sizes in a ring".to_owned(), "take direct or pairwise".to_owned());
    }
    Ok(())
}
