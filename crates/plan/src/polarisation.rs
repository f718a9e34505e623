//! Polarisation: switches in a row that choose by the same hash, so that later ones see only some of its values.

use crate::{Group, Groups, selection_hash};
use anabranch_fabric::{Fabric, Tier};
use anabranch_split::picks::uniform;

/// How evenly a tier uses its next hops.
#[derive(Clone, Debug, PartialEq)]
pub struct TierUse {
    /// The tier.
    pub tier: Tier,
    /// Next hops towards the spines that flows could take.
    pub next_hops: usize,
    /// Number of those that carry less than half of their even share.
    pub starved: usize,
}

impl TierUse {
    /// Whether a tenth or more of the next hops starve.
    #[must_use]
    pub fn is_polarised(&self) -> bool {
        self.starved * 10 >= self.next_hops.max(1)
    }
}

/// Entropies pushed through each leaf.
const PROBES_PER_LEAF: u32 = 4096;

/// Sends flows from every leaf to every other up through the fabric, each switch choosing by [`selection_hash`] with
/// its salt (`salts[node - hosts]`), and counts who is used. Tiers below the top, lowest first.
#[must_use]
pub fn upward_use(fabric: &Fabric, groups: &Groups, salts: &[u32]) -> Vec<TierUse> {
    let mut expected = vec![0.0; fabric.ports().len()];
    let mut carried = vec![0.0; fabric.ports().len()];
    let nodes = fabric.nodes();
    let to = |port: u32| fabric.ports()[port as usize].to;
    let upward: Vec<Vec<u32>> = groups.groups.iter().map(|group| upward(fabric, group)).collect();
    let upward = |node: u32, destination: u32| &upward[groups.index(fabric, node, destination)];
    let leaves = groups.leaves.len() as u32;
    for (number, &leaf) in (0..).zip(&groups.leaves) {
        let others = (leaves - 1).max(1);
        for offset in 0..others.min(PROBES_PER_LEAF) {
            let destination = (number + 1 + offset) % leaves;
            let probes = (offset..PROBES_PER_LEAF).step_by(others as usize);
            // What an even choice everywhere would carry, up to the top.
            let mut even = vec![(leaf, probes.len() as f64)];
            while let Some((at, flows)) = even.pop() {
                let up = upward(at, destination);
                for &port in up {
                    expected[port as usize] += flows / up.len() as f64;
                    even.push((to(port), flows / up.len() as f64));
                }
            }
            // What the hash carries.
            for probe in probes {
                let entropy = selection_hash(probe, number);
                let mut node = leaf;
                loop {
                    let up = upward(node, destination);
                    let hash = selection_hash(entropy, salts[(node - fabric.hosts()) as usize]);
                    let Some(&port) = up.get(uniform::index(hash, up.len())) else { break };
                    carried[port as usize] += 1.0;
                    node = to(port);
                }
            }
        }
    }
    [Tier::Leaf, Tier::Aggregation]
        .into_iter()
        .map(|tier| {
            let ports = fabric.ports().iter().enumerate();
            let used =
                ports.filter(|(i, port)| nodes[port.from as usize].tier == tier && expected[*i] >= 16.0);
            let starved: Vec<bool> = used.map(|(i, _)| carried[i] < expected[i] / 2.0).collect();
            TierUse { tier, next_hops: starved.len(), starved: starved.iter().filter(|&&s| s).count() }
        })
        .filter(|tier| tier.next_hops > 0)
        .collect()
}

/// The members of a group that lead to a higher tier.
fn upward(fabric: &Fabric, group: &Group) -> Vec<u32> {
    let leads_up = |port: u32| {
        let port = &fabric.ports()[port as usize];
        fabric.nodes()[port.to as usize].tier > fabric.nodes()[port.from as usize].tier
    };
    let ports = group.members.iter().filter(|member| member.weight > 0).map(|member| member.port);
    ports.filter(|&port| leads_up(port)).collect()
}
