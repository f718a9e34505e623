//! Racks: leaves that share their hosts. Segments: leaves that share their servers.

use crate::{Fabric, Tier};
use std::collections::BTreeMap;

/// Racks of a fabric. A host of one link stands in the rack of its leaf; leaves that a network card has links to are of one
/// rack; a host without a leaf is one by itself. Scale-up switches of servers are no racks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Racks {
    /// Leaves of each rack, ascending; racks by their first leaf.
    pub leaves: Vec<Vec<u32>>,
    /// Rack of each host that traffic names.
    pub of: Vec<u32>,
}

impl Racks {
    /// Racks of all hosts that traffic names.
    #[must_use]
    pub fn of(fabric: &Fabric) -> Self {
        let hosts = 0..fabric.named_hosts();
        let mut groups = Groups::new(fabric.nodes().len());
        let mut leaves = Vec::new();
        for host in hosts.clone() {
            let beside = leaves_of(fabric, host);
            beside.iter().for_each(|&leaf| groups.join(beside[0], leaf));
            leaves.extend(beside);
        }
        let (racks, number) = groups.listed(leaves);
        let of = hosts.map(|host| number[leaves_of(fabric, host)[0] as usize]);
        Self { of: of.collect(), leaves: racks }
    }
}

/// Switches that hosts hang on, in groups so that each server has all of its hosts' in one: the segments of rail-optimised
/// fabrics, with their servers' scale-up switches. Ascending; groups by their first switch.
#[must_use]
pub fn segments(fabric: &Fabric) -> Vec<Vec<u32>> {
    let mut groups = Groups::new(fabric.nodes().len());
    let mut first_of: BTreeMap<u32, u32> = BTreeMap::new();
    if let Some(servers) = fabric.servers() {
        for host in 0..fabric.named_hosts() {
            let (scale_up, _) = servers.ends(host, host);
            for leaf in [fabric.leaf_of(host), fabric.leaf_of(scale_up)] {
                groups.join(*first_of.entry(servers.of(host)).or_insert(leaf), leaf);
            }
        }
    }
    groups.listed((0..fabric.hosts()).map(|host| fabric.leaf_of(host)).collect()).0
}

/// Switches that a host, or its network card, is linked to; the card itself where it leads to other hosts alone.
fn leaves_of(fabric: &Fabric, host: u32) -> Vec<u32> {
    let leaf = fabric.leaf_of(host);
    if fabric.nodes()[leaf as usize].tier != Tier::Nic {
        return vec![leaf];
    }
    let ports = fabric.ports_of(leaf).iter().map(|&port| fabric.ports()[port as usize].to);
    let is_leaf = |&node: &u32| node >= fabric.hosts() && fabric.nodes()[node as usize].tier != Tier::Nic;
    let leaves: Vec<u32> = ports.filter(is_leaf).collect();
    if leaves.is_empty() { vec![leaf] } else { leaves }
}

/// Nodes in groups (union-find; Galler and Fischer 1964).
pub(crate) struct Groups(Vec<u32>);

impl Groups {
    /// Every node in a group of its own.
    pub(crate) fn new(nodes: usize) -> Self {
        Self((0..nodes as u32).collect())
    }

    /// Puts the groups of two nodes together.
    pub(crate) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.least(a), self.least(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// The least node of the group of a node.
    pub(crate) fn least(&mut self, mut node: u32) -> u32 {
        while self.0[node as usize] != node {
            let above = self.0[node as usize];
            self.0[node as usize] = self.0[above as usize];
            node = above;
        }
        node
    }

    /// Some nodes by their groups, both ascending, and the number of the group of each node that is among them.
    fn listed(&mut self, mut nodes: Vec<u32>) -> (Vec<Vec<u32>>, Vec<u32>) {
        nodes.sort_unstable();
        nodes.dedup();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut number = vec![u32::MAX; self.0.len()];
        for node in nodes {
            let least = self.least(node);
            if number[least as usize] == u32::MAX {
                number[least as usize] = groups.len() as u32;
                groups.push(Vec::new());
            }
            number[node as usize] = number[least as usize];
            groups[number[node as usize] as usize].push(node);
        }
        (groups, number)
    }
}
