//! TDLB at work: leaves probe all paths, measure, and separate the flows that congest a port from those that do not.

use super::leaf::{Leaf, LeafPaths, Left};
use crate::luopan::pick::probe::Header;
use crate::switches::source_routes::{PathEnv, SourceRoutes};
use crate::tdlb::parameters::{DelayFeedback, Probing, Tdlb};
use crate::tdlb::pick::{self, Clear, Feedback, Plan, tag};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::{
    Choice, GroupPlan, Junction, Network, Packet, PacketId, SimulationError, SwitchBalancer, connection_slot,
};
use anabranch_split::picks::store::Heap;
use anabranch_split::picks::{FlowTable, Pick};
use anabranch_split::{PlanError, picks};

/// Longest Ethernet frame with preamble and gap.
const FRAME_BYTES_MAX: u64 = 1538;

/// Token of a leaf's timer of its next probes; those above it are of a leaf that it begins to send to.
const PROBES: u32 = 0;

type Rule<'a> = pick::Tdlb<LeafPaths<'a>, FlowTable<u64>, Heap>;

/// All leaves.
pub(crate) struct TdlbBalancer {
    source: SourceRoutes,
    parameters: Tdlb,
    /// Number of each port within its switch.
    local: Vec<u16>,
    leaves: Vec<Leaf>,
}

impl TdlbBalancer {
    /// Bits of [`anabranch_split::capability`] it takes.
    pub(crate) const NEEDS: u32 = Rule::NEEDS;

    /// # Errors
    /// Paths that labels cannot name.
    pub(crate) fn new(fabric: &Fabric, parameters: Tdlb, seed: u64) -> Result<Self, SimulationError> {
        let source = SourceRoutes::new(fabric, seed)?;
        let mut parameters = parameters;
        let fastest_bps = fabric.ports().iter().map(|port| port.rate.bps()).max().unwrap_or(1);
        parameters.rules.timeout_min_ns = parameters
            .timeout_min_ns
            .unwrap_or_else(|| (FRAME_BYTES_MAX * 8 * 1_000_000_000).div_ceil(fastest_bps));
        let mut local = vec![0u16; fabric.ports().len()];
        for node in 0..fabric.nodes().len() as u32 {
            for (index, &port) in (0u16..).zip(fabric.ports_of(node)) {
                local[port as usize] = index;
            }
        }
        let leaves: Vec<Leaf> =
            (0..source.leaves()).map(|leaf| Leaf::new(leaf, &source, &parameters, seed)).collect();
        Ok(Self { source, parameters, local, leaves })
    }

    /// Leaf number `leaf` will probe at a time, and not at that set before.
    fn wake(&mut self, leaf: u32, at_ps: u64, network: &mut Network) {
        self.leaves[leaf as usize].alarm_ps = at_ps;
        network.wake_switch(at_ps, self.source.switch_of(leaf), PROBES);
    }

    /// Leaf number `leaf` begins to probe: one after the other within a period, for all at once would queue behind each
    /// other.
    fn begin_to_probe(&mut self, leaf: u32, network: &mut Network) {
        self.leaves[leaf as usize].is_asleep = false;
        let late_ns = self.parameters.period_ns * u64::from(leaf) / u64::from(self.source.leaves());
        self.wake(leaf, network.now_ps() + late_ns * 1000, network);
    }

    /// A packet leaves or reaches a host of leaf number `leaf`.
    fn note_activity(&mut self, leaf: u32, network: &mut Network) {
        self.leaves[leaf as usize].active_ps = network.now_ps();
        if self.leaves[leaf as usize].is_asleep {
            self.begin_to_probe(leaf, network);
        }
    }

    fn learn(&mut self, here: u32, feedback: &Feedback, network: &mut Network) {
        let (Feedback::Delay { destination, .. } | Feedback::Congesting { destination, .. }) = *feedback;
        let Leaf { state, stream, thresholds, .. } = &mut self.leaves[here as usize];
        let routes = self.source.routes(here, destination);
        let paths = LeafPaths { routes, local: &self.local, thresholds };
        let plan = Plan { parameters: self.parameters.rules, paths };
        Rule::learn(&plan, state, feedback, &mut PathEnv::<false> { network, routes, stream });
    }

    /// A packet leaves leaf number `from` to leaf number `to`. A pair that was not in use is probed behind it: probes in
    /// front of it might take its place in a full queue, each time anew.
    fn note_use(&mut self, from: u32, to: u32, network: &mut Network) {
        let was_used = self.is_used(from, to, network);
        self.leaves[from as usize].used_ps[to as usize] = Some(network.now_ps());
        if !was_used && self.parameters.probing == Probing::PairsInUse {
            network.wake_switch(network.now_ps(), self.source.switch_of(from), PROBES + 1 + to);
        }
    }

    fn is_used(&self, from: u32, to: u32, network: &Network) -> bool {
        let idle_ps = self.parameters.rules.idle_ns.saturating_mul(1000);
        self.leaves[from as usize].used_ps[to as usize]
            .is_some_and(|used_ps| network.now_ps().saturating_sub(used_ps) <= idle_ps)
    }

    /// Sends the probes of a period.
    fn probe_all(&mut self, from: u32, network: &mut Network) {
        for to in (0..self.source.leaves()).filter(|&to| to != from) {
            if self.parameters.probing == Probing::AllPairs || self.is_used(from, to, network) {
                self.probe_paths(from, to, network);
            }
        }
    }

    /// Sends a probe along every living path from a leaf to another.
    fn probe_paths(&mut self, from: u32, to: u32, network: &mut Network) {
        let stamp_ns = self.leaves[from as usize].clock_ns(network);
        for path in self.source.routes(from, to).live.clone() {
            let header = Header { path: path.into(), is_answer: false, congestion: 0 };
            let probe = Packet {
                seq: header.to_bits().into(),
                stamp_ns,
                frame_bytes: self.parameters.probe_bytes,
                ..Packet::default()
            };
            self.source.probe(from, to, path, probe, network);
        }
    }

    /// A probe or its answer is where it was to go.
    fn arrived(&mut self, here: u32, peer: u32, probe: &Packet, network: &mut Network) {
        let header = Header::from_bits(probe.seq as u32);
        let path = header.path as u16;
        if header.is_answer {
            let delay_ns = i64::from(probe.tag as i32);
            self.learn(here, &Feedback::Delay { destination: peer, path, delay_ns }, network);
            return;
        }
        // Clocks of 32 bits: differences are right if they are below 2.1 s.
        let delay = self.leaves[here as usize].clock_ns(network).wrapping_sub(probe.stamp_ns) as i32;
        let Some(back) = self.source.opposite(peer, here, path) else { return };
        match self.parameters.feedback {
            DelayFeedback::Echo => {
                let answer = Packet {
                    seq: Header { is_answer: true, ..header }.to_bits().into(),
                    tag: delay as u32,
                    frame_bytes: probe.frame_bytes,
                    ..Packet::default()
                };
                self.source.probe(here, peer, back, answer, network);
            }
            DelayFeedback::Symmetric => {
                let feedback = Feedback::Delay { destination: peer, path: back, delay_ns: i64::from(delay) };
                self.learn(here, &feedback, network);
            }
        }
    }

    /// The destination leaf looks at the queue to a host, and listens to what the other leaf reports.
    fn watch_last_hop(&mut self, here: u32, port: u32, id: PacketId, network: &mut Network) {
        let (now_ns, backlog) = (network.now_ns(), network.backlog_bytes(port));
        let Packet { connection, frame_bytes, tag: bits, .. } = *network.packet(id);
        let local = self.local[port as usize];
        let rules = &self.parameters.rules;
        let Leaf { state, thresholds, left, arrived, .. } = &mut self.leaves[here as usize];
        let threshold = thresholds.get(usize::from(local)).copied().unwrap_or(u32::MAX);
        let separator = &mut state.separator;
        separator.relieve(local, backlog, threshold / 2, rules.clear == Clear::Never, now_ns);
        if backlog > threshold {
            let hold_ns = if rules.hold_ns > 0 { rules.hold_ns } else { rules.timeout_max_ns };
            separator.detect(local, backlog, rules.record, hold_ns, now_ns);
        }
        separator.depart(local, connection.into(), frame_bytes.into(), now_ns);
        arrived.insert(connection_slot(connection), (connection, local));
        if bits & tag::REPORTED != 0
            && let Some(&Left { flow, destination, .. }) =
                left.get(&connection_slot(connection)).filter(|left| left.connection == connection)
        {
            self.learn(here, &Feedback::Congesting { destination, flow }, network);
        }
    }
}

impl SwitchBalancer for TdlbBalancer {
    const DELIVERS: bool = true;
    const PROBES: bool = true;

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, weights, .. } = asked;
        self.source.plan(group, weights);
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let states = || self.leaves.iter().map(|leaf| &leaf.state);
        vec![
            (
                "packets that found their uplink congested",
                states().map(|state| state.separator.detections()).sum(),
            ),
            (
                "packets of flows to blame that stayed on a congested path",
                states().map(|state| state.counts.to_blame).sum(),
            ),
            (
                "packets of innocent flows that stayed on a congested path, without a pause beyond the timeout",
                states().map(|state| state.counts.within_flowlet).sum(),
            ),
            ("flowlets moved to another path", states().map(|state| state.counts.rerouted).sum()),
        ]
    }

    fn begin(&mut self, switch: u32, network: &mut Network) {
        if let Some(leaf) = self.source.leaf(switch) {
            self.begin_to_probe(leaf, network);
        }
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Some(from) = self.source.leaf(at.switch) else { return self.source.by_hash(at, id, network) };
        self.note_activity(from, network);
        self.note_use(from, at.leaf, network);
        let packet = *network.packet(id);
        let mut asked = self.source.asked(at, &packet, 0);
        let Leaf { state, stream, thresholds, left, arrived, .. } = &mut self.leaves[from as usize];
        let routes = self.source.routes(from, at.leaf);
        if routes.live.is_empty() {
            return self.source.by_hash(at, id, network);
        }
        let Packet { connection, .. } = packet;
        if self.parameters.rules.detect.at_last_hop() {
            let known = Left { connection, flow: asked.flow, destination: at.leaf };
            left.insert(connection_slot(connection), known);
            let port = arrived.get(&connection_slot(connection)).filter(|(known, _)| *known == connection);
            if port.is_some_and(|&(_, port)| state.separator.is_congesting(port, connection.into())) {
                asked.tag |= tag::REPORTED;
            }
        }
        let paths = LeafPaths { routes, local: &self.local, thresholds };
        let plan = Plan { parameters: self.parameters.rules, paths };
        let mut env = PathEnv::<false> { network, routes, stream };
        let path = picks::pick::<Rule<'_>, _>(&plan, state, &mut asked, &mut env);
        network.packet(id).tag = asked.tag;
        self.source.along(from, path, at, id, network)
    }

    fn deliver(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) -> bool {
        if let Some(here) = self.source.leaf(switch) {
            self.note_activity(here, network);
            if self.parameters.rules.detect.at_last_hop() {
                self.watch_last_hop(here, port, id, network);
            }
        }
        true
    }

    fn probe(&mut self, switch: u32, _from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        if let Some(port) = onward {
            network.enqueue(port, id);
            return;
        }
        let probe = *network.packet(id);
        if let Some((here, peer)) = self.source.received(switch, &probe, id, network) {
            self.arrived(here, peer, &probe, network);
        }
    }

    /// Probes go out as long as packets do, and for a while longer: a run ends when nothing happens any more.
    fn timer(&mut self, switch: u32, token: u32, network: &mut Network) {
        let Some(leaf) = self.source.leaf(switch) else { return };
        if token > PROBES {
            self.probe_paths(leaf, token - PROBES - 1, network);
            return;
        }
        let Leaf { alarm_ps, active_ps, is_asleep, .. } = &mut self.leaves[leaf as usize];
        if *alarm_ps != network.now_ps() {
            return;
        }
        let idle_ps = self.parameters.rules.idle_ns.saturating_mul(1000);
        *is_asleep |= network.now_ps().saturating_sub(*active_ps) > idle_ps;
        if !*is_asleep {
            self.probe_all(leaf, network);
            self.wake(leaf, network.now_ps() + self.parameters.period_ns * 1000, network);
        }
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.source.learn(links);
    }
}
