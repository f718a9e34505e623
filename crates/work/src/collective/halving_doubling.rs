//! Recursive halving and doubling between ranks whose numbers differ in one bit.

use super::Kind;
use super::expansion::{Expansion, part};
use crate::{NodeId, WorkError};
use std::ops::Range;

pub(super) fn expand(to: &mut Expansion<'_>, whole: Range<u64>) -> Result<(), WorkError> {
    let segments = to.collective.segments as usize;
    let mut lanes = vec![None; to.count()];
    for segment in 0..segments {
        exchange(to, &whole, (segment, segments), &mut lanes)?;
    }
    Ok(())
}

/// One segment. `lanes` is the last send of each rank, for which that of the next segment waits.
fn exchange(
    to: &mut Expansion<'_>,
    whole: &Range<u64>,
    (segment, segments): (usize, usize),
    lanes: &mut [Option<NodeId>],
) -> Result<(), WorkError> {
    let (count, kind) = (to.count(), to.collective.kind);
    let power = 1 << count.ilog2();
    // Beyond a power of two, the first ranks work in pairs: one passes its vector to the other and gets the sum in the
    // end (Thakur et al., section 4.5).
    let extra = count - power;
    let members: Vec<usize> = (0..extra).map(|pair| 2 * pair + 1).chain(2 * extra..count).collect();
    let mut ends: Vec<Vec<NodeId>> = vec![Vec::new(); power];
    // Bytes of some parts of this segment.
    let bytes = |parts: Range<usize>| {
        let own = part(whole, segments, segment);
        part(&own, power, parts.start).start..part(&own, power, parts.end - 1).end
    };
    let mut send = |to: &mut Expansion<'_>,
                    pair: (usize, usize),
                    parts: Range<usize>,
                    adds,
                    after: &[NodeId],
                    recv: &[NodeId]| {
        let mut after = after.to_vec();
        after.extend(lanes[pair.0].filter(|_| segments > 1));
        let ranges: Range<u64> = bytes(parts);
        let (send, done) = to.pass(pair, ranges, adds, &after, recv)?;
        lanes[pair.0] = Some(send);
        Ok::<NodeId, WorkError>(done)
    };
    for (pair, end) in ends.iter_mut().enumerate().take(extra) {
        *end = vec![send(to, (2 * pair, 2 * pair + 1), 0..power, true, &[], &[])?];
    }
    let distances: Vec<usize> = (0..power.ilog2()).map(|bit| 1 << bit).collect();
    let mut held: Vec<Range<usize>> = match kind {
        Kind::AllGather => (0..power).map(|member| member..member + 1).collect(),
        _ => vec![0..power; power],
    };
    if kind != Kind::AllGather {
        for &distance in distances.iter().rev() {
            let mut next = vec![Vec::new(); power];
            for member in 0..power {
                let partner = member ^ distance;
                let middle = held[member].start + distance;
                let given =
                    if member < partner { middle..held[member].end } else { held[member].start..middle };
                let pair = (members[member], members[partner]);
                next[partner] = vec![send(to, pair, given, true, &ends[member], &ends[partner])?];
            }
            for (member, held) in held.iter_mut().enumerate() {
                let middle = held.start + distance;
                *held = if member & distance == 0 { held.start..middle } else { middle..held.end };
            }
            ends = next;
        }
    }
    if kind != Kind::ReduceScatter {
        for &distance in &distances {
            let mut next = vec![Vec::new(); power];
            for member in 0..power {
                let partner = member ^ distance;
                let pair = (members[member], members[partner]);
                next[partner] =
                    vec![send(to, pair, held[member].clone(), false, &ends[member], &ends[partner])?];
            }
            for held in &mut held {
                let start = held.start & !distance;
                *held = start..start + 2 * distance;
            }
            ends = next;
        }
    }
    for (pair, end) in ends.iter().enumerate().take(extra) {
        send(to, (2 * pair + 1, 2 * pair), 0..power, false, end, &[])?;
    }
    Ok(())
}
