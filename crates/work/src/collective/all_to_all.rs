//! All-to-all exchanges, and gathers and scatters in which every part goes straight to its ranks.

use super::expansion::{Expansion, part};
use super::{Algorithm, Kind};
use crate::{NodeId, WorkError};
use std::ops::Range;

pub(super) fn expand(to: &mut Expansion<'_>, algorithm: Algorithm) -> Result<(), WorkError> {
    for channel in 0..to.collective.channels {
        match algorithm {
            Algorithm::Pairwise => pairwise(to, channel)?,
            Algorithm::Ring => ring(to, channel)?,
            _ => direct(to, channel)?,
        }
    }
    Ok(())
}

/// Bytes of the block from one rank to another that go by a channel.
fn bytes(to: &Expansion<'_>, from: usize, dest: usize, channel: u32) -> u64 {
    let (count, channels) = (to.count(), to.collective.channels as usize);
    let block = match &to.collective.blocks {
        Some(blocks) => 0..blocks[from * count + dest],
        None => part(&(0..to.collective.bytes), count, dest),
    };
    let own = part(&block, channels, channel as usize);
    own.end - own.start
}

/// Sends a block, or nothing if it is empty.
fn send(
    to: &mut Expansion<'_>,
    (from, dest): (usize, usize),
    channel: u32,
    after: &[NodeId],
    recv_after: &[NodeId],
) -> Result<Option<(NodeId, NodeId)>, WorkError> {
    let number = (from * to.count() + dest) as u64;
    match bytes(to, from, dest, channel) {
        0 => Ok(None),
        bytes => to.transfer((from, dest), (number..number + 1, bytes), false, after, recv_after).map(Some),
    }
}

/// All at once, each rank beginning with the next one.
fn direct(to: &mut Expansion<'_>, channel: u32) -> Result<(), WorkError> {
    let count = to.count();
    for distance in 1..count {
        for from in 0..count {
            send(to, (from, (from + distance) % count), channel, &[], &[])?;
        }
    }
    Ok(())
}

/// One partner after the other: ranks whose numbers differ by an exclusive or where the count is a power of two, else
/// to the one so many further, from the one so many before (Thakur et al., IJHPCA 2005, section 5).
fn pairwise(to: &mut Expansion<'_>, channel: u32) -> Result<(), WorkError> {
    let count = to.count();
    let mut ends: Vec<Vec<NodeId>> = vec![Vec::new(); count];
    for round in 1..count {
        let mut next: Vec<Vec<NodeId>> = vec![Vec::new(); count];
        for from in 0..count {
            let dest = if count.is_power_of_two() { from ^ round } else { (from + round) % count };
            match send(to, (from, dest), channel, &ends[from], &ends[dest])? {
                Some((send, recv)) => {
                    next[from].push(send);
                    next[dest].push(recv);
                }
                None => {
                    // Without a message, what both waited for is waited for by the next.
                    next[from].extend(&ends[from]);
                    next[dest].extend(&ends[dest]);
                }
            }
        }
        for nodes in &mut next {
            nodes.sort_unstable();
            nodes.dedup();
        }
        ends = next;
    }
    Ok(())
}

/// Blocks are forwarded from neighbour to neighbour: those for the next rank go one hop, then those for the one after it
/// two, and so on, one message at a time.
fn ring(to: &mut Expansion<'_>, channel: u32) -> Result<(), WorkError> {
    let count = to.count();
    let mut ends: Vec<Vec<NodeId>> = vec![Vec::new(); count];
    for distance in 1..count {
        for hop in 0..distance {
            let mut next = vec![Vec::new(); count];
            for member in 0..count {
                let source = (member + count - hop) % count;
                let dest = (source + distance) % count;
                let number = (source * count + dest) as u64;
                let right = (member + 1) % count;
                let (bytes, data) = (bytes(to, source, dest, channel), number..number + 1);
                let (_, done) =
                    to.transfer((member, right), (data, bytes), false, &ends[member], &ends[right])?;
                next[right] = vec![done];
            }
            ends = next;
        }
    }
    Ok(())
}

/// All-gather and reduce-scatter: every part straight to, or from, every other rank.
pub(super) fn parts(to: &mut Expansion<'_>, whole: Range<u64>) -> Result<(), WorkError> {
    let (count, segments) = (to.count(), to.collective.segments as usize);
    let adds = to.collective.kind == Kind::ReduceScatter;
    for distance in 1..count {
        for from in 0..count {
            let dest = (from + distance) % count;
            let own = part(&whole, count, if adds { dest } else { from });
            let mut after: Vec<NodeId> = Vec::new();
            for segment in 0..segments {
                let (send, _) = to.pass((from, dest), part(&own, segments, segment), adds, &after, &[])?;
                after = vec![send];
            }
        }
    }
    Ok(())
}

/// Gather and scatter: every part straight to, or from, the first rank.
pub(super) fn root_parts(to: &mut Expansion<'_>, whole: &Range<u64>) -> Result<(), WorkError> {
    let (count, segments) = (to.count(), to.collective.segments as usize);
    let gathers = to.collective.kind == Kind::Gather;
    for other in 1..count {
        let own = part(whole, count, other);
        let pair = if gathers { (other, 0) } else { (0, other) };
        let mut after: Vec<NodeId> = Vec::new();
        for segment in 0..segments {
            let (send, _) = to.pass(pair, part(&own, segments, segment), false, &after, &[])?;
            after = vec![send];
        }
    }
    Ok(())
}
