//! Lists of members: each once if it is alive, as often as it weighs, or with its weight.

use crate::PlanError;
use crate::apportion::wcmp::greedy;
use crate::picks::mix;
use crate::picks::score16::Bucket;
use std::format;
use std::vec;
use std::vec::Vec;

/// Members with a positive weight.
#[must_use]
pub fn living(weights: &[u64]) -> Vec<u16> {
    (0..).zip(weights).filter(|&(_, &weight)| weight > 0).map(|(member, _)| member).collect()
}

/// Each member as often as counted, in order of the members: the layout of tables without one of their own.
pub fn runs(counts: impl IntoIterator<Item = u32>) -> Vec<u16> {
    (0..).zip(counts).flat_map(|(member, count)| std::iter::repeat_n(member, count as usize)).collect()
}

/// Entries of a WCMP table: weights reduced to at most `most` entries with the least oversubscription.
///
/// # Errors
/// Fewer entries than members with a positive weight.
pub fn wcmp(weights: &[u64], most: u32) -> Result<Vec<u16>, PlanError> {
    greedy(weights, most).map(runs).ok_or_else(|| too_few(weights, most))
}

/// Error of a table with fewer entries than members that need one.
pub(crate) fn too_few(weights: &[u64], entries: u32) -> PlanError {
    let living = living(weights).len();
    PlanError::new(
        format!("entries: {entries} for {living} paths with a positive weight"),
        format!("each needs one: give entries={living} or more"),
    )
}

/// Buckets of Open vSwitch's scoring, whose ids count from `first_id`.
///
/// # Errors
/// A weight beyond OpenFlow's 16 bits.
pub fn buckets(weights: &[u64], first_id: u32) -> Result<Vec<Bucket>, PlanError> {
    let bucket = |(member, &weight): (u16, &u64)| {
        let weight = u16::try_from(weight).map_err(|_| {
            PlanError::new(
                format!("weights: path {} has weight {weight}, above 65535", member + 1),
                "Open vSwitch's weights have 16 bits: divide all of them, or use scoring-wide or valo",
            )
        })?;
        Ok(Bucket { salt: mix::open_vswitch::salt(first_id + u32::from(member)), weight, member })
    };
    (0..).zip(weights).filter(|&(_, &weight)| weight > 0).map(bucket).collect()
}

/// Share of the entries that each of `members` has.
#[must_use]
pub fn shares(entries: impl ExactSizeIterator<Item = u16>, members: usize) -> Vec<f64> {
    let all = entries.len() as f64;
    let mut counts = vec![0u32; members];
    entries.for_each(|member| counts[usize::from(member)] += 1);
    counts.into_iter().map(|count| f64::from(count) / all).collect()
}
