//! Wino in leaves: packets that hosts marked go by the path of their slice, as its meter allows.
//!
//! The controller hears of links when routing does, and of traffic without slices at every poll; what follows from it is
//! installed in leaves and hosts a delay later. Until then a slice whose path died swallows its packets.

use super::controller::{Controller, Slicing};
use crate::wino::parameters::Wino;
use crate::wino::pick::{Slice, UNMARKED, Verdict, forward};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::{SliceRule, Slices, selection_hash};
use anabranch_sim::{
    Choice, GroupPlan, Junction, Network, PacketId, SimulationError, SwitchBalancer, marks, salt,
};
use anabranch_split::picks::{Packet, Uniform, pick};
use anabranch_split::{PlanError, Still};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Switch whose timers are the controller's.
const CONTROLLER: u32 = 0;
/// Tokens of timers: a poll, an installation, and the release of the packet whose number is `token - HELD`.
const POLL: u32 = 0;
const INSTALL: u32 = 1;
const HELD: u32 = 2;

/// Slices of each pair of leaves, by source's and destination's, as hosts know them.
pub(crate) type SliceCounts = Rc<[Cell<u16>]>;

/// Wino in all leaves of a fabric.
pub(crate) struct WinoBalancer {
    controller: Controller,
    /// Number of each switch as a destination, if it is a leaf.
    leaf_at: Vec<Option<u32>>,
    /// Slices of each pair, at its source's leaf.
    slices: Vec<Box<[Slice]>>,
    counts: SliceCounts,
    /// Slicing that the controller sent last.
    latest: Slicing,
    pending: VecDeque<Slicing>,
    /// Traffic since the last poll: bytes by port that are in no slice, pairs that sent.
    foreign_bytes: Vec<u64>,
    active: Vec<bool>,
    seen: bool,
    polling: bool,
    /// Packets that wait for their slice, by number, and the port of each.
    held: HashMap<u32, (PacketId, u32)>,
    /// Members of each group that carry, for packets without slices.
    live: Vec<Box<[u16]>>,
    salts: Vec<u32>,
    gap_bytes: u32,
}

impl WinoBalancer {
    /// # Errors
    /// A fabric with too many paths for source routes, or limits of slices that contradict each other.
    pub(crate) fn new(
        wino: Wino,
        fabric: &Fabric,
        settings: &crate::Settings,
    ) -> Result<Self, SimulationError> {
        let switches = fabric.nodes().len() as u32 - fabric.hosts();
        let framing = settings.framing;
        let frame_bytes = framing.frame_bytes(framing.payload_bytes_max).into();
        let wino = Wino { slices: SliceRule { frame_bytes, ..wino.slices }, ..wino };
        let mut controller = Controller::new(wino, fabric)?;
        let slicing = controller.slice()?;
        let mut leaf_at = vec![None; switches as usize];
        for leaf in 0..controller.book().leaves() {
            leaf_at[controller.book().switch_of(leaf) as usize] = Some(leaf);
        }
        let mut balancer = Self {
            controller,
            leaf_at,
            slices: slicing.iter().map(|_| Box::default()).collect(),
            counts: slicing.iter().map(|_| Cell::new(0)).collect(),
            latest: slicing.clone(),
            pending: VecDeque::new(),
            foreign_bytes: vec![0; fabric.ports().len()],
            active: vec![false; slicing.len()],
            seen: false,
            polling: false,
            held: HashMap::new(),
            live: Vec::new(),
            salts: (0..switches).map(|switch| salt(settings.seed, switch)).collect(),
            gap_bytes: framing.gap_bytes.into(),
        };
        balancer.install(&slicing);
        Ok(balancer)
    }

    /// Counters that hosts mark by.
    pub(crate) fn counts(&self) -> SliceCounts {
        Rc::clone(&self.counts)
    }

    fn install(&mut self, slicing: &Slicing) {
        let rule = &self.controller.parameters().slices;
        for ((slices, count), cut) in self.slices.iter_mut().zip(self.counts.iter()).zip(slicing) {
            *slices = cut.as_ref().map_or_else(Box::default, |cut| rules(cut, rule));
            count.set(slices.len() as u16);
        }
    }

    /// Sends new slices on their way if they differ from those sent last.
    fn update(&mut self, network: &mut Network) {
        let Ok(slicing) = self.controller.slice() else { return };
        if slicing != self.latest {
            self.latest.clone_from(&slicing);
            self.pending.push_back(slicing);
            let delay_ns = self.controller.parameters().install_delay_ns;
            network.wake_switch(network.now_ps() + delay_ns * 1000, CONTROLLER, INSTALL);
        }
    }

    fn poll(&mut self, network: &mut Network) {
        let poll_ns = self.controller.parameters().poll_ns.max(1);
        let bps = |bytes: &mut u64| {
            (u128::from(std::mem::take(bytes)) * 8_000_000_000 / u128::from(poll_ns)) as u64
        };
        let measured_bps: Vec<u64> = self.foreign_bytes.iter_mut().map(bps).collect();
        let active = self.active.iter_mut().map(std::mem::take).collect();
        self.controller.learn_traffic(&measured_bps, active);
        self.update(network);
        // Silence can wait for the next packet.
        self.polling = std::mem::take(&mut self.seen);
        if self.polling {
            network.wake_switch(network.now_ps() + poll_ns * 1000, CONTROLLER, POLL);
        }
    }
}

/// Rules of a leaf for slices.
fn rules(cut: &Slices, rule: &SliceRule) -> Box<[Slice]> {
    let meter = cut.metered.then(|| rule.meter(cut.slice_bps));
    cut.path_of.iter().map(|&path| Slice { path, meter }).collect()
}

impl SwitchBalancer for WinoBalancer {
    const DEPARTS: bool = true;

    /// Slices lead where the controller said, dead or alive; only what has none avoids dead ports.
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, weights, .. } = asked;
        let live = (0..).zip(weights).filter(|&(_, &weight)| weight > 0).map(|(member, _)| member).collect();
        match self.live.get_mut(group as usize) {
            Some(known) => *known = live,
            None => self.live.push(live),
        }
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("paths left out, with less bandwidth than a slice has", self.controller.left_out())]
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let now_ns = network.now_ns();
        let packet = network.packet(id);
        if packet.marks & marks::LABELLED != 0 {
            // Its path is dead, here or further on.
            return Choice::NoPath;
        }
        let Some(from) = self.leaf_at[at.switch as usize].filter(|_| packet.tag != UNMARKED) else {
            let hash = selection_hash(packet.entropy, self.salts[at.switch as usize]);
            let mut asked = Packet { flow: hash.into(), ..Packet::default() };
            return Choice::Member(pick::<Uniform, _>(
                &self.live[at.group as usize],
                &mut (),
                &mut asked,
                &mut Still,
            ));
        };
        let pair = from as usize * self.controller.book().leaves() as usize + at.leaf as usize;
        self.active[pair] = true;
        let switches = &self.controller.parameters().switches;
        let (meter, wait_max_ns) = (switches.meter, switches.wait_max_ns);
        let wire_bytes = u32::from(packet.frame_bytes) + self.gap_bytes;
        let verdict = forward(&mut self.slices[pair], packet.tag, wire_bytes, meter, wait_max_ns, now_ns);
        let (path, wait_until_ns) = match verdict {
            Verdict::Pass(path) => (path, None),
            Verdict::Wait(path, at_ns) => (path, Some(at_ns)),
            // A label of slices that are no more.
            Verdict::Unsliced => return Choice::NoPath,
            Verdict::Drop => return Choice::Policed,
        };
        let Some(route) = self.controller.route(from, at.leaf, path) else { return Choice::NoPath };
        let Some(member) = at.ports.iter().position(|port| route.ports.first() == Some(port)) else {
            return Choice::NoPath;
        };
        packet.labels = route.labels >> 8;
        packet.marks |= marks::LABELLED;
        let Some(at_ns) = wait_until_ns else { return Choice::Member(member as u16) };
        packet.path = packet.path.wrapping_mul(at.ports.len() as u16).wrapping_add(member as u16);
        self.held.insert(id.number(), (id, at.ports[member]));
        network.wake_switch(at_ns * 1000, at.switch, HELD + id.number());
        Choice::Kept
    }

    fn depart(&mut self, _switch: u32, port: u32, id: PacketId, network: &mut Network) {
        let packet = network.packet(id);
        if packet.tag == UNMARKED {
            self.foreign_bytes[port as usize] += u64::from(packet.frame_bytes) + u64::from(self.gap_bytes);
        }
        self.seen = true;
        if !self.polling {
            self.polling = true;
            let poll_ns = self.controller.parameters().poll_ns.max(1);
            network.wake_switch(network.now_ps() + poll_ns * 1000, CONTROLLER, POLL);
        }
    }

    fn timer(&mut self, _switch: u32, token: u32, network: &mut Network) {
        match token {
            POLL => self.poll(network),
            INSTALL => {
                if let Some(slicing) = self.pending.pop_front() {
                    self.install(&slicing);
                }
            }
            held => {
                if let Some((id, port)) = self.held.remove(&(held - HELD)) {
                    network.enqueue(port, id);
                }
            }
        }
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        self.controller.learn_links(links);
        self.update(network);
    }
}
