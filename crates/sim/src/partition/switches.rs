//! Values of a switch balancer, one for each part of the fabric.

use super::{AnySwitches, Part, Partition, sums};
use crate::SimulationError;
use crate::door::{Choice, GroupPlan, Junction, Route, SwitchBalancer};
use crate::network::Network;
use crate::slab::PacketId;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_split::PlanError;

/// Numbers of a part's groups: they count from zero in each part.
#[derive(Default)]
struct Numbers {
    next: u32,
    retired: Vec<u32>,
}

impl Numbers {
    fn take(&mut self) -> u32 {
        self.retired.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

/// Values that together serve all switches.
pub struct PartitionedSwitches<'a> {
    part_of: Vec<u32>,
    parts: Vec<Part<AnySwitches<'a>>>,
    numbers: Vec<Numbers>,
    /// Part of each group, and its number there. Nothing if it is retired.
    groups: Vec<Option<(usize, u32)>>,
}

impl<'a> PartitionedSwitches<'a> {
    /// As many values as `partition` has parts.
    ///
    /// # Errors
    /// Those of `make`, which makes one.
    pub fn new<B: SwitchBalancer + 'a>(
        partition: &Partition,
        fabric: &Fabric,
        mut make: impl FnMut() -> Result<B, SimulationError>,
    ) -> Result<Self, SimulationError> {
        let part_of = partition.part_of_switch.clone();
        let mut make = || make().map(AnySwitches::new);
        let parts = Part::all(fabric, &part_of, fabric.hosts(), &mut make)?;
        let numbers = parts.iter().map(|_| Numbers::default()).collect();
        Ok(Self { part_of, parts, numbers, groups: Vec::new() })
    }

    fn part(&mut self, switch: u32) -> &mut Part<AnySwitches<'a>> {
        &mut self.parts[self.part_of[switch as usize] as usize]
    }

    fn number(&self, group: u32) -> Option<u32> {
        self.groups.get(group as usize).copied().flatten().map(|(_, number)| number)
    }
}

impl SwitchBalancer for PartitionedSwitches<'_> {
    const DEPARTS: bool = true;
    const DELIVERS: bool = true;
    const PROBES: bool = true;
    const ROUTES: bool = true;
    const DETOURS: bool = true;

    fn hashes_headers(&self) -> bool {
        self.parts.iter().all(|part| part.balancer.hashes_headers())
    }

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let part = self.part_of[asked.switch as usize] as usize;
        let number = self.number(asked.group).unwrap_or_else(|| self.numbers[part].take());
        let heir_of = asked.heir_of.and_then(|heir| self.number(heir));
        self.groups.resize(self.groups.len().max(asked.group as usize + 1), None);
        self.groups[asked.group as usize] = Some((part, number));
        self.parts[part].balancer.plan(&GroupPlan { group: number, heir_of, ..*asked })
    }

    fn retire(&mut self, group: u32) {
        if let Some((part, number)) = self.groups[group as usize].take() {
            self.numbers[part].retired.push(number);
            self.parts[part].balancer.retire(number);
        }
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Some(group) = self.number(at.group) else { return Choice::NoPath };
        let &Junction { switch, leaf, ports, .. } = at;
        let at = Junction { switch, leaf, group, ports };
        self.part(switch).call(network, |balancer, network| balancer.choose(&at, id, network))
    }

    fn route(&mut self, switch: u32, id: PacketId, network: &mut Network) -> Route {
        self.part(switch).call(network, |balancer, network| balancer.route(switch, id, network))
    }

    fn towards(&mut self, switch: u32, leaf: u32, id: PacketId, network: &mut Network) -> u32 {
        self.part(switch).call(network, |balancer, network| balancer.towards(switch, leaf, id, network))
    }

    fn begin(&mut self, switch: u32, network: &mut Network) {
        self.part(switch).call(network, |balancer, network| balancer.begin(switch, network));
    }

    fn depart(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) {
        self.part(switch).call(network, |balancer, network| balancer.depart(switch, port, id, network));
    }

    fn deliver(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) -> bool {
        self.part(switch).call(network, |balancer, network| balancer.deliver(switch, port, id, network))
    }

    fn probe(&mut self, switch: u32, from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        self.part(switch)
            .call(network, |balancer, network| balancer.probe(switch, from, onward, id, network));
    }

    fn timer(&mut self, switch: u32, token: u32, network: &mut Network) {
        self.part(switch).call(network, |balancer, network| balancer.timer(switch, token, network));
    }

    fn ports_changed(&mut self, switch: u32, ports: &[u32], network: &mut Network) {
        self.part(switch).call(network, |balancer, network| balancer.ports_changed(switch, ports, network));
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        sums(self.parts.iter().map(|part| part.balancer.counts()))
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        for part in &mut self.parts {
            part.call(network, |balancer, network| balancer.links_changed(links, network));
        }
    }
}
