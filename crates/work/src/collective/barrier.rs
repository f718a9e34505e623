//! Barrier by dissemination: after round k each rank has heard, directly or through others, from the 2^(k+1) - 1 ranks
//! before it.

use super::expansion::Expansion;
use crate::{NodeId, WorkError};

pub(super) fn expand(to: &mut Expansion<'_>) -> Result<(), WorkError> {
    let count = to.count();
    let whole = 0..to.collective.bytes;
    let mut heard: Vec<Option<NodeId>> = vec![None; count];
    let mut distance = 1;
    while distance < count {
        let mut next = vec![None; count];
        for from in 0..count {
            let dest = (from + distance) % count;
            let after: Vec<NodeId> = heard[from].into_iter().collect();
            let before: Vec<NodeId> = heard[dest].into_iter().collect();
            next[dest] = Some(to.pass((from, dest), whole.clone(), true, &after, &before)?.1);
        }
        heard = next;
        distance *= 2;
    }
    Ok(())
}
