//! Weights of next hops: equal, by the capacity behind them, or as written.

use crate::divisor::gcd;
use anabranch_fabric::{Fabric, LinkState, NextHops};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Origin of the weights of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weighing {
    /// Every next hop weighs the same.
    Equal,
    /// The capacity of the paths behind each next hop (WCMP, EuroSys 2014, section 2).
    Capacity,
    /// Written weights: one for each port of a switch, by (node, neighbour); one where none is written. Parallel
    /// links share their neighbour's weight evenly.
    Given(Vec<(u32, u32, u64)>),
}

/// One next hop of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// The port it leaves by.
    pub port: u32,
    /// Its weight; members of weight zero carry nothing.
    pub weight: u64,
}

/// A weight for each (node, neighbour).
type Written = BTreeMap<(u32, u32), u64>;

/// Values that weights are read from.
pub(crate) enum Weights<'a> {
    Equal,
    /// `behind[class][node - hosts]`: what flows from a switch to a leaf of a class at most, in bits per second, if every
    /// switch on the way fills its next hops. Computed when it is first asked for.
    Capacity {
        fabric: &'a Fabric,
        state: &'a LinkState,
        hops: &'a NextHops,
        behind: Vec<OnceCell<Vec<u64>>>,
    },
    Given {
        fabric: &'a Fabric,
        written: Written,
    },
}

impl<'a> Weights<'a> {
    pub(crate) fn new(
        fabric: &'a Fabric,
        state: &'a LinkState,
        hops: &'a NextHops,
        weighing: &'a Weighing,
    ) -> Self {
        match weighing {
            Weighing::Equal => Self::Equal,
            Weighing::Capacity => {
                Self::Capacity { fabric, state, hops, behind: vec![OnceCell::new(); hops.classes()] }
            }
            Weighing::Given(written) => {
                // The first of two weights for the same neighbour counts.
                let by_ends =
                    written.iter().rev().map(|&(node, neighbour, weight)| ((node, neighbour), weight));
                Self::Given { fabric, written: by_ends.collect() }
            }
        }
    }

    /// Sets `members` to these ports, their weights without a common divisor.
    pub(crate) fn weigh(
        &self,
        ports: impl Iterator<Item = u32>,
        destination: u32,
        members: &mut Vec<Member>,
    ) {
        members.clear();
        members.extend(ports.map(|port| Member { port, weight: 1 }));
        match self {
            Self::Equal => return,
            Self::Capacity { fabric, state, hops, behind } => {
                let behind = behind[hops.class(destination) as usize]
                    .get_or_init(|| capacity_behind(fabric, state, hops, destination));
                let leaf = hops.leaves[destination as usize];
                for member in members.iter_mut() {
                    member.weight = through(fabric, state, behind, leaf, member.port);
                }
            }
            Self::Given { fabric, written } => given(fabric, written, members),
        }
        let divisor = members.iter().map(|member| member.weight).fold(0, gcd).max(1);
        for member in members {
            member.weight /= divisor;
        }
    }
}

/// WCMP's weights (Zhou et al., EuroSys 2014, section 2): what a next hop can carry is its link or what lies behind
/// it, whichever is less. By switch. The same for all destinations of a class: no next hop on the way to one of them is
/// another, and their neighbours reach each of them by links of the same rates.
fn capacity_behind(fabric: &Fabric, state: &LinkState, hops: &NextHops, destination: u32) -> Vec<u64> {
    let (leaf, mut behind) = (hops.leaves[destination as usize], vec![0u64; hops.switches()]);
    for node in hops.nearest_first(destination) {
        let ports = hops.ports(node, destination);
        behind[hops.switch(node)] = ports.map(|port| through(fabric, state, &behind, leaf, port)).sum();
    }
    behind
}

/// Capacity of a port and of what lies behind it, towards `leaf` (a node), behind which there is no bound.
fn through(fabric: &Fabric, state: &LinkState, behind: &[u64], leaf: u32, port: u32) -> u64 {
    let (rate_bps, to) = (state.rate[port as usize].bps(), fabric.ports()[port as usize].to);
    if to == leaf { rate_bps } else { rate_bps.min(behind[(to - fabric.hosts()) as usize]) }
}

/// Weights by neighbour; parallel links share their neighbour's.
fn given(fabric: &Fabric, written: &Written, members: &mut [Member]) {
    let ends = |port: u32| (fabric.ports()[port as usize].from, fabric.ports()[port as usize].to);
    let parallel: Vec<u64> = members
        .iter()
        .map(|member| members.iter().filter(|other| ends(other.port) == ends(member.port)).count() as u64)
        .collect();
    let common = parallel.iter().fold(1, |common, &count| common / gcd(common, count) * count);
    for (member, count) in members.iter_mut().zip(parallel) {
        member.weight = written.get(&ends(member.port)).copied().unwrap_or(1) * (common / count);
    }
}
