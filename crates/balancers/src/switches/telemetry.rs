//! In-band telemetry: switches raise a field of each packet to the level of the link they send it on by.
//!
//! Any load balancer may be beneath. The link to the host is left out: all paths end with it.

use anabranch_fabric::{Fabric, LinkState, Tier};
use anabranch_sim::{Choice, GroupPlan, Junction, Network, PacketId, SwitchBalancer};
use anabranch_split::PlanError;
use anabranch_split::picks::dre::{Estimator, Register};
use anabranch_split::picks::relay::Tag;

/// `B`, and registers at all ports between switches.
pub(crate) struct Telemetry<B> {
    beneath: B,
    estimator: Estimator,
    /// Register of each port, and its value if the link is busy; nothing at ports of and towards hosts.
    links: Vec<Option<(Register, u64)>>,
}

impl<B> Telemetry<B> {
    pub(crate) fn new(beneath: B, estimator: Estimator, fabric: &Fabric) -> Self {
        let is_host = |node: u32| fabric.nodes()[node as usize].tier == Tier::Host;
        let links = fabric.ports().iter().map(|port| {
            let full_bytes = estimator.full_bytes(port.rate.bps());
            (!is_host(port.from) && !is_host(port.to)).then(|| (Register::default(), full_bytes))
        });
        Self { beneath, estimator, links: links.collect() }
    }
}

impl<B: SwitchBalancer> SwitchBalancer for Telemetry<B> {
    const DEPARTS: bool = true;
    const DELIVERS: bool = B::DELIVERS;
    const PROBES: bool = B::PROBES;

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.beneath.counts()
    }

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        self.beneath.plan(asked)
    }

    fn retire(&mut self, group: u32) {
        self.beneath.retire(group);
    }

    #[inline(always)]
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        self.beneath.choose(at, id, network)
    }

    fn begin(&mut self, switch: u32, network: &mut Network) {
        self.beneath.begin(switch, network);
    }

    #[inline(always)]
    fn depart(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) {
        if let Some((register, full_bytes)) = &mut self.links[port as usize] {
            let now_ns = network.now_ns();
            let packet = network.packet(id);
            register.add(&self.estimator, packet.frame_bytes.into(), now_ns);
            let tag = Tag(packet.tag);
            if tag.path().is_some() {
                packet.tag = tag.raised(register.level(&self.estimator, *full_bytes, now_ns)).0;
            }
        }
        if B::DEPARTS {
            self.beneath.depart(switch, port, id, network);
        }
    }

    #[inline(always)]
    fn deliver(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) -> bool {
        self.beneath.deliver(switch, port, id, network)
    }

    fn probe(&mut self, switch: u32, from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        self.beneath.probe(switch, from, onward, id, network);
    }

    fn timer(&mut self, switch: u32, token: u32, network: &mut Network) {
        self.beneath.timer(switch, token, network);
    }

    fn ports_changed(&mut self, switch: u32, ports: &[u32], network: &mut Network) {
        self.beneath.ports_changed(switch, ports, network);
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        let full_bytes = |rate: &anabranch_fabric::Rate| self.estimator.full_bytes(rate.bps());
        for (link, rate) in self.links.iter_mut().zip(&links.rate) {
            if let Some((_, full)) = link {
                *full = full_bytes(rate);
            }
        }
        self.beneath.links_changed(links, network);
    }
}
