//! Slot table of Open vSwitch's `dp_hash` selection method, slot for slot.

use std::vec;
use std::vec::Vec;

/// Smallest number of slots in Open vSwitch.
const SLOTS_MIN: u64 = 16;

/// Limits on the number of slots in a version of Open vSwitch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizing {
    /// Largest number of slots: 256, or 64 for groups without a selection method before 2.17.
    pub max: u32,
    /// Smallest number of slots per bucket: 1, or 4 from 3.1.6 and 3.5 on (as far as `max` allows).
    pub per_bucket: u32,
}

/// Bucket of each slot: Webster's highest averages, one slot after the other, the first of equal buckets
/// (`group_setup_dp_hash_table` in `ofproto-dpif.c`). Averages are doubles in both.
///
/// `None` if Open vSwitch refuses and falls back to scoring: the lightest bucket would need more slots than are
/// allowed, or no weight is positive.
#[must_use]
pub fn slots(weights: &[u16], sizing: Sizing) -> Option<Vec<u16>> {
    let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
    let lightest = weights.iter().copied().filter(|&w| w > 0).min()?;
    let spread = (weights.len() as u64 * u64::from(sizing.per_bucket)).min(u64::from(sizing.max));
    let least = total.div_ceil(u64::from(lightest)).max(spread).max(SLOTS_MIN);
    let length = least.next_power_of_two();
    if length > u64::from(sizing.max) {
        return None;
    }
    let mut divisors = vec![1u32; weights.len()];
    let mut averages: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
    let slots = (0..length)
        .map(|_| {
            let mut winner = 0;
            for (bucket, &average) in averages.iter().enumerate() {
                if average > averages[winner] {
                    winner = bucket;
                }
            }
            divisors[winner] += 2;
            averages[winner] = f64::from(weights[winner]) / f64::from(divisors[winner]);
            winner as u16
        })
        .collect();
    Some(slots)
}

/// Table after buckets died: Open vSwitch keeps the table, and a packet whose slot names a dead bucket takes the next
/// slot, cyclically, that names a living one (`pick_dp_hash_select_group` in `ofproto-dpif-xlate.c`).
///
/// `None` if no slot names a living bucket.
#[must_use]
pub fn skip_dead(slots: &[u16], alive: impl Fn(u16) -> bool) -> Option<Vec<u16>> {
    let mut next = slots.iter().copied().find(|&bucket| alive(bucket))?;
    let mut resolved = slots.to_vec();
    for bucket in resolved.iter_mut().rev() {
        if alive(*bucket) {
            next = *bucket;
        } else {
            *bucket = next;
        }
    }
    Some(resolved)
}
