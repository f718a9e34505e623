//! Hermes at work in hosts: acknowledgements, retransmissions, timeouts and probes in its own terms.

use crate::hermes::pick::{Feedback, Hermes, Note, Parameters, Path, State};
use crate::hosts::ends::Ends;
use crate::hosts::few_paths::{FewPaths, Fork};
use crate::hosts::host_env::HostStreams;
use crate::hosts::one_flow::OneFlow;
use crate::hosts::pairs::Pairs;
use crate::hosts::per_connection::PerConnection;
use crate::hosts::prober;
use crate::hosts::prober::Prober;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::{Address, HostBalancer, Kind, Network, Opened, Packet, SimulationError, marks};
use anabranch_split::picks::Pick;
use anabranch_split::picks::relay::PATHS;
use anabranch_split::{Env, Still, picks, random_below};

type Flow = OneFlow<Note>;
type Under = Hermes<Flow, Box<[Path]>>;
type Known = State<Flow, Box<[Path]>>;

/// One host towards one rack.
struct Towards {
    host: u32,
    /// Pair of leaves, as [`FewPaths::pair`] numbers them.
    pair: u32,
    known: Known,
}

/// One rack towards another: who probes, and what was found, for hosts that are yet to begin.
struct Rack {
    prober: Prober,
    found: Known,
}

/// State at an end of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    flow: Flow,
    /// Sequence number of the last retransmission that arrived.
    again: Option<u64>,
}

/// All hosts.
pub(crate) struct HermesHosts {
    plan: Parameters,
    paths: FewPaths,
    /// State of each pair of leaves.
    racks: Vec<Option<Rack>>,
    /// State of each host towards each leaf.
    towards: Pairs<Towards>,
    flows: PerConnection<Ends<Kept>>,
    streams: HostStreams,
    /// Port of each host.
    port_of: Box<[u32]>,
}

impl HermesHosts {
    pub(crate) const NEEDS: u32 = Under::NEEDS;

    /// # Errors
    /// A fabric whose paths labels do not hold.
    pub(crate) fn new(plan: &Parameters, fabric: &Fabric, seed: u64) -> Result<Self, SimulationError> {
        let paths = FewPaths::new(fabric)?;
        let pairs = (paths.leaves() * paths.leaves()) as usize;
        let port_of: Box<[u32]> = (0..fabric.hosts()).map(|host| fabric.ports_of(host)[0]).collect();
        let slowest = port_of.iter().map(|&port| fabric.ports()[port as usize].rate.bps()).min();
        Ok(Self {
            plan: Parameters { link_bps: slowest.unwrap_or(plan.link_bps), ..plan.clone() },
            paths,
            racks: std::iter::repeat_with(|| None).take(pairs).collect(),
            towards: Pairs::default(),
            flows: PerConnection::default(),
            streams: HostStreams::new(fabric.hosts(), seed),
            port_of,
        })
    }

    /// The rack of `from` begins to send to that of `to`: `from` probes for it from now on.
    fn begin_to_probe(&mut self, from: u32, to: u32, network: &mut Network) {
        let Some(pair) = self.paths.pair(from, to) else { return };
        if self.racks[pair as usize].is_some() {
            return;
        }
        let found = nothing(self.paths.few(pair).labels.len());
        self.racks[pair as usize] = Some(Rack { prober: Prober::new(from), found });
        if self.plan.probe_interval_ns > 0 {
            network.wake_host(network.now_ps(), from, pair);
        }
    }

    /// Something became of what `host` sent over a connection.
    fn learn(
        &mut self,
        connection: u32,
        host: u32,
        what: impl FnOnce(u64, u32) -> Feedback,
        network: &Network,
    ) {
        let Some(ends) = self.flows.get(connection) else { return };
        let peer = ends.peer(host);
        let half = ends.at(host);
        let Some(towards) = self.towards.get(half.pair) else { return };
        let alive = self.paths.few(towards.pair).alive;
        let mut env = Fork { host: self.streams.at(host, network), alive };
        let feedback = what(connection.into(), peer);
        let flow = &mut half.kept.flow;
        std::mem::swap(&mut towards.known.flows, flow);
        Under::learn(&self.plan, &mut towards.known, &feedback, &mut env);
        std::mem::swap(&mut towards.known.flows, flow);
    }
}

fn nothing(paths: usize) -> Known {
    State::new(Flow::default(), vec![Path::default(); paths].into())
}

impl HostBalancer for HermesHosts {
    /// Acknowledgements are a flow too: the receiver's rack begins to probe as the sender's does.
    fn opened(&mut self, host: u32, flow: &Opened, network: &mut Network) {
        if flow.fresh {
            self.flows.open(flow.connection, || Ends::of(flow));
        }
        self.begin_to_probe(host, flow.peer(host), network);
    }

    #[inline]
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        let Some(pair) = self.paths.pair(from.host, from.destination) else { return };
        let few = self.paths.few(pair);
        let (alive, count) = (few.alive, few.labels.len());
        if alive == 0 {
            return;
        }
        let Some(ends) = self.flows.get(from.connection) else { return };
        let rack = self.racks[pair as usize].as_ref();
        let new = || Towards {
            host: from.host,
            pair,
            known: rack.map_or_else(|| nothing(count), |rack| rack.found.clone()),
        };
        let leaf = self.paths.leaf_of(from.destination);
        ends.at(from.host).pair(|| self.towards.number(from.host, leaf, new));
        if packet.kind == Kind::Data && packet.marks & marks::RETRANSMITTED != 0 {
            self.learn(from.connection, from.host, |flow, _| Feedback::Retransmitted(flow), network);
        }
        let Some(ends) = self.flows.get(from.connection) else { return };
        let half = ends.at(from.host);
        let Some(Towards { known, .. }) = self.towards.get(half.pair) else { return };
        let flow = &mut half.kept.flow;
        let mut asked = picks::Packet {
            flow: from.connection.into(),
            bytes: u32::from(packet.frame_bytes),
            destination: from.destination,
            ..picks::Packet::default()
        };
        let mut env = Fork { host: self.streams.at(from.host, network), alive };
        std::mem::swap(&mut known.flows, flow);
        let path = picks::pick::<Under, _>(&self.plan, known, &mut asked, &mut env);
        std::mem::swap(&mut known.flows, flow);
        if let Some(&labels) = self.paths.few(pair).labels.get(usize::from(path)) {
            packet.labels = labels;
            packet.marks |= marks::LABELLED;
        }
    }

    #[inline]
    fn receive(&mut self, host: u32, packet: &mut Packet, network: &mut Network) {
        let again = packet.marks & marks::RETRANSMITTED != 0;
        match packet.kind {
            kind if kind.is_answer() => {
                let now_ns = network.now_ns();
                let sent_ns = now_ns.saturating_sub((now_ns as u32).wrapping_sub(packet.stamp_ns).into());
                let marked = packet.marks & marks::ECHO != 0;
                let what = |flow, destination| Feedback::Acknowledged {
                    flow,
                    destination,
                    sent_ns,
                    timed: !again,
                    marked,
                };
                self.learn(packet.connection, host, what, network);
            }
            Kind::Data if again => {
                // The same again: what acknowledged it before does not arrive.
                let Some(ends) = self.flows.get(packet.connection) else { return };
                let before = ends.at(host).kept.again.replace(packet.seq);
                if before == Some(packet.seq) {
                    let what = |flow, destination| Feedback::TimedOut { flow, destination };
                    self.learn(packet.connection, host, what, network);
                }
            }
            _ => {}
        }
    }

    fn probe(&mut self, host: u32, packet: &Packet, network: &mut Network) {
        let Some(finding) = prober::read(packet, network) else {
            let entropy = self.streams.at(host, network).random_u32();
            prober::answer((host, self.port_of[host as usize]), packet, entropy, network);
            return;
        };
        let Some(pair) = self.paths.pair(host, packet.connection) else { return };
        let Some(rack) = &mut self.racks[pair as usize] else { return };
        rack.prober.hear(finding);
        let prober::Finding { path, rtt_ns, marked } = finding;
        let probed = Feedback::Probed { path, rtt_ns, marked };
        let alive = self.paths.few(pair).alive;
        let mut env = Fork { host: self.streams.at(host, network), alive };
        Under::learn(&self.plan, &mut rack.found, &probed, &mut env);
        let to = self.paths.leaf_of(packet.connection);
        for neighbour in self.paths.hosts_of(self.paths.leaf_of(host)) {
            if let Some(towards) = self.towards.of(neighbour, to) {
                Under::learn(&self.plan, &mut towards.known, &probed, &mut env);
            }
        }
    }

    /// The token is a pair of leaves.
    fn timer(&mut self, host: u32, pair: u32, network: &mut Network) {
        let Some(Rack { prober, .. }) = &mut self.racks[pair as usize] else { return };
        let targets: Vec<u32> = self.paths.hosts_of(pair % self.paths.leaves()).collect();
        let few = self.paths.few(pair);
        let mut env = Fork { host: self.streams.at(host, network), alive: few.alive };
        let to = targets[random_below(&mut env, targets.len() as u32) as usize];
        for path in prober.round(&mut env) {
            prober::ask((host, self.port_of[host as usize]), to, path, few, network);
        }
        network.wake_host(network.now_ps() + self.plan.probe_interval_ns * 1000, host, pair);
    }

    fn timed_out(&mut self, from: &Address, network: &mut Network) {
        let what = |flow, destination| Feedback::TimedOut { flow, destination };
        self.learn(from.connection, from.host, what, network);
    }

    fn closed(&mut self, host: u32, connection: u32) {
        let Some(ends) = self.flows.get(connection) else { return };
        let half = ends.at(host);
        let Some(Towards { known, .. }) = self.towards.get(half.pair) else { return };
        let flow = &mut half.kept.flow;
        std::mem::swap(&mut known.flows, flow);
        // Neither needs a clock.
        Under::learn(&self.plan, known, &Feedback::Closed(connection.into()), &mut Still);
        Under::tick(&self.plan, known, &mut Still);
        std::mem::swap(&mut known.flows, flow);
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        let changed = self.paths.learn(links);
        let found = (0..)
            .zip(&mut self.racks)
            .filter_map(|(pair, rack)| rack.as_mut().map(|rack| (rack.prober.host, pair, &mut rack.found)));
        let towards = self.towards.iter_mut().map(|towards| (towards.host, towards.pair, &mut towards.known));
        for (host, pair, known) in found.chain(towards) {
            let alive = self.paths.few(pair).alive;
            let mut env = Fork { host: self.streams.at(host, network), alive };
            for path in (0..PATHS as u16).filter(|path| changed[pair as usize] >> path & 1 != 0) {
                let up = env.up(path);
                Under::port_changed(&self.plan, known, path, up, &mut env);
            }
        }
    }
}
