//! Groups: for every switch and destination, the next hops with their weights.

use crate::weights::{Member, Weights};
use crate::{Parts, Weighing};
use anabranch_fabric::{Fabric, LinkState, NextHops};
use std::collections::HashMap;

/// The next hops of one switch towards some destinations, by ascending port.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Group {
    /// Next hops; empty where there is no way.
    pub members: Vec<Member>,
}

/// Groups of one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    /// The first one in [`Groups::groups`]; the others follow it.
    first: u32,
    /// Offset in [`Groups::parts`] of its division of the destinations: each has a group, counted from the first.
    at: u32,
    /// Number as a destination, if the switch is a leaf, and the group towards itself.
    own: Option<(u32, u32)>,
}

/// All groups of a fabric. Destinations of one switch that have the same members share a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The leaves, in the order of their numbers as destinations.
    pub leaves: Vec<u32>,
    /// Each group once, those of a switch in a row, by their first destination.
    pub groups: Vec<Group>,
    /// The switch each group belongs to.
    pub switch_of: Vec<u32>,
    hosts: u32,
    rows: Vec<Row>,
    parts: Parts,
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
            hosts: fabric.hosts(),
            rows: Vec::with_capacity(hops.switches()),
            parts: Parts::default(),
        };
        let mut members = Vec::new();
        // Of the switch at hand: its groups by their first port, and which class has which.
        let mut by_port: HashMap<Option<u32>, Vec<usize>> = HashMap::new();
        let mut of_class = vec![Class::New; hops.classes()];
        let mut division = vec![0; hops.leaves.len()];
        for node in fabric.hosts()..fabric.nodes().len() as u32 {
            let first = plan.groups.len();
            let mut own = None;
            by_port.clear();
            of_class.fill(Class::New);
            for (destination, offset) in (0..).zip(&mut division) {
                let (class, local) = (hops.class(destination), hops.leaves[destination as usize] == node);
                let of_class = &mut of_class[class as usize];
                if *of_class == Class::New && !local && hops.distinguishes(node, class) {
                    *of_class = Class::Apart;
                }
                if let Class::Shared(known) = *of_class
                    && !local
                {
                    *offset = known;
                    continue;
                }
                weights.weigh(hops.ports(node, destination), destination, &mut members);
                let alike = by_port.entry(members.first().map(|member| member.port)).or_default();
                let same = |&&group: &&usize| plan.groups[group].members == members;
                let group = alike.iter().find(same).copied().unwrap_or(plan.groups.len());
                if group == plan.groups.len() {
                    alike.push(group);
                    plan.groups.push(Group { members: members.clone() });
                    plan.switch_of.push(node);
                }
                let group = (group - first) as u32;
                if local {
                    own = Some((destination, first as u32 + group));
                    continue;
                }
                *offset = group;
                if *of_class != Class::Apart {
                    *of_class = Class::Shared(group);
                }
            }
            if let Some((destination, _)) = own {
                // What stands here is not read: as for others of its class, so that leaves divide alike.
                division[destination as usize] = match of_class[hops.class(destination) as usize] {
                    Class::Shared(group) => group,
                    Class::New | Class::Apart => 0,
                };
            }
            plan.rows.push(Row { first: first as u32, at: plan.parts.offset(&division), own });
        }
        plan
    }

    /// The group by which `node` forwards to destination number `destination`, as an index into [`Self::groups`]. For a
    /// leaf towards itself: a group without members, for its hosts hang on ports of their own.
    #[must_use]
    pub fn index(&self, node: u32, destination: u32) -> usize {
        let Row { first, at, own } = self.rows[(node - self.hosts) as usize];
        match own {
            Some((leaf, group)) if leaf == destination => group as usize,
            _ => (first + self.parts.flat()[(at + destination) as usize]) as usize,
        }
    }

    /// Whether `node` forwards as in another plan of the same fabric.
    #[must_use]
    pub fn forwards_as(&self, other: &Self, node: u32) -> bool {
        let of = |plan: &Self| {
            let Row { first, at, .. } = plan.rows[(node - plan.hosts) as usize];
            let end = plan.rows.get((node - plan.hosts) as usize + 1);
            (at as usize, first as usize..end.map_or(plan.groups.len(), |next| next.first as usize))
        };
        let ((at, groups), (other_at, other_groups)) = (of(self), of(other));
        let (parts, other_parts) = (&self.parts.flat()[at..], &other.parts.flat()[other_at..]);
        self.groups[groups] == other.groups[other_groups]
            && parts[..self.leaves.len()] == other_parts[..self.leaves.len()]
    }

    /// How `node` divides destinations among groups: switches of the same division, and without destinations of their
    /// own, have the same group for the same of them. The second is the switch's number as a destination, if it is a leaf.
    #[must_use]
    pub fn division(&self, node: u32) -> (usize, Option<u32>) {
        let Row { at, own, .. } = self.rows[(node - self.hosts) as usize];
        (at as usize, own.map(|(leaf, _)| leaf))
    }

    /// The group by which `node` forwards to destination number `destination`.
    #[must_use]
    pub fn group(&self, node: u32, destination: u32) -> &Group {
        &self.groups[self.index(node, destination)]
    }
}

/// Groups that a switch has towards the destinations of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Not looked at yet.
    New,
    /// The switch is linked to them, and has a group for each.
    Apart,
    /// One group, counted from the switch's first.
    Shared(u32),
}
