//! Luopan at work: source leaves sample paths with probes, switches add up backlogs, destination leaves answer.

use crate::luopan::parameters::{Luopan, Metric};
use crate::luopan::pick::probe::{Header, step_bytes};
use crate::luopan::pick::{self, Answer, Entry, Plan, Sample, State};
use crate::switches::source_routes::{Living, PathEnv, SourceRoutes, stream};
use anabranch_fabric::{Fabric, LinkState};
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
    /// Paths of the round that is being sent.
    round: Vec<u16>,
}

struct Leaf {
    cells: FlowTable<(u32, u64)>,
    table: State<Heap>,
    stream: Pcg32,
    /// Time when the table is next asked whether to send probes, by destination.
    alarm_ps: Vec<u64>,
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
            })
            .collect();
        Ok(Self { source, parameters, leaves, round: Vec::new() })
    }

    /// Sends the probes that are due from leaf `from` to leaf `to`, and sets the alarm for the next.
    fn ask(&mut self, from: u32, to: u32, network: &mut Network) {
        let Self { source, parameters, leaves, round } = self;
        let Leaf { table, stream, alarm_ps, .. } = &mut leaves[from as usize];
        let routes = source.routes(from, to);
        if routes.live.len() < 2 {
            return;
        }
        round.clear();
        let mut env = PathEnv::<false> { network, routes, stream };
        let again = table.ask(&parameters.sampling, &routes.live, to, &mut env, |path| round.push(path));
        let alarm_ps = &mut alarm_ps[to as usize];
        let again_ps = again.map_or(NEVER_PS, |again_ns| again_ns.saturating_mul(1000));
        if again_ps < *alarm_ps {
            *alarm_ps = again_ps;
            network.wake_switch(again_ps, source.switch_of(from), to);
        }
        for &path in &*round {
            let header = Header { path: path.into(), is_answer: false, congestion: 0 };
            let probe = Packet {
                seq: header.to_bits().into(),
                tag: source.first_backlog_bytes(from, to, path, network),
                frame_bytes: parameters.probe_bytes,
                ..Packet::default()
            };
            source.probe(from, to, path, probe, network);
        }
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

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Some(from) = self.source.leaf(at.switch) else { return self.source.by_hash(at, id, network) };
        let packet = *network.packet(id);
        let mut asked = self.source.asked(at, &packet, self.parameters.cells.bytes);
        let Leaf { cells, table, stream, alarm_ps } = &mut self.leaves[from as usize];
        let is_quiet = alarm_ps[at.leaf as usize] == NEVER_PS;
        let routes = self.source.routes(from, at.leaf);
        if routes.live.is_empty() {
            return self.source.by_hash(at, id, network);
        }
        let boundary = Idle { boundary: Numbered, idle_ns: self.parameters.cells.idle_ns };
        let plan = Plan { parameters: self.parameters.sampling, paths: Living(&routes.live) };
        let mut env = PathEnv::<false> { network, routes, stream };
        let path = units::pick::<_, Rule<'_>, _, _>(&boundary, &plan, cells, table, &mut asked, &mut env);
        if is_quiet {
            self.ask(from, at.leaf, network);
        }
        self.source.along(from, path, at, id, network)
    }

    fn probe(&mut self, switch: u32, _from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        let probe = *network.packet(id);
        if let Some(port) = onward {
            if !Header::from_bits(probe.seq as u32).is_answer {
                let backlog_bytes = network.backlog_bytes(port);
                network.packet(id).tag = probe.tag.saturating_add(backlog_bytes);
            }
            network.enqueue(port, id);
            return;
        }
        if let Some((here, peer)) = self.source.received(switch, &probe, id, network) {
            self.arrived(here, peer, &probe, network);
        }
    }

    /// The token is the destination.
    fn timer(&mut self, switch: u32, to: u32, network: &mut Network) {
        let Some(from) = self.source.leaf(switch) else { return };
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
