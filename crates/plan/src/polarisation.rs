//! Polarisation: switches in a row that choose by the same hash, so that later ones see only some of its values.

use crate::{Group, Groups, selection_hash};
use anabranch_fabric::{Fabric, Tier};
use anabranch_split::picks::uniform;
use std::collections::HashMap;

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

/// Entropies pushed through each leaf, and through all leaves of a large fabric together.
const PROBES_PER_LEAF: u32 = 4096;
const PROBES: u32 = 1 << 21;

/// A flow that is sent to see who is used.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Leaf that sends it, and leaf that receives it, counted as destinations are.
    pub leaves: [u32; 2],
    /// Number among those of its leaf.
    pub number: u32,
}

impl Probe {
    /// Hash by which a switch with this salt selects ideally for it.
    #[must_use]
    pub fn ideal_hash(&self, salt: u32) -> u32 {
        selection_hash(selection_hash(self.number, self.leaves[0]), salt)
    }
}

/// Sends flows from every leaf to every other up through the fabric, and counts who is used. `hash` is that of a flow at a
/// switch, counted from the first. Tiers below the top, lowest first.
#[must_use]
pub fn upward_use(fabric: &Fabric, groups: &Groups, hash: impl Fn(&Probe, u32) -> u32) -> Vec<TierUse> {
    let mut expected = vec![0.0; fabric.ports().len()];
    let mut carried = vec![0.0; fabric.ports().len()];
    let nodes = fabric.nodes();
    let to = |port: u32| fabric.ports()[port as usize].to;
    let upward: Vec<Vec<u32>> = groups.groups.iter().map(|group| upward(fabric, group)).collect();
    let upward = |node: u32, destination: u32| &upward[groups.index(node, destination)];
    let leaves = groups.leaves.len() as u32;
    let others = (leaves - 1).max(1);
    let probes_per_leaf = PROBES_PER_LEAF.min(PROBES / leaves.max(1));
    for (number, &leaf) in (0..).zip(&groups.leaves) {
        let aims = (0..others.min(probes_per_leaf)).map(|offset| {
            let probes = (offset..probes_per_leaf).step_by(others as usize);
            ((number + 1 + offset) % leaves, probes)
        });
        // What an even choice everywhere would carry, up to the top.
        let mut flows = Sets::new(aims.clone().map(|(destination, probes)| (destination, probes.len())));
        let mut even = vec![(leaf, Sets::ALL, 1.0)];
        while let Some((at, set, share)) = even.pop() {
            for part in flows.divide(groups, at, set) {
                let (destination, probes) = flows.of(part);
                let up = upward(at, destination);
                let each = share / up.len() as f64;
                for &port in up {
                    expected[port as usize] += probes as f64 * each;
                    even.push((to(port), part, each));
                }
            }
        }
        for (destination, probes) in aims {
            // What the hash carries.
            for probe in probes {
                let probe = Probe { leaves: [number, destination], number: probe };
                let mut node = leaf;
                loop {
                    let up = upward(node, destination);
                    let hash = hash(&probe, node - fabric.hosts());
                    let Some(&port) = up.get(uniform::index(hash, up.len())) else { break };
                    carried[port as usize] += 1.0;
                    node = to(port);
                }
            }
        }
    }
    [Tier::Nic, Tier::Leaf, Tier::Aggregation]
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

/// Destinations, each with its number of flows, and the flows to all of them.
#[derive(Default)]
struct Set {
    destinations: Vec<(u32, usize)>,
    flows: usize,
}

impl Set {
    fn add(&mut self, destination: u32, flows: usize) {
        self.destinations.push((destination, flows));
        self.flows += flows;
    }
}

/// Sets of destinations that a leaf sends to.
struct Sets {
    sets: Vec<Set>,
    /// Parts of a set by the division of destinations, and the destination, if any, that a switch has for its own.
    known: HashMap<(usize, Option<u32>, usize), std::ops::Range<usize>>,
}

impl Sets {
    /// The set of all destinations.
    const ALL: usize = 0;

    fn new(all: impl Iterator<Item = (u32, usize)>) -> Self {
        let mut set = Set::default();
        all.for_each(|(destination, flows)| set.add(destination, flows));
        Self { sets: vec![set], known: HashMap::new() }
    }

    /// A destination of a set, and the flows to all of them.
    fn of(&self, set: usize) -> (u32, usize) {
        (self.sets[set].destinations[0].0, self.sets[set].flows)
    }

    /// Parts of a set by the groups of a switch. Most switches of a tier divide destinations alike.
    fn divide(&mut self, groups: &Groups, node: u32, set: usize) -> std::ops::Range<usize> {
        let (division, own) = groups.division(node);
        if let Some(known) = self.known.get(&(division, own, set)) {
            return known.clone();
        }
        let first = self.sets.len();
        let mut part_of = HashMap::new();
        for index in 0..self.sets[set].destinations.len() {
            let (destination, flows) = self.sets[set].destinations[index];
            let next = self.sets.len();
            let part = *part_of.entry(groups.index(node, destination)).or_insert(next);
            if part == next {
                self.sets.push(Set::default());
            }
            self.sets[part].add(destination, flows);
        }
        let parts = first..self.sets.len();
        self.known.insert((division, own, set), parts.clone());
        parts
    }
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
