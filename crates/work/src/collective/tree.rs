//! Binomial trees. Broadcast: in each round, all that have the vector send it on. Reduce: the same rounds backwards.

use super::expansion::{Expansion, part};
use crate::{NodeId, WorkError};
use std::ops::Range;

pub(super) fn expand(to: &mut Expansion<'_>, whole: Range<u64>) -> Result<(), WorkError> {
    let (count, segments) = (to.count(), to.collective.segments as usize);
    // Last send of each rank: it serves its children in turn.
    let mut lanes: Vec<Option<NodeId>> = vec![None; count];
    for segment in 0..segments {
        let mut has: Vec<Option<NodeId>> = vec![None; count];
        let mut distance = 1;
        while distance < count {
            for member in 0..distance.min(count - distance) {
                let after: Vec<NodeId> = has[member].into_iter().chain(lanes[member]).collect();
                let child = member + distance;
                let (send, done) =
                    to.pass((member, child), part(&whole, segments, segment), false, &after, &[])?;
                lanes[member] = Some(send);
                has[child] = Some(done);
            }
            distance *= 2;
        }
    }
    Ok(())
}

pub(super) fn reduce(to: &mut Expansion<'_>, whole: &Range<u64>) -> Result<(), WorkError> {
    let (count, segments) = (to.count(), to.collective.segments as usize);
    let mut lanes: Vec<Option<NodeId>> = vec![None; count];
    for segment in 0..segments {
        let mut sums: Vec<Vec<NodeId>> = vec![Vec::new(); count];
        let mut distance = count.next_power_of_two() / 2;
        while distance > 0 {
            for child in distance..(2 * distance).min(count) {
                let member = child - distance;
                let mut after = std::mem::take(&mut sums[child]);
                after.extend(lanes[child]);
                let (send, done) =
                    to.pass((child, member), part(whole, segments, segment), true, &after, &[])?;
                lanes[child] = Some(send);
                sums[member].push(done);
            }
            distance /= 2;
        }
    }
    Ok(())
}
