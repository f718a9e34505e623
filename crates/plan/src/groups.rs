//! Groups: for every switch and destination, the next hops with their weights.

use crate::Weighing;
use crate::weights::{Member, Weights};
use anabranch_fabric::{Fabric, LinkState, NextHops};

/// The next hops of one switch towards some destinations, by ascending port.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Group {
    /// Next hops; empty where there is no way.
    pub members: Vec<Member>,
}

/// All groups of a fabric. Destinations of one switch that have the same members share a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The leaves, in the order of their numbers as destinations.
    pub leaves: Vec<u32>,
    /// Each group once.
    pub groups: Vec<Group>,
    /// The switch each group belongs to.
    pub switch_of: Vec<u32>,
    /// `group_of[(node - hosts) * leaves + destination]`: an index into `groups`. For a leaf towards itself: a group
    /// without members, for its hosts hang on ports of their own.
    pub group_of: Vec<u32>,
}

impl Groups {
    /// Shortest-path groups over the links that `state` says carry, weighted by `weighing`.
    #[must_use]
    pub fn plan(fabric: &Fabric, state: &LinkState, weighing: &Weighing) -> Self {
        let hops = NextHops::shortest(fabric, state);
        let weights = Weights::new(fabric, state, &hops, weighing);
        let mut plan = Self {
            leaves: hops.leaves.clone(),
            groups: Vec::new(),
            switch_of: Vec::new(),
            group_of: Vec::with_capacity(hops.switches() * hops.leaves.len()),
        };
        let mut members = Vec::new();
        for node in fabric.hosts()..fabric.nodes().len() as u32 {
            let first = plan.groups.len();
            for destination in 0..hops.leaves.len() as u32 {
                weights.weigh(hops.ports(node, destination), destination, &mut members);
                let known = plan.groups[first..].iter().position(|known| known.members == members);
                let index = known.map_or(plan.groups.len(), |offset| first + offset);
                if known.is_none() {
                    plan.groups.push(Group { members: members.clone() });
                    plan.switch_of.push(node);
                }
                plan.group_of.push(index as u32);
            }
        }
        plan
    }

    /// The group by which `node` forwards to destination number `destination`, as an index into [`Self::groups`].
    #[must_use]
    pub fn index(&self, fabric: &Fabric, node: u32, destination: u32) -> usize {
        let row = (node - fabric.hosts()) as usize * self.leaves.len();
        self.group_of[row + destination as usize] as usize
    }

    /// The group by which `node` forwards to destination number `destination`.
    #[must_use]
    pub fn group(&self, fabric: &Fabric, node: u32, destination: u32) -> &Group {
        &self.groups[self.index(fabric, node, destination)]
    }
}
