//! Forwarding: destination -> group -> port, and what failures do to groups.

mod install;
mod table;

use crate::door::{Choice, GroupPlan, Junction, Route, SwitchBalancer};
use crate::network::Network;
use crate::slab::PacketId;
use crate::{Packet, SimulationError, marks};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::{Groups, Weighing};
use std::collections::BTreeMap;
use table::{Members, Table};

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
        if B::ROUTES {
            match self.balancer.route(switch, id, network) {
                Route::Port(port) => {
                    if B::DEPARTS {
                        self.balancer.depart(switch, port, id, network);
                    }
                    return Step::Port(port);
                }
                Route::NoPath => return Step::NoPath,
                Route::Tables => {}
            }
        }
        let leaf = if B::DETOURS { self.balancer.towards(switch, leaf, id, network) } else { leaf };
        let part = self.table.parts.flat()[(row.at + leaf) as usize];
        let Members { group, first, len, alive } = self.table.groups[(row.first + part) as usize];
        if !alive {
            return Step::NoPath;
        }
        let ports = &self.ports[first as usize..][..usize::from(len)];
        let mut port = ports[0];
        if len > 1 {
            let packet = network.packets.get(id);
            let labelled = packet.marks & marks::LABELLED != 0;
            let label = if labelled { by_label(self.carries_of(first, len), packet) } else { None };
            let choice = match label {
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

    /// Port by which a packet will probably leave `switch`, if that is known before it arrives.
    #[inline(always)]
    pub(crate) fn foresee(&self, switch: u32, packet: &Packet) -> Option<u32> {
        // Pauses have no destination.
        let &(leaf, host_port) = self.host.get(packet.destination as usize)?;
        let row = self.table.rows[switch as usize];
        if leaf == row.own {
            return Some(host_port);
        }
        let part = self.table.parts.flat()[(row.at + leaf) as usize];
        let Members { first, len, .. } = self.table.groups[(row.first + part) as usize];
        (len == 1).then(|| self.ports[first as usize])
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
                by_label(self.carries_of(first, len), packet).map(|label| ports[usize::from(label)])
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

    /// Whether each member of a group carries that has its ports from `first` on.
    #[inline(always)]
    fn carries_of(&self, first: u32, len: u16) -> &[bool] {
        &self.carries[first as usize..][..usize::from(len)]
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

/// Takes the label for this choice off a packet that has labels; nothing if it leads to a member that does not carry: behind a
/// next hop that is none any more a packet could run in circles.
#[inline(always)]
fn by_label(carries: &[bool], packet: &mut Packet) -> Option<u16> {
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
