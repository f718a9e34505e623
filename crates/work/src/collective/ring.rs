//! Rings: parts travel from neighbour to neighbour.

use super::Kind;
use super::expansion::{Ends, Expansion, part};
use crate::{NodeId, WorkError};
use std::ops::Range;

pub(super) fn expand(to: &mut Expansion<'_>, whole: Range<u64>, members: &[usize]) -> Result<(), WorkError> {
    if to.collective.kind == Kind::Broadcast {
        return chain(to, &whole);
    }
    let mut lanes = Lanes::of(to, members.len());
    let segments = to.collective.segments as usize;
    let none = vec![Vec::new(); members.len()];
    let mut ends: Vec<Ends> = vec![none; segments];
    let kind = to.collective.kind;
    if kind != Kind::AllGather {
        turn(to, &whole, (members, members), true, &mut ends, &mut lanes)?;
    }
    if kind != Kind::ReduceScatter {
        turn(to, &whole, (members, members), false, &mut ends, &mut lanes)?;
    }
    Ok(())
}

/// Last send of each member, where segments follow each other.
pub(super) struct Lanes(Option<Vec<Option<NodeId>>>);

impl Lanes {
    pub(super) fn of(to: &Expansion<'_>, count: usize) -> Self {
        Self((to.collective.segments > 1).then(|| vec![None; count]))
    }

    /// Send before the next one of a lane.
    pub(super) fn before(&self, lane: usize) -> Option<NodeId> {
        self.0.as_ref().and_then(|lanes| lanes[lane])
    }

    pub(super) fn note(&mut self, lane: usize, send: NodeId) {
        if let Some(lanes) = &mut self.0 {
            lanes[lane] = Some(send);
        }
    }
}

/// One turn around the ring of `members`, of which each has the part `owned`: every part visits every member,
/// and is summed on its way if `adds`. `ends`, by segment and member, is what the first sends wait for, and becomes what
/// the last receives end with. Returns, by member, what all its receives end with.
pub(super) fn turn(
    to: &mut Expansion<'_>,
    whole: &Range<u64>,
    (members, owned): (&[usize], &[usize]),
    adds: bool,
    ends: &mut [Ends],
    lanes: &mut Lanes,
) -> Result<Ends, WorkError> {
    let (count, segments) = (members.len(), ends.len());
    let mut all: Ends = vec![Vec::new(); count];
    // What is added to must be there: each member's own data, besides what has come.
    let own: Vec<Ends> = if adds { ends.to_vec() } else { vec![vec![Vec::new(); count]; segments] };
    for step in 0..count - 1 {
        let mut next: Vec<Ends> = vec![vec![Vec::new(); count]; segments];
        for member in 0..count {
            let right = (member + 1) % count;
            // Summing ends, and gathering begins, with each member's own part.
            let owner = (member + 2 * count - step - usize::from(adds)) % count;
            let piece = part(whole, count, owned[owner]);
            for segment in 0..segments {
                let mut after = ends[segment][member].clone();
                after.extend(lanes.before(member));
                let range = part(&piece, segments, segment);
                let (send, done) = to.pass((members[member], members[right]), range, adds, &after, &[])?;
                lanes.note(member, send);
                next[segment][right] = own[segment][right].iter().copied().chain([done]).collect();
                all[right].push(done);
            }
        }
        for (ends, next) in ends.iter_mut().zip(next) {
            *ends = next;
        }
    }
    Ok(all)
}

/// A broadcast from member to member.
fn chain(to: &mut Expansion<'_>, whole: &Range<u64>) -> Result<(), WorkError> {
    let (count, segments) = (to.count(), to.collective.segments as usize);
    let mut lanes = Lanes::of(to, count);
    for segment in 0..segments {
        let mut after: Vec<NodeId> = Vec::new();
        for member in 0..count - 1 {
            after.extend(lanes.before(member));
            let (send, done) =
                to.pass((member, member + 1), part(whole, segments, segment), false, &after, &[])?;
            lanes.note(member, send);
            after = vec![done];
        }
    }
    Ok(())
}
