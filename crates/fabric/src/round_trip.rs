//! Round trips over an empty fabric.

use crate::{Fabric, Port};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Leaves from which paths are measured, at most: more of them are spread evenly over all.
const LEAVES: usize = 64;

/// Longest time, in picoseconds, from one host to another and back by the fastest path, with nothing in the way: a frame
/// that takes `forth_bytes` on each link, and an answer of `back_bytes`. On fabrics of more than 64 leaves it is the longest
/// from 64 of them, evenly spread.
#[must_use]
pub fn longest_round_trip_ps(fabric: &Fabric, forth_bytes: u32, back_bytes: u32) -> u64 {
    let nodes = fabric.nodes().len();
    let cost_ps = |port: &Port| {
        let back = &fabric.ports()[port.reverse as usize];
        let forth_ps = port.rate.serialization().frame_ps(forth_bytes) + port.delay_ps;
        forth_ps + back.rate.serialization().frame_ps(back_bytes) + back.delay_ps
    };
    // Slowest links of hosts at each leaf: towards the fabric, and, of another host where there is one, from it.
    let (mut first, mut last, mut both) = (vec![None; nodes], vec![None; nodes], vec![0; nodes]);
    for host in 0..fabric.hosts() {
        let leaf = fabric.leaf_of(host) as usize;
        let up = &fabric.ports()[fabric.ports_of(host)[0] as usize];
        let (up_ps, down_ps) = (cost_ps(up), cost_ps(&fabric.ports()[up.reverse as usize]));
        let others = first[leaf].zip(last[leaf]);
        if let Some((others_up_ps, others_down_ps)) = others {
            both[leaf] = both[leaf].max(up_ps + others_down_ps).max(others_up_ps + down_ps);
        }
        first[leaf] = first[leaf].max(Some(up_ps));
        last[leaf] = last[leaf].max(Some(down_ps));
    }
    let leaves = fabric.leaves();
    let step = leaves.len().div_ceil(LEAVES).max(1);
    let mut longest_ps = both.iter().copied().max().unwrap_or(0);
    for &leaf in leaves.iter().step_by(step) {
        let Some(up_ps) = first[leaf as usize] else { continue };
        let mut fastest_ps = vec![u64::MAX; nodes];
        fastest_ps[leaf as usize] = 0;
        let mut reached = BinaryHeap::from([Reverse((0, leaf))]);
        while let Some(Reverse((at_ps, node))) = reached.pop() {
            if at_ps > fastest_ps[node as usize] {
                continue;
            }
            if let Some(down_ps) = last[node as usize].filter(|_| node != leaf) {
                longest_ps = longest_ps.max(up_ps + at_ps + down_ps);
            }
            for port in fabric.ports_of(node).iter().map(|&port| &fabric.ports()[port as usize]) {
                let next_ps = at_ps + cost_ps(port);
                if port.to >= fabric.hosts() && next_ps < fastest_ps[port.to as usize] {
                    fastest_ps[port.to as usize] = next_ps;
                    reached.push(Reverse((next_ps, port.to)));
                }
            }
        }
    }
    longest_ps
}
