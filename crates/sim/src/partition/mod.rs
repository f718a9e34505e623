//! Several values of one load balancer, each of which serves the switches or hosts of a part of the fabric.
//!
//! The outcome is that of one value wherever state belongs to a switch or a host, as the doors ask for. Builds with debug
//! assertions also watch that a value touches the ports of its own part only.

mod any_switches;
mod hosts;
mod switches;

pub use any_switches::AnySwitches;
pub use hosts::PartitionedHosts;
pub use switches::PartitionedSwitches;

use crate::SimulationError;
use crate::network::Network;
use anabranch_fabric::{Fabric, segments};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Parts of a fabric: which switches and hosts are served together.
#[derive(Clone, Debug)]
pub struct Partition {
    part_of_switch: Vec<u32>,
    part_of_host: Vec<u32>,
}

impl Partition {
    /// A partition by the part of each switch, counted from the first, and of each host. Parts count from zero.
    #[must_use]
    pub fn new(part_of_switch: Vec<u32>, part_of_host: Vec<u32>) -> Self {
        Self { part_of_switch, part_of_host }
    }

    /// A partition into parts of about as many leaves each, in the order of their numbers, each with its hosts; where servers
    /// join leaves, of as many segments, as long as there are enough. Other switches go to the part of most of their
    /// neighbours that are nearer to hosts (so a pod stays together), or, where no part has most, in turn.
    #[must_use]
    pub fn by_leaves(fabric: &Fabric, parts: u32) -> Self {
        let (hosts, nodes) = (fabric.hosts(), fabric.nodes().len());
        let segments = segments(fabric);
        let mut tier = segments.concat();
        let groups = if segments.len() < parts as usize {
            tier.sort_unstable();
            tier.iter().map(|&leaf| vec![leaf]).collect()
        } else {
            segments
        };
        let mut part_of: Vec<Option<u32>> = vec![None; nodes];
        for (index, group) in groups.iter().enumerate() {
            let part = (index * parts as usize / groups.len()) as u32;
            group.iter().for_each(|&leaf| part_of[leaf as usize] = Some(part));
        }
        let mut turn = 0;
        while !tier.is_empty() {
            let next: BTreeSet<u32> = tier
                .iter()
                .flat_map(|&node| fabric.ports_of(node))
                .map(|&port| fabric.ports()[port as usize].to)
                .filter(|&node| node >= hosts && part_of[node as usize].is_none())
                .collect();
            let choices: Vec<(u32, Option<u32>)> =
                next.iter().map(|&node| (node, Self::most(fabric, node, &part_of, parts))).collect();
            for (node, most) in choices {
                part_of[node as usize] = most.or_else(|| {
                    turn += 1;
                    Some((turn - 1) % parts)
                });
            }
            tier = next.into_iter().collect();
        }
        let part = |node: usize| part_of[node].unwrap_or(0);
        let of_hosts = (0..hosts).map(|host| part(fabric.leaf_of(host) as usize)).collect();
        Self::new((hosts as usize..nodes).map(part).collect(), of_hosts)
    }

    /// The part of more than half of a node's neighbours that have one.
    fn most(fabric: &Fabric, node: u32, part_of: &[Option<u32>], parts: u32) -> Option<u32> {
        let mut counts = vec![0usize; parts as usize];
        for &port in fabric.ports_of(node) {
            if let Some(part) = part_of[fabric.ports()[port as usize].to as usize] {
                counts[part as usize] += 1;
            }
        }
        let all: usize = counts.iter().sum();
        (0..parts).find(|&part| 2 * counts[part as usize] > all)
    }

    /// Number of parts.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.part_of_switch.iter().chain(&self.part_of_host).max().map_or(1, |last| last + 1)
    }

    /// Part of each node of the fabric.
    pub(crate) fn part_of_nodes(&self) -> Vec<u32> {
        self.part_of_host.iter().chain(&self.part_of_switch).copied().collect()
    }

    /// Whether the hosts of each leaf are in one part.
    #[must_use]
    pub fn keeps_racks(&self, fabric: &Fabric) -> bool {
        let mut part_of_leaf = BTreeMap::new();
        (0..).zip(&self.part_of_host).all(|(host, part)| {
            part_of_leaf.insert(fabric.leaf_of(host), part).is_none_or(|before| before == part)
        })
    }

    /// Whether each port is one of a node of this part; `part_of` has the parts of the nodes from `first` on.
    fn ports(fabric: &Fabric, part_of: &[u32], first: u32, part: u32) -> Arc<[bool]> {
        let part_of_node = |node: u32| node.checked_sub(first).and_then(|index| part_of.get(index as usize));
        fabric.ports().iter().map(|port| part_of_node(port.from) == Some(&part)).collect()
    }
}

/// One value with the ports that are its own.
struct Part<B> {
    balancer: B,
    ports: Arc<[bool]>,
}

impl<B> Part<B> {
    /// Makes a value for each part of the nodes from `first` on.
    fn all(
        fabric: &Fabric,
        part_of: &[u32],
        first: u32,
        make: &mut dyn FnMut() -> Result<B, SimulationError>,
    ) -> Result<Vec<Self>, SimulationError> {
        let parts = part_of.iter().max().map_or(0, |last| last + 1);
        (0..parts)
            .map(|part| Ok(Self { balancer: make()?, ports: Partition::ports(fabric, part_of, first, part) }))
            .collect()
    }

    /// Calls the value, which may touch its own ports meanwhile.
    fn call<R>(&mut self, network: &mut Network, hook: impl FnOnce(&mut B, &mut Network) -> R) -> R {
        let before = network.confine(Some(Arc::clone(&self.ports)));
        let result = hook(&mut self.balancer, network);
        network.confine(before);
        result
    }
}

/// Sums of what several values counted, in the order of the first.
pub(crate) fn sums(counts: impl Iterator<Item = Vec<(&'static str, u64)>>) -> Vec<(&'static str, u64)> {
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    for (meaning, count) in counts.flatten() {
        match sums.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, sum)) => *sum += count,
            None => sums.push((meaning, count)),
        }
    }
    sums
}
