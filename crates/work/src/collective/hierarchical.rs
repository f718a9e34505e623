//! All-reduce in two levels: within groups of neighbouring ranks, then across groups between ranks of the same number
//! in their group, as hosts of several accelerators do over rails.

use super::expansion::{Ends, Expansion, part};
use super::ring::{Lanes, turn};
use crate::WorkError;
use std::ops::Range;

pub(super) fn expand(to: &mut Expansion<'_>, whole: Range<u64>) -> Result<(), WorkError> {
    let (group, segments) = (to.collective.group as usize, to.collective.segments as usize);
    let groups = to.count() / group;
    for segment in 0..segments {
        let piece = part(&whole, segments, segment);
        let mut ends: Ends = vec![Vec::new(); to.count()];
        for first in (0..to.count()).step_by(group) {
            let members: Vec<usize> = (first..first + group).collect();
            level(to, &piece, &members, true, &mut ends)?;
        }
        for rail in 0..group {
            let members: Vec<usize> = (0..groups).map(|of| of * group + rail).collect();
            let own = part(&piece, group, rail);
            level(to, &own, &members, true, &mut ends)?;
            level(to, &own, &members, false, &mut ends)?;
        }
        for first in (0..to.count()).step_by(group) {
            let members: Vec<usize> = (first..first + group).collect();
            level(to, &piece, &members, false, &mut ends)?;
        }
    }
    Ok(())
}

/// One turn around the ring of some members, each with the part of its number among them. What gathering ends with is all
/// that a member has got: its own part, and every other.
fn level(
    to: &mut Expansion<'_>,
    whole: &Range<u64>,
    members: &[usize],
    adds: bool,
    ends: &mut Ends,
) -> Result<(), WorkError> {
    let mut own = vec![members.iter().map(|&member| ends[member].clone()).collect::<Ends>()];
    let mut lanes = Lanes::of(to, members.len());
    let owned: Vec<usize> = (0..members.len()).collect();
    let received = turn(to, whole, (members, &owned), adds, &mut own, &mut lanes)?;
    for ((&member, last), all) in members.iter().zip(own.remove(0)).zip(received) {
        if adds {
            ends[member] = last;
        } else {
            ends[member].extend(all);
        }
    }
    Ok(())
}
