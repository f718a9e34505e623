//! Sequences for weighted round robin: each member as often as its weight says, in one of two orders.

use super::webster::webster;
use crate::PlanError;
use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::format;
use std::vec;
use std::vec::Vec;

/// Length of the longest sequence.
pub const TURNS_MAX: u64 = 1 << 24;

/// Value that ends a list of members.
const NONE: u16 = u16::MAX;

/// Sequence of all turns of the first member, then all of the second: 4,3,2 is AAAABBBCC, as in the artefact of the
/// VALO paper.
///
/// # Errors
/// Refuses weights of more than [`TURNS_MAX`] turns.
pub fn block(weights: &[u64]) -> Result<Vec<u16>, PlanError> {
    let weights = round(weights)?;
    Ok((0..).zip(weights).flat_map(|(member, w)| core::iter::repeat_n(member, w as usize)).collect())
}

/// Sequence in which every prefix is within one turn of every quota: the quota method of Balinski and Young (1975),
/// which is Tijdeman's (1980, "The chairman assignment problem"). Turn `a` (from 0) of a member of weight `w` may be
/// taken from position `floor(a W/w)` on and must be by `ceil((a+1) W/w)`; of those that may, the one with the earliest
/// deadline is taken, ties to the lowest index. Takes O(W log n).
///
/// # Errors
/// Refuses weights of more than [`TURNS_MAX`] turns.
pub fn smooth(weights: &[u64]) -> Result<Vec<u16>, PlanError> {
    let weights = round(weights)?;
    let total = weights.iter().sum::<u64>();
    // Members by the place from which they may take their next turn, as one linked list per place.
    let mut first = vec![NONE; total as usize];
    let mut next = vec![NONE; weights.len()];
    let mut taken = vec![0; weights.len()];
    for (member, _) in (0..).zip(&weights).filter(|&(_, &w)| w > 0) {
        next[usize::from(member)] = core::mem::replace(&mut first[0], member);
    }
    let mut ready = BinaryHeap::new();
    let mut turns = Vec::with_capacity(total as usize);
    for position in 0..total as usize {
        let mut member = first[position];
        while member != NONE {
            let i = usize::from(member);
            let due = ((taken[i] + 1) * total).div_ceil(weights[i]);
            ready.push(Reverse((due, member)));
            member = next[i];
        }
        let Some(Reverse((_, member))) = ready.pop() else { break };
        turns.push(member);
        let i = usize::from(member);
        taken[i] += 1;
        if taken[i] < weights[i] {
            // Never before the next place: the turn just taken was not late.
            let from = ((taken[i] * total / weights[i]) as usize).max(position + 1);
            next[i] = core::mem::replace(&mut first[from], member);
        }
    }
    Ok(turns)
}

/// Order of [`smooth`] in at most `most` turns. If a round of these weights is longer, it is divided over that many turns
/// as fairly as whole turns can be.
///
/// # Errors
/// More than [`TURNS_MAX`] turns.
pub fn smooth_within(weights: &[u64], most: u32) -> Result<Vec<u16>, PlanError> {
    if reduced(weights).iter().map(|&turns| u128::from(turns)).sum::<u128>() <= most.into() {
        return smooth(weights);
    }
    smooth(&webster(weights, most).into_iter().map(u64::from).collect::<Vec<_>>())
}

/// Weights divided by their greatest common divisor: the number of turns of each member in a round.
#[must_use]
pub fn reduced(weights: &[u64]) -> Vec<u64> {
    let divisor = weights.iter().fold(0, |a, &b| greatest_common_divisor(a, b)).max(1);
    weights.iter().map(|w| w / divisor).collect()
}

/// The weights divided by their greatest common divisor, if they make a sequence of bearable length.
fn round(weights: &[u64]) -> Result<Vec<u64>, PlanError> {
    let weights = reduced(weights);
    let total = weights.iter().sum::<u64>();
    if total > TURNS_MAX {
        return Err(PlanError::new(
            format!("weights: a round of {total} turns, more than the {TURNS_MAX} that wrr stores"),
            "use technique `deficit`, which needs no sequence, or weights with a common divisor",
        ));
    }
    Ok(weights)
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
