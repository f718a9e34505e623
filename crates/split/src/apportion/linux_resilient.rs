//! Buckets of a resilient nexthop group of Linux (`net/ipv4/nexthop.c`, since 5.12).
//!
//! The kernel moves a bucket when it is idle for `idle_timer`, or when the group was unbalanced for `unbalanced_timer`.
//! Here every bucket that may move does so at once: this is the final state of the kernel once traffic pauses or the
//! timer ends.

use std::vec;
use std::vec::Vec;

/// Number of buckets that each nexthop should hold: differences of the rounded cumulative weights
/// (`nh_res_group_rebalance`; halves round up).
#[must_use]
pub fn desired(weights: &[u64], buckets: u32) -> Vec<u32> {
    let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
    let (mut cumulative, mut bound) = (0u128, 0u32);
    weights
        .iter()
        .map(|&weight| {
            cumulative += u128::from(weight);
            let below = bound;
            bound = ((u128::from(buckets) * cumulative + total / 2) / total) as u32;
            bound - below
        })
        .collect()
}

/// Moves buckets of nexthops that hold more than they should, or that left the group, to those that hold less
/// (`nh_res_table_upkeep`): buckets in order, the last underweight nexthop of the group served first, since the kernel
/// pushes them to the front of its list. `None` is a bucket that was never set; a weight of zero is a nexthop outside
/// the group.
pub fn migrate(table: &mut [Option<u16>], weights: &[u64]) {
    let wanted = desired(weights, table.len() as u32);
    let mut held = vec![0u32; weights.len()];
    for member in table.iter().flatten() {
        held[usize::from(*member)] += 1;
    }
    let mut underweight: Vec<usize> = (0..weights.len()).filter(|&i| held[i] < wanted[i]).collect();
    for bucket in table {
        let stays = bucket.is_some_and(|m| {
            let member = usize::from(m);
            weights[member] > 0 && held[member] <= wanted[member]
        });
        let (false, Some(&heir)) = (stays, underweight.last()) else { continue };
        if let Some(member) = *bucket {
            held[usize::from(member)] -= 1;
        }
        *bucket = Some(heir as u16);
        held[heir] += 1;
        if held[heir] == wanted[heir] {
            underweight.pop();
        }
    }
}
