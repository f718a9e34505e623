//! Several values of one load balancer, each of which serves the switches or hosts of a part of the fabric.
//!
//! The outcome is that of one value wherever state belongs to a switch or a host, as the doors ask for. Builds with debug
//! assertions also watch that a value touches the ports of its own part only.

mod hosts;
mod switches;

pub use hosts::PartitionedHosts;
pub use switches::PartitionedSwitches;

use crate::SimulationError;
use crate::network::Network;
use anabranch_fabric::Fabric;
use std::collections::BTreeMap;
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
fn sums(counts: impl Iterator<Item = Vec<(&'static str, u64)>>) -> Vec<(&'static str, u64)> {
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    for (meaning, count) in counts.flatten() {
        match sums.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, sum)) => *sum += count,
            None => sums.push((meaning, count)),
        }
    }
    sums
}
