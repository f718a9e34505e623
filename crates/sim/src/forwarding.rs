//! Forwarding: destination -> group -> port, and what failures do to groups.

use crate::door::{Choice, GroupPlan, Junction, SwitchBalancer};
use crate::network::Network;
use crate::slab::PacketId;
use crate::{SimulationError, marks};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::{Groups, Parts, Weighing};
use std::collections::{BTreeMap, HashMap};

/// Destination that a switch without hosts has as its own.
const NO_LEAF: u32 = u32::MAX;

/// Decision about a packet at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It goes by this port.
    Port(u32),
    /// There is no path.
    NoPath,
    /// A meter of the load balancer dropped it.
    Policed,
    /// The load balancer keeps it.
    Kept,
}

/// A group as the hot path reads it.
#[derive(Clone, Copy)]
struct Members {
    group: u32,
    first: u32,
    len: u16,
    /// Whether any member carries.
    alive: bool,
}

/// Forwarding table of a switch.
#[derive(Clone, Copy)]
struct Row {
    /// Number of the switch as a destination, if it is a leaf.
    own: u32,
    /// Where its division of the destinations begins in [`Table::parts`].
    at: u32,
    /// Its groups in [`Table::groups`], by part.
    first: u32,
    len: u32,
}

/// Forwarding tables: for each switch and destination a group. Destinations are divided into those of equal groups, and
/// most switches of a tier divide them alike, so that the tables of a large fabric still fit into caches.
#[derive(Clone, Default)]
struct Table {
    rows: Vec<Row>,
    parts: Parts,
    groups: Vec<Members>,
}

impl Table {
    /// Group of a switch towards a destination, which is not its own.
    fn group(&self, switch: u32, leaf: u32) -> u32 {
        let Row { at, first, .. } = self.rows[switch as usize];
        self.groups[(first + self.parts.flat()[(at + leaf) as usize]) as usize].group
    }

    /// Groups of a switch, each once.
    fn groups_of(&self, switch: u32) -> std::ops::Range<usize> {
        let Row { first, len, .. } = self.rows[switch as usize];
        first as usize..(first + len) as usize
    }
}

/// The forwarding tables of all switches.
pub(crate) struct Forwarding<B: SwitchBalancer> {
    hosts: u32,
    /// Leaf of each host, by its number as destination, and the leaf's port towards the host.
    host: Vec<(u32, u32)>,
    table: Table,
    /// All groups by their numbers, those included that the table has no more.
    members: Vec<Members>,
    ports: Vec<u32>,
    /// Beside [`Self::ports`]: whether each carries, as far as its switch and routing know.
    carries: Vec<bool>,
    pub(crate) balancer: B,
    weighing: Weighing,
    routes: Routes,
}

/// Origin of a group: the group before, the ports, the weights.
type Origin = (Option<u32>, Vec<u32>, Vec<u64>);

/// State that planning needs from one plan to the next.
#[derive(Default)]
struct Routes {
    /// Switch of each group, and the weight of each member as routing wants it. Nothing if it is retired.
    groups: Vec<Option<(u32, Vec<u64>)>>,
    /// [`Forwarding::table`] in the fabric as built, and what was planned last; nothing before routing learns of the first
    /// change.
    built: Option<Table>,
    planned: Option<Groups>,
    /// Retired groups, by their number of members: who takes such a number takes its range of the ports.
    retired: BTreeMap<u16, Vec<u32>>,
}

/// Groups that decide an entry of the table: the planned one, the one of the fabric as built, the one before.
type Entry = (u32, Option<u32>, Option<u32>);

impl<B: SwitchBalancer> Forwarding<B> {
    pub(crate) fn new(fabric: &Fabric, weighing: Weighing, balancer: B) -> Result<Self, SimulationError> {
        let believed = LinkState::of(fabric);
        let plan = Groups::plan(fabric, &believed, &weighing);
        let host = (0..fabric.hosts())
            .map(|host| {
                let leaf = plan.leaves.binary_search(&fabric.leaf_of(host)).unwrap_or(0) as u32;
                (leaf, fabric.ports()[fabric.ports_of(host)[0] as usize].reverse)
            })
            .collect();
        let mut forwarding = Self {
            hosts: fabric.hosts(),
            host,
            table: Table::default(),
            members: Vec::new(),
            ports: Vec::new(),
            carries: Vec::new(),
            balancer,
            weighing,
            routes: Routes::default(),
        };
        forwarding.install(&plan, None, &believed, fabric)?;
        Ok(forwarding)
    }

    /// Next step of the packet `id` at `switch`, counted from the first.
    #[inline(always)]
    pub(crate) fn forward(&mut self, switch: u32, id: PacketId, network: &mut Network) -> Step {
        let packet = network.packets.get(id);
        let (leaf, host_port) = self.host[packet.destination as usize];
        let row = self.table.rows[switch as usize];
        if leaf == row.own {
            if B::DELIVERS && !self.balancer.deliver(switch, host_port, id, network) {
                return Step::Kept;
            }
            if B::DEPARTS {
                self.balancer.depart(switch, host_port, id, network);
            }
            return Step::Port(host_port);
        }
        let part = self.table.parts.flat()[(row.at + leaf) as usize];
        let Members { group, first, len, alive } = self.table.groups[(row.first + part) as usize];
        if !alive {
            return Step::NoPath;
        }
        let ports = &self.ports[first as usize..][..usize::from(len)];
        let mut port = ports[0];
        if len > 1 {
            let carries = &self.carries[first as usize..][..usize::from(len)];
            let choice = match by_label(carries, id, network) {
                Some(label) => label,
                None => match self.balancer.choose(&Junction { switch, leaf, group, ports }, id, network) {
                    Choice::Member(member) => member,
                    Choice::Policed => return Step::Policed,
                    Choice::NoPath => return Step::NoPath,
                    Choice::Kept => return Step::Kept,
                },
            };
            let packet = network.packets.get(id);
            packet.path = packet.path.wrapping_mul(len).wrapping_add(choice);
            port = ports[usize::from(choice)];
        }
        if B::DEPARTS {
            self.balancer.depart(switch, port, id, network);
        }
        Step::Port(port)
    }

    /// A probe comes to `switch` by the link of port `from`: the balancer's own, with where its labels lead.
    pub(crate) fn probe(&mut self, switch: u32, from: u32, id: PacketId, network: &mut Network) {
        let packet = network.packets.get(id);
        let (leaf, _) = self.host[packet.destination as usize];
        let own = self.table.rows[switch as usize].own;
        let onward = if leaf == own || packet.marks & marks::LABELLED == 0 {
            None
        } else {
            let Members { first, len, .. } = self.members[self.table.group(switch, leaf) as usize];
            let ports = &self.ports[first as usize..][..usize::from(len)];
            if len > 1 {
                let carries = &self.carries[first as usize..][..usize::from(len)];
                by_label(carries, id, network).map(|label| ports[usize::from(label)])
            } else {
                ports.first().copied()
            }
        };
        self.balancer.probe(switch, from, onward, id, network);
    }

    /// Routing believes the links to be so and installs its groups everywhere. `actual` is what the switches see
    /// at their own ports.
    pub(crate) fn reroute(
        &mut self,
        fabric: &Fabric,
        believed: &LinkState,
        actual: &LinkState,
    ) -> Result<(), SimulationError> {
        let before = match self.routes.planned.take() {
            Some(planned) => planned,
            None => {
                self.routes.built = Some(self.table.clone());
                Groups::plan(fabric, &LinkState::of(fabric), &self.weighing)
            }
        };
        let plan = Groups::plan(fabric, believed, &self.weighing);
        self.install(&plan, Some(&before), actual, fabric)?;
        self.routes.planned = Some(plan);
        Ok(())
    }

    /// A switch sees its own ports change and stops using, or uses again, those it has: no other switch knows.
    pub(crate) fn local_change(
        &mut self,
        fabric: &Fabric,
        node: u32,
        actual: &LinkState,
    ) -> Result<(), SimulationError> {
        if node < self.hosts {
            return Ok(());
        }
        let own = self.table.groups_of(node - self.hosts);
        let mut groups: Vec<u32> =
            self.table.groups[own.clone()].iter().map(|members| members.group).collect();
        groups.sort_unstable();
        for group in groups {
            self.weigh(fabric, group, actual, Some(group))?;
        }
        for members in &mut self.table.groups[own] {
            *members = self.members[members.group as usize];
        }
        Ok(())
    }

    /// Installs `plan`. A switch that forwards as in the plan `before`, if there is one, keeps its table.
    fn install(
        &mut self,
        plan: &Groups,
        before: Option<&Groups>,
        actual: &LinkState,
        fabric: &Fabric,
    ) -> Result<(), SimulationError> {
        let mut table = Table::default();
        // Where divisions stand that are taken over.
        let mut moved: HashMap<u32, u32> = HashMap::new();
        let mut own_of = vec![NO_LEAF; fabric.nodes().len() - self.hosts as usize];
        for (leaf, &node) in (0..).zip(&plan.leaves) {
            own_of[(node - self.hosts) as usize] = leaf;
        }
        // Of the switch at hand: groups that replace the same one, or none, by the same ports and weights are one. Those
        // of earlier times are not: nobody told them what died since.
        let mut known: HashMap<Origin, u32> = HashMap::new();
        // Entries of its table that were met, and parts of the destinations with their groups.
        let mut entries: HashMap<Entry, u32> = HashMap::new();
        let mut part_of: HashMap<u32, u32> = HashMap::new();
        let mut division = vec![0; plan.leaves.len()];
        for (switch, own) in (0..).zip(own_of) {
            let first = table.groups.len() as u32;
            if before.is_some_and(|before| plan.forwards_as(before, switch + self.hosts)) {
                let Row { at, .. } = self.table.rows[switch as usize];
                let parts = &self.table.parts.flat()[at as usize..][..plan.leaves.len()];
                let at = *moved.entry(at).or_insert_with(|| table.parts.place(parts));
                table.groups.extend_from_slice(&self.table.groups[self.table.groups_of(switch)]);
                let len = table.groups.len() as u32 - first;
                table.rows.push(Row { own, at, first, len });
                continue;
            }
            known.clear();
            entries.clear();
            part_of.clear();
            let mut last: Option<(Entry, u32)> = None;
            for (leaf, part) in (0..).zip(&mut division) {
                if leaf == own {
                    // What stands here is not read: as for the destination before, so that leaves divide alike.
                    *part = last.map_or(0, |(_, part)| part);
                    continue;
                }
                let heir_of = self.group_before(&self.table, switch, leaf);
                let built = self.routes.built.as_ref();
                let built = built.and_then(|built| self.group_before(built, switch, leaf));
                let planned = plan.index(switch + self.hosts, leaf);
                let entry = (planned as u32, built, heir_of);
                // Most entries are as the one before them.
                *part = match last.filter(|(known, _)| *known == entry).map(|(_, part)| part) {
                    Some(part) => part,
                    None => match entries.get(&entry) {
                        Some(&part) => part,
                        None => {
                            let origin = self.origin(&plan.groups[planned], built, heir_of);
                            let group = match known.get(&origin) {
                                Some(&group) => group,
                                None => self.renew(fabric, switch, &origin, actual)?,
                            };
                            known.insert(origin, group);
                            let next = part_of.len() as u32;
                            let part = *part_of.entry(group).or_insert(next);
                            if part == next {
                                table.groups.push(self.members[group as usize]);
                            }
                            entries.insert(entry, part);
                            part
                        }
                    },
                };
                last = Some((entry, *part));
            }
            let len = table.groups.len() as u32 - first;
            table.rows.push(Row { own, at: table.parts.place(&division), first, len });
        }
        self.table = table;
        self.retire_unused();
        Ok(())
    }

    /// Group of a switch towards a destination in a table of earlier times; nothing if it had none yet.
    fn group_before(&self, table: &Table, switch: u32, leaf: u32) -> Option<u32> {
        (!table.rows.is_empty()).then(|| table.group(switch, leaf))
    }

    /// Origin of the group that follows from a planned one.
    fn origin(&self, planned: &anabranch_plan::Group, built: Option<u32>, heir_of: Option<u32>) -> Origin {
        let (ports, weights) = self.members_of(planned, [built, heir_of]);
        // Tables and states of a group mean its members by their numbers: they go on only where those stay.
        let heir_of = heir_of.filter(|&group| self.ports_of(group) == ports);
        (heir_of, ports, weights)
    }

    /// The group of `origin`: the one that it continues if nothing is new, another otherwise.
    fn renew(
        &mut self,
        fabric: &Fabric,
        switch: u32,
        origin: &Origin,
        actual: &LinkState,
    ) -> Result<u32, SimulationError> {
        let (heir_of, ports, weights) = origin;
        if let Some(heir) = *heir_of
            && let Some((_, before)) = &self.routes.groups[heir as usize]
            && before == weights
        {
            // It has heard of every change at its switch.
            return Ok(heir);
        }
        let len = ports.len() as u16;
        let group = match self.routes.retired.get_mut(&len).and_then(Vec::pop) {
            Some(group) => group,
            None => {
                let (group, first) = (self.members.len() as u32, self.ports.len() as u32);
                self.members.push(Members { group, first, len, alive: false });
                self.ports.resize(self.ports.len() + ports.len(), 0);
                self.carries.resize(self.ports.len(), false);
                self.routes.groups.push(None);
                self.members.len() as u32 - 1
            }
        };
        let first = self.members[group as usize].first as usize;
        self.ports[first..first + ports.len()].copy_from_slice(ports);
        self.routes.groups[group as usize] = Some((switch, weights.clone()));
        self.weigh(fabric, group, actual, *heir_of)?;
        Ok(group)
    }

    /// Retires the groups that are neither in use nor those of the fabric as built.
    fn retire_unused(&mut self) {
        let mut used = vec![false; self.members.len()];
        let built = self.routes.built.iter().flat_map(|table| &table.groups);
        for members in self.table.groups.iter().chain(built) {
            used[members.group as usize] = true;
        }
        for (group, _) in (0..).zip(used).filter(|&(_, used)| !used) {
            if self.routes.groups[group as usize].take().is_some() {
                let len = self.members[group as usize].len;
                self.routes.retired.entry(len).or_default().push(group);
                self.balancer.retire(group);
            }
        }
    }

    /// Ports and weights of a planned group. If one of the `olds`, which are the group of the fabric as built and the
    /// one it replaces, has all its ports, that one's list is kept: labels are counted in the first, tables and states in
    /// the second. What is no next hop any more weighs nothing.
    fn members_of(&self, planned: &anabranch_plan::Group, olds: [Option<u32>; 2]) -> (Vec<u32>, Vec<u64>) {
        let member = |port: &u32| planned.members.iter().find(|member| member.port == *port);
        let has_all = |old: &&[u32]| planned.members.iter().all(|member| old.contains(&member.port));
        match olds.into_iter().flatten().map(|group| self.ports_of(group)).find(has_all) {
            Some(old) => (
                old.to_vec(),
                old.iter().map(|port| member(port).map_or(0, |member| member.weight)).collect(),
            ),
            None => planned.members.iter().map(|member| (member.port, member.weight)).unzip(),
        }
    }

    fn ports_of(&self, group: u32) -> &[u32] {
        let Members { first, len, .. } = self.members[group as usize];
        &self.ports[first as usize..][..usize::from(len)]
    }

    /// Plans a group by its weights, less what is dead at its own switch.
    fn weigh(
        &mut self,
        fabric: &Fabric,
        group: u32,
        actual: &LinkState,
        heir_of: Option<u32>,
    ) -> Result<(), SimulationError> {
        let Members { first, len, .. } = self.members[group as usize];
        let ports = &self.ports[first as usize..first as usize + usize::from(len)];
        let Some((switch, wanted)) = &self.routes.groups[group as usize] else { return Ok(()) };
        let switch = *switch;
        let weights: Vec<u64> = ports
            .iter()
            .zip(wanted)
            .map(|(&port, &weight)| if actual.link_up(fabric, port) { weight } else { 0 })
            .collect();
        self.members[group as usize].alive = weights.iter().any(|&weight| weight > 0);
        for (carries, &weight) in self.carries[first as usize..].iter_mut().zip(&weights) {
            *carries = weight > 0;
        }
        self.balancer.plan(&GroupPlan { group, switch, ports, weights: &weights, heir_of })?;
        Ok(())
    }
}

/// Takes the label for this choice off a packet; nothing if it has none, or if it leads to a member that does not carry:
/// behind a next hop that is none any more a packet could run in circles.
#[inline(always)]
fn by_label(carries: &[bool], id: PacketId, network: &mut Network) -> Option<u16> {
    let packet = network.packets.get(id);
    if packet.marks & marks::LABELLED == 0 {
        return None;
    }
    let label = ((packet.labels & 0xff) as u16).min(carries.len() as u16 - 1);
    packet.labels >>= 8;
    carries[usize::from(label)].then_some(label)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests {
    use super::*;
    use anabranch_fabric::topology::LeafSpine;
    use anabranch_split::PlanError;

    /// Remembers which groups there are and asks for nothing.
    #[derive(Default)]
    struct Known {
        groups: Vec<bool>,
    }

    impl SwitchBalancer for Known {
        fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
            let group = asked.group as usize;
            assert!(group <= self.groups.len(), "a new number is the next");
            if group == self.groups.len() {
                self.groups.push(false);
            }
            self.groups[group] = true;
            Ok(())
        }

        fn retire(&mut self, group: u32) {
            assert!(std::mem::take(&mut self.groups[group as usize]), "group {group} is there");
        }

        fn choose(&mut self, _at: &Junction<'_>, _id: PacketId, _network: &mut Network) -> Choice {
            Choice::NoPath
        }
    }

    /// A thousand changes of links need no more groups than the first few, and those that are in use are known.
    #[test]
    fn groups_that_routing_leaves_are_used_again() {
        let fabric = LeafSpine { leaves: 4, spines: 3, ..LeafSpine::default() }.build().unwrap();
        let links: Vec<u32> = (0..fabric.ports().len() as u32)
            .filter(|&port| {
                let link = &fabric.ports()[port as usize];
                link.from >= fabric.hosts() && link.from < link.to
            })
            .collect();
        let mut forwarding = Forwarding::new(&fabric, Weighing::Capacity, Known::default()).unwrap();
        let mut state = LinkState::of(&fabric);
        let mut after_few = 0;
        for round in 0..1000 {
            for up in [false, true] {
                let port = links[round % links.len()];
                state.up[port as usize] = up;
                for node in [fabric.ports()[port as usize].from, fabric.ports()[port as usize].to] {
                    forwarding.local_change(&fabric, node, &state).unwrap();
                }
                forwarding.reroute(&fabric, &state, &state).unwrap();
                let in_use = &forwarding.table.groups;
                assert!(in_use.iter().all(|members| forwarding.balancer.groups[members.group as usize]));
            }
            if round == 2 * links.len() {
                after_few = forwarding.members.len();
            }
        }
        assert_eq!(forwarding.members.len(), after_few);
        assert_eq!(forwarding.ports.len(), forwarding.carries.len());
    }
}
