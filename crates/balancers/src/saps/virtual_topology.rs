//! Symmetric virtual topologies: paths of equal residual bandwidth, over which spraying is safe (SAPS: Irteza et al.,
//! "Load Balancing over Symmetric Virtual Topologies", INFOCOM 2017, as sections IV-B and V of the Wino paper describe it).

use crate::saps::pick::{self as saps, Topology};

/// SAPS' parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Saps {
    /// Residual bandwidths are rounded down to multiples of this before they are compared, in bits per second.
    pub quantum_bps: u64,
    /// Settings of the hosts that use the topologies.
    pub hosts: saps::Parameters,
}

impl Default for Saps {
    fn default() -> Self {
        Self { quantum_bps: 10_000_000, hosts: saps::Parameters::default() }
    }
}

/// Paths of equal bandwidth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualTopology {
    /// Bandwidth of each path, in bits per second.
    pub path_bps: u64,
    /// The paths, ascending.
    pub paths: Vec<u16>,
}

impl VirtualTopology {
    /// Bandwidth of all paths together, in bits per second.
    #[must_use]
    pub fn bps(&self) -> u64 {
        self.path_bps * self.paths.len() as u64
    }
}

/// Groups the paths of a pair of leaves by residual bandwidth, rounded down to multiples of `quantum_bps`; paths without any
/// belong to none. The topology with the most bandwidth comes first: long flows go there; short flows go to any with
/// the probability of its bandwidth. Of equal topologies the one with the faster paths comes first.
#[must_use]
pub fn virtual_topologies(residual_bps: &[u64], quantum_bps: u64) -> Vec<VirtualTopology> {
    let quantum = quantum_bps.max(1);
    let mut topologies: Vec<VirtualTopology> = Vec::new();
    for (path, bps) in (0u16..).zip(residual_bps) {
        let path_bps = bps / quantum * quantum;
        match topologies.iter_mut().find(|topology| topology.path_bps == path_bps) {
            _ if path_bps == 0 => {}
            Some(topology) => topology.paths.push(path),
            None => topologies.push(VirtualTopology { path_bps, paths: vec![path] }),
        }
    }
    topologies.sort_by_key(|topology| std::cmp::Reverse((topology.bps(), topology.path_bps)));
    topologies
}

/// The topologies of a pair of leaves as its hosts use them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Topologies, the one of long flows first.
    pub topologies: Vec<Topology>,
    /// Paths, topology by topology.
    pub paths: Vec<u16>,
}

impl Pair {
    /// Topologies of paths with so much left, and the draws that choose each.
    #[must_use]
    pub fn new(residual_bps: &[u64], quantum_bps: u64) -> Self {
        let virtuals = virtual_topologies(residual_bps, quantum_bps);
        let total_bps: u128 = virtuals.iter().map(|topology| u128::from(topology.bps())).sum();
        let mut pair = Self { topologies: Vec::new(), paths: Vec::new() };
        let mut below_bps = 0;
        for topology in virtuals {
            below_bps += u128::from(topology.bps());
            pair.topologies.push(Topology {
                first: pair.paths.len() as u16,
                len: topology.paths.len() as u16,
                ceiling: (below_bps * u128::from(u32::MAX) / total_bps) as u32,
            });
            pair.paths.extend(topology.paths);
        }
        pair
    }

    /// The paths of a topology.
    #[must_use]
    pub fn paths_of(&self, topology: &Topology) -> &[u16] {
        &self.paths[usize::from(topology.first)..][..usize::from(topology.len)]
    }
}
