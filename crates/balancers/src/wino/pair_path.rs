//! Path of a pair of leaves.

use anabranch_fabric::Fabric;

/// A path of a pair as its slices are cut.
pub(crate) struct PairPath {
    pub(crate) ports: Box<[u32]>,
    pub(crate) left_bps: u64,
}

impl PairPath {
    pub(super) fn names(&self, fabric: &Fabric) -> Vec<String> {
        let name = |node: u32| fabric.nodes()[node as usize].name.clone();
        let ports = self.ports.iter().map(|&port| &fabric.ports()[port as usize]);
        let first = ports.clone().next().map(|port| name(port.from));
        first.into_iter().chain(ports.map(|port| name(port.to))).collect()
    }
}
