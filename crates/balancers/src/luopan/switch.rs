//! Luopan at work: source leaves sample paths with probes, switches add up backlogs, destination leaves answer.

use crate::luopan::express::Flight;
use crate::luopan::gauge::Gauge;
use crate::luopan::parameters::{Luopan, Metric, Probing};
use crate::luopan::pick::probe::{Header, step_bytes};
use crate::luopan::pick::{self, Answer, Counts, Entry, Plan, Sample, State};
use crate::switches::source_routes::{Living, PathEnv, SourceRoutes, stream};
use anabranch_fabric::{Fabric, LinkState, Port};
use anabranch_sim::{
    Choice, GroupPlan, Junction, Network, Packet, PacketId, SimulationError, SwitchBalancer,
};
use anabranch_split::PlanError;
use anabranch_split::picks::flowcell::Numbered;
use anabranch_split::picks::idle::Idle;
use anabranch_split::picks::store::Heap;
use anabranch_split::picks::{FlowTable, Pick, units};
use rand_pcg::Pcg32;

type Rule<'a> = pick::Luopan<Living<'a>, Heap>;

const NEVER_PS: u64 = u64::MAX;

/// All source leaves.
pub(crate) struct LuopanBalancer {
    source: SourceRoutes,
    parameters: Luopan,
    leaves: Vec<Leaf>,
    gauge: Gauge,
    /// Time that a probe takes to pass each port that is empty, and its link.
    hop_ps: Box<[u64]>,
    /// Paths of the round that is being sent.
    round: Vec<u16>,
}

struct Leaf {
    cells: FlowTable<(u32, u64)>,
    table: State<Heap>,
    stream: Pcg32,
    /// Time when the table is next asked whether to send probes, by destination.
    alarm_ps: Vec<u64>,
    /// Round of probes that overtake, by destination.
    flights: Vec<Flight>,
}

impl LuopanBalancer {
    /// Bits of [`anabranch_split::capability`] it takes.
    pub(crate) const NEEDS: u32 = Rule::NEEDS;

    /// # Errors
    /// Paths that labels cannot name, and a metric of seven bits for endless buffers.
    pub(crate) fn new(fabric: &Fabric, parameters: Luopan, seed: u64) -> Result<Self, SimulationError> {
        let mut source = SourceRoutes::new(fabric, seed)?;
        let mut parameters = parameters;
        if parameters.metric == Metric::SevenBits {
            parameters.sampling.step_bytes = step(fabric, &mut source)?;
        }
        let destinations = source.leaves() as usize;
        let samples = parameters.sampling.samples;
        let samples_of_all = || vec![Sample::default(); destinations * usize::from(samples)].into();
        let leaves = (0..source.leaves())
            .map(|leaf| Leaf {
                cells: FlowTable::default(),
                table: State::new(
                    vec![Entry::default(); destinations].into(),
                    samples_of_all(),
                    samples_of_all(),
                    samples,
                ),
                stream: stream(seed, "luopan", leaf),
                alarm_ps: vec![NEVER_PS; destinations],
                flights: vec![Flight::default(); destinations],
            })
            .collect();
        let gauge = Gauge::new(parameters.metric, parameters.sampling.expiry_ns, fabric.ports().len());
        let frame_bytes = parameters.probe_bytes.into();
        let hop_ps = |port: &Port| port.rate.serialization().frame_ps(frame_bytes) + port.delay_ps;
        let hop_ps = fabric.ports().iter().map(hop_ps).collect();
        Ok(Self { source, parameters, leaves, gauge, hop_ps, round: Vec::new() })
    }

    /// Asks for the samples that are due from leaf `from` to leaf `to`, and sets the alarm for the next.
    fn ask(&mut self, from: u32, to: u32, network: &mut Network) {
        let Self { source, parameters, leaves, gauge, round, .. } = self;
        let Leaf { table, stream, alarm_ps, .. } = &mut leaves[from as usize];
        let routes = source.routes(from, to);
        if routes.live.len() < 2 {
            return;
        }
        round.clear();
        let mut env = PathEnv::<false> { network, routes, stream };
        let again = table.ask(&parameters.sampling, &routes.live, to, &mut env, |path| round.push(path));
        if parameters.probing == Probing::Instant {
            let plan = Plan { parameters: parameters.sampling, paths: Living(&routes.live) };
            for &path in &*round {
                let ports = routes.all.get(usize::from(path)).map_or(&[][..], |route| &route.ports);
                let level = ports.iter().fold(0, |level, &port| gauge.after(level, port, network));
                let answer = Answer { destination: to, path, backlog_bytes: level };
                Rule::learn(&plan, table, &answer, &mut PathEnv::<false> { network, routes, stream });
            }
            return;
        }
        let alarm_ps = &mut alarm_ps[to as usize];
        let again_ps = again.map_or(NEVER_PS, |again_ns| again_ns.saturating_mul(1000));
        if again_ps < *alarm_ps {
            *alarm_ps = again_ps;
            network.wake_switch(again_ps, source.switch_of(from), to);
        }
        if parameters.probing == Probing::Express {
            if !round.is_empty() {
                leaves[from as usize].flights[to as usize] = Flight::new(round, network.now_ps());
                self.fly(from, to, network);
            }
            return;
        }
        for &path in &*round {
            let header = Header { path: path.into(), is_answer: false, congestion: 0 };
            let first = source.first_port(from, to, path);
            let probe = Packet {
                seq: header.to_bits().into(),
                tag: first.map_or(0, |port| gauge.after(0, port, network)),
                frame_bytes: parameters.probe_bytes,
                ..Packet::default()
            };
            source.probe(from, to, path, probe, network);
        }
    }

    /// Probes that overtake are at their next ports, or their answers are back.
    fn fly(&mut self, from: u32, to: u32, network: &mut Network) {
        let Self { source, parameters, leaves, gauge, hop_ps, .. } = self;
        let Leaf { table, stream, flights, .. } = &mut leaves[from as usize];
        let (switch, token) = (source.switch_of(from), source.leaves() + to);
        let routes = source.routes(from, to);
        let flight = &mut flights[to as usize];
        if let Some(due_ps) = flight.pass(routes, hop_ps, gauge, network) {
            network.wake_switch(due_ps, switch, token);
            return;
        }
        let plan = Plan { parameters: parameters.sampling, paths: Living(&routes.live) };
        for (path, backlog_bytes) in flight.land() {
            let answer = Answer { destination: to, path, backlog_bytes };
            Rule::learn(&plan, table, &answer, &mut PathEnv::<false> { network, routes, stream });
        }
        self.ask(from, to, network);
    }

    /// A probe or its answer is where it was to go.
    fn arrived(&mut self, here: u32, peer: u32, probe: &Packet, network: &mut Network) {
        let header = Header::from_bits(probe.seq as u32);
        let path = header.path as u16;
        if !header.is_answer {
            let Some(back) = self.source.opposite(peer, here, path) else { return };
            let answer = Packet {
                seq: Header { is_answer: true, ..header }.to_bits().into(),
                tag: probe.tag,
                frame_bytes: probe.frame_bytes,
                ..Packet::default()
            };
            self.source.probe(here, peer, back, answer, network);
            return;
        }
        let answer = Answer { destination: peer, path, backlog_bytes: probe.tag };
        let Leaf { table, stream, .. } = &mut self.leaves[here as usize];
        let routes = self.source.routes(here, peer);
        let plan = Plan { parameters: self.parameters.sampling, paths: Living(&routes.live) };
        Rule::learn(&plan, table, &answer, &mut PathEnv::<false> { network, routes, stream });
        self.ask(here, peer, network);
    }
}

/// Bytes in a step of the metric: as many full buffers as the longest path has ports.
fn step(fabric: &Fabric, source: &mut SourceRoutes) -> Result<u32, SimulationError> {
    let mut hops = 0;
    for to in 1..source.leaves() {
        let longest = source.routes(0, to).all.iter().map(|route| route.ports.len()).max();
        hops = hops.max(longest.unwrap_or(0) as u32);
    }
    let between = |port: &&anabranch_fabric::Port| port.from >= fabric.hosts() && port.to >= fabric.hosts();
    let buffer = fabric.ports().iter().filter(between).map(|port| port.buffer.bytes).max().unwrap_or(0);
    if buffer == u32::MAX {
        return Err(SimulationError::new(
            "routing.scheme.metric: 7bit counts in parts of a buffer, and some buffers have no limit in bytes",
            "give `fabric.uplink.buffer` a size in bytes, or metric = \"bytes\"",
        ));
    }
    Ok(step_bytes(hops, buffer))
}

impl SwitchBalancer for LuopanBalancer {
    const PROBES: bool = true;

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, weights, .. } = asked;
        self.source.plan(group, weights);
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let sum = |of: fn(&Counts) -> u64| self.leaves.iter().map(|leaf| of(&leaf.table.counts())).sum();
        vec![
            ("flowcells placed by samples", sum(|counts| counts.sampled)),
            ("flowcells placed at random for want of samples", sum(|counts| counts.random)),
            ("microseconds of age of the samples used, in all", sum(|counts| counts.age_ns / 1000)),
        ]
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Some(from) = self.source.leaf(at.switch) else { return self.source.by_hash(at, id, network) };
        let packet = *network.packet(id);
        let mut asked = self.source.asked(at, &packet, self.parameters.cells.bytes);
        let Leaf { table, alarm_ps, .. } = &mut self.leaves[from as usize];
        let is_quiet = alarm_ps[at.leaf as usize] == NEVER_PS;
        if self.parameters.probing == Probing::Instant {
            table.touch(at.leaf, network.now_ns());
            self.ask(from, at.leaf, network);
        }
        let Leaf { cells, table, stream, .. } = &mut self.leaves[from as usize];
        let routes = self.source.routes(from, at.leaf);
        if routes.live.is_empty() {
            return self.source.by_hash(at, id, network);
        }
        let boundary = Idle { boundary: Numbered, idle_ns: self.parameters.cells.idle_ns };
        let plan = Plan { parameters: self.parameters.sampling, paths: Living(&routes.live) };
        let mut env = PathEnv::<false> { network, routes, stream };
        let path = units::pick::<_, Rule<'_>, _, _>(&boundary, &plan, cells, table, &mut asked, &mut env);
        if is_quiet && self.parameters.probing != Probing::Instant {
            self.ask(from, at.leaf, network);
        }
        self.source.along(from, path, at, id, network)
    }

    fn probe(&mut self, switch: u32, _from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        let probe = *network.packet(id);
        if let Some(port) = onward {
            if !Header::from_bits(probe.seq as u32).is_answer {
                network.packet(id).tag = self.gauge.after(probe.tag, port, network);
            }
            network.enqueue(port, id);
            return;
        }
        if let Some((here, peer)) = self.source.received(switch, &probe, id, network) {
            self.arrived(here, peer, &probe, network);
        }
    }

    /// The token is the destination, plus the number of leaves for probes that overtake.
    fn timer(&mut self, switch: u32, token: u32, network: &mut Network) {
        let Some(from) = self.source.leaf(switch) else { return };
        let to = token % self.source.leaves();
        if token != to {
            if self.leaves[from as usize].flights[to as usize].is_due(network.now_ps()) {
                self.fly(from, to, network);
            }
            return;
        }
        let alarm_ps = &mut self.leaves[from as usize].alarm_ps[to as usize];
        if *alarm_ps == network.now_ps() {
            *alarm_ps = NEVER_PS;
            self.ask(from, to, network);
        }
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        self.source.learn(links);
        let now_ns = network.now_ns();
        for from in 0..self.source.leaves() {
            for to in 0..self.source.leaves() {
                let table = &mut self.leaves[from as usize].table;
                if table.is_in_use(to) {
                    let living = &self.source.routes(from, to).live;
                    table.purge(&self.parameters.sampling, to, living, now_ns);
                }
            }
        }
    }
}
