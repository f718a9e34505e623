//! Explicit paths at both ends of connections: turns among the listed paths, and probes of all of them.

use super::switch::Carried;
use crate::explicit::pick::{Explicit, Feedback, Parameters, Path, Spread, State};
use crate::hosts::ends::Ends;
use crate::hosts::host_env::HostStreams;
use crate::hosts::pairs::Pairs;
use crate::hosts::per_connection::PerConnection;
use anabranch_fabric::{Fabric, PathTable};
use anabranch_sim::{Address, HostBalancer, Kind, Network, Opened, Packet};
use anabranch_split::{Pick as _, picks};
use std::collections::VecDeque;
use std::sync::Arc;

type Under = Explicit<Box<[Path]>>;

/// Frame of a probe and of its answer: the shortest.
const PROBE_BYTES: u16 = 64;

/// One host towards another, behind another leaf.
struct Towards {
    host: u32,
    peer: u32,
    /// Number of the first listed path, and how many there are.
    first: u32,
    count: u32,
    state: State<Box<[Path]>>,
    /// When probes left of which some may not be answered, and when the next are to leave.
    rounds: VecDeque<u64>,
    next_ns: u64,
    /// Number of open connections.
    open: u32,
    /// Earliest timer that was set, if it has not rung.
    armed_ns: Option<u64>,
}

/// All hosts.
pub(super) struct ExplicitHosts {
    plan: Parameters,
    table: Arc<PathTable>,
    fabric: Fabric,
    towards: Pairs<Towards>,
    /// Path of each connection at each end, where flows keep theirs.
    connections: PerConnection<Ends<Option<u16>>>,
    streams: HostStreams,
}

impl ExplicitHosts {
    pub(super) fn new(plan: &Parameters, table: Arc<PathTable>, fabric: &Fabric, seed: u64) -> Self {
        Self {
            plan: plan.clone(),
            table,
            fabric: fabric.clone(),
            towards: Pairs::default(),
            connections: PerConnection::default(),
            streams: HostStreams::new(fabric.hosts(), seed),
        }
    }

    fn pair(&mut self, host: u32, peer: u32) -> u32 {
        let (table, fabric) = (&self.table, &self.fabric);
        self.towards.number(host, peer, || {
            let listed = table.between(fabric, host, peer);
            let paths = listed.clone().map(|path| Path::new(table.weight(path))).collect();
            Towards {
                host,
                peer,
                first: listed.start,
                count: listed.len() as u32,
                state: State::new(paths),
                rounds: VecDeque::new(),
                next_ns: 0,
                open: 0,
                armed_ns: None,
            }
        })
    }

    fn is_local(&self, host: u32, peer: u32) -> bool {
        self.fabric.leaf_of(host) == self.fabric.leaf_of(peer)
    }

    /// Sends a probe along a path, or the answer to one back along it.
    fn send_probe(&self, (host, peer): (u32, u32), by: Carried, stamp_ns: u32, network: &mut Network) {
        let probe = Packet {
            kind: Kind::HostProbe,
            connection: host,
            destination: peer,
            labels: by.0,
            stamp_ns,
            frame_bytes: PROBE_BYTES,
            ..Packet::default()
        };
        network.send_host_probe(host, self.fabric.ports_of(host)[0], probe);
    }

    /// Does what is due at this time: judges probes whose answers should have come, and sends the next.
    fn watch(&mut self, pair: u32, network: &mut Network) {
        let now_ns = network.now_ns();
        let Some(towards) = self.towards.get(pair) else { return };
        if towards.open == 0 || towards.count == 0 || self.plan.probe_ns == 0 {
            return;
        }
        let (host, peer, listed) = (towards.host, towards.peer, towards.first..towards.first + towards.count);
        let mut env = self.streams.at(host, network);
        while let Some(&sent_ns) = towards.rounds.front()
            && sent_ns.saturating_add(self.plan.timeout_ns) <= now_ns
        {
            towards.rounds.pop_front();
            Under::learn(&self.plan, &mut towards.state, &Feedback::Due { sent_ns }, &mut env);
        }
        let probes = towards.next_ns <= now_ns;
        if probes {
            towards.rounds.push_back(now_ns);
            towards.next_ns = now_ns.saturating_add(self.plan.probe_ns);
        }
        let due_ns = towards.rounds.front().map(|&sent_ns| sent_ns.saturating_add(self.plan.timeout_ns));
        let wake_ns = towards.next_ns.min(due_ns.unwrap_or(u64::MAX));
        if towards.armed_ns.is_none_or(|armed_ns| wake_ns < armed_ns) {
            towards.armed_ns = Some(wake_ns);
            network.wake_host(wake_ns.saturating_mul(1000), host, pair);
        }
        for path in listed.filter(|_| probes) {
            self.send_probe((host, peer), Carried::forth(path), now_ns as u32, network);
        }
    }
}

impl HostBalancer for ExplicitHosts {
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        let (host, peer) = (from.host, from.destination);
        if self.is_local(host, peer) {
            return;
        }
        let pair = self.pair(host, peer);
        let Some(towards) = self.towards.get(pair).filter(|towards| towards.count > 0) else { return };
        let mut env = self.streams.at(host, network);
        let mut asked = picks::Packet { bytes: packet.frame_bytes.into(), ..picks::Packet::default() };
        let mut next = |state: &mut _| picks::pick::<Under, _>(&self.plan, state, &mut asked, &mut env);
        let path = match self.connections.get(from.connection).filter(|_| self.plan.spread == Spread::Flows) {
            Some(ends) => {
                let kept = &mut ends.at(host).kept;
                let path = kept.filter(|&path| !towards.state.is_silent(path));
                *kept.insert(path.unwrap_or_else(|| next(&mut towards.state)))
            }
            None => next(&mut towards.state),
        };
        packet.labels = Carried::forth(towards.first + u32::from(path)).0;
        packet.path = path;
    }

    fn opened(&mut self, host: u32, flow: &Opened, network: &mut Network) {
        let peer = flow.peer(host);
        if !flow.fresh || self.is_local(host, peer) {
            return;
        }
        self.connections.open(flow.connection, || Ends::of(flow));
        let pair = self.pair(host, peer);
        if let Some(towards) = self.towards.get(pair) {
            towards.open += 1;
        }
        self.watch(pair, network);
    }

    fn probe(&mut self, host: u32, packet: &Packet, network: &mut Network) {
        let (carried, peer) = (Carried(packet.labels), packet.connection);
        let Some(path) = carried.path() else { return };
        if !carried.is_back() {
            return self.send_probe((host, peer), Carried::back(path), packet.stamp_ns, network);
        }
        let now_ns = network.now_ns();
        let sent_ns = now_ns.saturating_sub((now_ns as u32).wrapping_sub(packet.stamp_ns).into());
        let pair = self.pair(host, peer);
        let Some(towards) = self.towards.get(pair) else { return };
        let feedback = Feedback::Answered { path: path.wrapping_sub(towards.first) as u16, sent_ns };
        Under::learn(&self.plan, &mut towards.state, &feedback, &mut self.streams.at(host, network));
    }

    /// The token is the number of a pair.
    fn timer(&mut self, _host: u32, pair: u32, network: &mut Network) {
        if let Some(towards) = self.towards.get(pair) {
            towards.armed_ns = None;
        }
        self.watch(pair, network);
    }

    fn closed(&mut self, host: u32, connection: u32) {
        let Some(ends) = self.connections.get(connection) else { return };
        let peer = ends.peer(host);
        if let Some(towards) = self.towards.of(host, peer) {
            towards.open = towards.open.saturating_sub(1);
            if towards.open == 0 {
                towards.rounds.clear();
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let sum = |of: fn((u64, u64)) -> u64| self.towards.iter().map(|known| of(known.state.counts())).sum();
        vec![
            ("times that a path was taken out because a probe was not answered", sum(|(silent, _)| silent)),
            ("times that a path came back", sum(|(_, back)| back)),
        ]
    }
}
