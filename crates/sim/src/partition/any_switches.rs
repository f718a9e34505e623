//! Switch balancers of any type behind one: what serves parts is compiled once, and not for each of them.

use crate::door::{Choice, GroupPlan, Junction, Route, SwitchBalancer};
use crate::network::Network;
use crate::slab::PacketId;
use anabranch_fabric::LinkState;
use anabranch_split::PlanError;

/// [`SwitchBalancer`] behind a pointer.
trait DynSwitchBalancer {
    fn hashes_headers(&self) -> bool;
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError>;
    fn retire(&mut self, group: u32);
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice;
    fn route(&mut self, switch: u32, id: PacketId, network: &mut Network) -> Route;
    fn towards(&mut self, switch: u32, leaf: u32, id: PacketId, network: &mut Network) -> u32;
    fn begin(&mut self, switch: u32, network: &mut Network);
    fn depart(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network);
    fn deliver(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) -> bool;
    fn probe(&mut self, switch: u32, from: u32, onward: Option<u32>, id: PacketId, network: &mut Network);
    fn timer(&mut self, switch: u32, token: u32, network: &mut Network);
    fn ports_changed(&mut self, switch: u32, ports: &[u32], network: &mut Network);
    fn counts(&self) -> Vec<(&'static str, u64)>;
    fn links_changed(&mut self, links: &LinkState, network: &mut Network);
}

impl<B: SwitchBalancer> DynSwitchBalancer for B {
    fn hashes_headers(&self) -> bool {
        SwitchBalancer::hashes_headers(self)
    }

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        SwitchBalancer::plan(self, asked)
    }

    fn retire(&mut self, group: u32) {
        SwitchBalancer::retire(self, group);
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        SwitchBalancer::choose(self, at, id, network)
    }

    fn route(&mut self, switch: u32, id: PacketId, network: &mut Network) -> Route {
        if B::ROUTES { SwitchBalancer::route(self, switch, id, network) } else { Route::Tables }
    }

    fn towards(&mut self, switch: u32, leaf: u32, id: PacketId, network: &mut Network) -> u32 {
        if B::DETOURS { SwitchBalancer::towards(self, switch, leaf, id, network) } else { leaf }
    }

    fn begin(&mut self, switch: u32, network: &mut Network) {
        SwitchBalancer::begin(self, switch, network);
    }

    fn depart(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) {
        if B::DEPARTS {
            SwitchBalancer::depart(self, switch, port, id, network);
        }
    }

    fn deliver(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) -> bool {
        !B::DELIVERS || SwitchBalancer::deliver(self, switch, port, id, network)
    }

    fn probe(&mut self, switch: u32, from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        SwitchBalancer::probe(self, switch, from, onward, id, network);
    }

    fn timer(&mut self, switch: u32, token: u32, network: &mut Network) {
        SwitchBalancer::timer(self, switch, token, network);
    }

    fn ports_changed(&mut self, switch: u32, ports: &[u32], network: &mut Network) {
        SwitchBalancer::ports_changed(self, switch, ports, network);
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        SwitchBalancer::counts(self)
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        SwitchBalancer::links_changed(self, links, network);
    }
}

/// A switch balancer of any type: one engine simulates parts by all of them.
pub struct AnySwitches<'a>(Box<dyn DynSwitchBalancer + 'a>);

impl<'a> AnySwitches<'a> {
    /// One value, which serves all switches of a part.
    pub fn new(balancer: impl SwitchBalancer + 'a) -> Self {
        Self(Box::new(balancer))
    }
}

impl SwitchBalancer for AnySwitches<'_> {
    const DEPARTS: bool = true;
    const DELIVERS: bool = true;
    const PROBES: bool = true;
    const ROUTES: bool = true;
    const DETOURS: bool = true;

    fn hashes_headers(&self) -> bool {
        self.0.hashes_headers()
    }

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        self.0.plan(asked)
    }

    fn retire(&mut self, group: u32) {
        self.0.retire(group);
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        self.0.choose(at, id, network)
    }

    fn route(&mut self, switch: u32, id: PacketId, network: &mut Network) -> Route {
        self.0.route(switch, id, network)
    }

    fn towards(&mut self, switch: u32, leaf: u32, id: PacketId, network: &mut Network) -> u32 {
        self.0.towards(switch, leaf, id, network)
    }

    fn begin(&mut self, switch: u32, network: &mut Network) {
        self.0.begin(switch, network);
    }

    fn depart(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) {
        self.0.depart(switch, port, id, network);
    }

    fn deliver(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) -> bool {
        self.0.deliver(switch, port, id, network)
    }

    fn probe(&mut self, switch: u32, from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        self.0.probe(switch, from, onward, id, network);
    }

    fn timer(&mut self, switch: u32, token: u32, network: &mut Network) {
        self.0.timer(switch, token, network);
    }

    fn ports_changed(&mut self, switch: u32, ports: &[u32], network: &mut Network) {
        self.0.ports_changed(switch, ports, network);
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.0.counts()
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        self.0.links_changed(links, network);
    }
}
