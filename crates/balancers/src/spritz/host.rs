//! Spritz at both ends of connections: paths of packets, what came of them, answers on their way back.

use crate::Settings;
use crate::explicit::switch::Carried;
use crate::hosts::host_env::HostStreams;
use crate::hosts::pairs::Pairs;
use crate::hosts::per_connection::PerConnection;
use crate::hosts::returned::{Answers, Returned};
use crate::hosts::sent::Sent;
use crate::path_book::Route;
use crate::round_trip::between_hosts_ns;
use crate::spritz::pick::{Feedback, Flow, Parameters, Path, Spritz, State};
use anabranch_fabric::{Fabric, PathTable};
use anabranch_sim::{Address, Framing, HostBalancer, Kind, Network, Opened, Packet, marks};
use anabranch_split::{Pick, picks};
use std::sync::Arc;

type Under = Spritz<Box<[Path]>>;

/// One host towards another, behind another leaf.
struct Towards {
    /// Number of the first path of the pair, and how many there are.
    first: u32,
    count: u32,
    /// Number of the pair's paths of least delay, which come first.
    shortest: u32,
    state: State<Box<[Path]>>,
    /// Silence after which new flows begin anew.
    memory_ns: u64,
    /// Number of packets, and of those on longer paths than the shortest.
    packets: u64,
    detours: u64,
}

/// A connection at its sender.
struct Sending {
    pair: u32,
    flow: Flow,
    sent: Sent,
    /// Timeouts whose packets have not been sent again, and when the last one was.
    timeouts: u32,
    timed_out_ns: u64,
}

/// A connection at its receiver.
struct Receiving {
    answers: Answers,
    /// Number of the first path of the pair.
    first: u32,
    /// Path by which a packet arrived last.
    last: Option<u32>,
}

/// All hosts.
pub(super) struct SpritzHosts {
    plan: Parameters,
    table: Arc<PathTable>,
    fabric: Fabric,
    framing: Framing,
    towards: Pairs<Towards>,
    sending: PerConnection<Sending>,
    receiving: PerConnection<Receiving>,
    streams: HostStreams,
}

impl SpritzHosts {
    pub(super) fn new(
        plan: &Parameters,
        table: Arc<PathTable>,
        fabric: &Fabric,
        settings: &Settings,
    ) -> Self {
        Self {
            plan: plan.clone(),
            table,
            fabric: fabric.clone(),
            framing: settings.framing,
            towards: Pairs::default(),
            sending: PerConnection::default(),
            receiving: PerConnection::default(),
            streams: HostStreams::new(fabric.hosts(), settings.seed),
        }
    }

    fn pair(&mut self, host: u32, peer: u32, now_ns: u64) -> u32 {
        let Self { plan, table, fabric, framing, .. } = self;
        self.towards.number(host, peer, || {
            let listed = table.between(fabric, host, peer);
            let delay_ps = |path: u32| -> u64 {
                table.ports(path).iter().map(|&port| fabric.ports()[port as usize].delay_ps).sum()
            };
            let delays: Vec<u64> = listed.clone().map(delay_ps).collect();
            let [least, most] =
                [delays.iter().min(), delays.iter().max()].map(|end| end.copied().unwrap_or(0));
            let paths = listed.clone().zip(&delays);
            let paths = paths.map(|(path, &delay)| Path::new(plan, delay, least, most, table.weight(path)));
            let state = State::new(paths.collect(), now_ns);
            let longest = listed.clone().zip(&delays).find(|&(_, &delay)| delay == most);
            let round_trip_ns = || {
                let ports = longest.map_or(&[][..], |(path, _)| table.ports(path)).into();
                between_hosts_ns(fabric, &[Route { labels: 0, ports }], (host, peer), *framing)
            };
            Towards {
                first: listed.start,
                count: listed.len() as u32,
                shortest: delays.iter().filter(|&&delay| delay == least).count() as u32,
                state,
                memory_ns: plan.memory_ns.unwrap_or_else(round_trip_ns),
                packets: 0,
                detours: 0,
            }
        })
    }

    /// News of a connection's packet.
    fn learn(&mut self, host: u32, connection: u32, feedback: Feedback, network: &Network) {
        let Some(sending) = self.sending.get(connection) else { return };
        let Some(towards) = self.towards.get(sending.pair) else { return };
        towards.state.flow = sending.flow;
        Under::learn(&self.plan, &mut towards.state, &feedback, &mut self.streams.at(host, network));
        sending.flow = towards.state.flow;
    }
}

impl HostBalancer for SpritzHosts {
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        if packet.kind.is_answer() {
            let Some(receiving) = self.receiving.get(packet.connection) else { return };
            receiving.answers.write(packet);
            let answered = Returned::read(packet.tag).map(|cause| receiving.first + u32::from(cause.value));
            // An answer to a request, before any data: by the first path.
            packet.labels = Carried::back(answered.or(receiving.last).unwrap_or(receiving.first)).0;
            return;
        }
        let Some(sending) = self.sending.get(packet.connection) else { return };
        let lost = sending
            .sent
            .blamed(packet.seq)
            .filter(|_| packet.marks & marks::RETRANSMITTED != 0 && sending.timeouts > 0)
            .filter(|&(_, sent_ns)| sent_ns <= sending.timed_out_ns);
        if let Some((path, _)) = lost {
            sending.timeouts -= 1;
            self.learn(from.host, packet.connection, Feedback::TimedOut { path }, network);
        }
        let Some(sending) = self.sending.get(packet.connection) else { return };
        let Some(towards) = self.towards.get(sending.pair).filter(|towards| towards.count > 0) else {
            return;
        };
        let mut env = self.streams.at(from.host, network);
        let mut asked = picks::Packet { bytes: packet.frame_bytes.into(), ..picks::Packet::default() };
        towards.state.flow = sending.flow;
        let path = picks::pick::<Under, _>(&self.plan, &mut towards.state, &mut asked, &mut env);
        sending.flow = towards.state.flow;
        towards.packets += 1;
        towards.detours += u64::from(u32::from(path) >= towards.shortest);
        packet.tag = path.into();
        packet.path = path;
        packet.labels = Carried::forth(towards.first + u32::from(path)).0;
        if packet.payload_bytes > 0 {
            sending.sent.leave(packet.seq, path, network.now_ns());
        }
    }

    fn opened(&mut self, host: u32, flow: &Opened, network: &mut Network) {
        if self.fabric.leaf_of(flow.src) == self.fabric.leaf_of(flow.dst) {
            return;
        }
        if host != flow.src {
            let first = self.table.between(&self.fabric, flow.src, flow.dst).start;
            let new = || Receiving { answers: Answers::default(), first, last: None };
            self.receiving.open(flow.connection, new);
            return;
        }
        let now_ns = network.now_ns();
        let pair = self.pair(host, flow.dst, now_ns);
        let Some(towards) = self.towards.get(pair) else { return };
        let begun = towards.state.begin(&self.plan, flow.size_bytes, towards.memory_ns, now_ns);
        let new = || Sending { pair, flow: begun, sent: Sent::default(), timeouts: 0, timed_out_ns: 0 };
        self.sending.open(flow.connection, new).flow = begun;
    }

    fn receive(&mut self, host: u32, packet: &mut Packet, network: &mut Network) {
        if packet.marks & marks::LABELLED != 0 {
            // Of a flow that is pinned to a path: it is not asked about, nor are its acknowledgements.
            return;
        }
        match packet.kind {
            Kind::Data | Kind::Syn => {
                let Some(receiving) = self.receiving.get(packet.connection) else { return };
                receiving.answers.note(packet);
                receiving.last = Carried(packet.labels).path();
            }
            Kind::Ack | Kind::SynAck | Kind::Sack | Kind::Nack => {
                let Some(sending) = self.sending.get(packet.connection) else { return };
                let Some(Returned { value: path, marked, trimmed }) = Returned::read(packet.tag) else {
                    return;
                };
                if trimmed {
                    sending.sent.excuse(packet.seq);
                    return self.learn(host, packet.connection, Feedback::Trimmed { path }, network);
                }
                sending.sent.acknowledge(packet.seq);
                if packet.kind == Kind::Nack {
                    sending.sent.excuse_behind(packet.seq);
                }
                self.learn(host, packet.connection, Feedback::Arrived { path, marked }, network);
            }
            _ => {}
        }
    }

    fn timed_out(&mut self, from: &Address, network: &mut Network) {
        if let Some(sending) = self.sending.get(from.connection) {
            sending.timeouts += 1;
            sending.timed_out_ns = network.now_ns();
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let sum = |of: fn(&Towards) -> u64| self.towards.iter().map(of).sum();
        vec![
            ("packets whose path a host chose", sum(|towards| towards.packets)),
            ("packets whose path was drawn by weight", sum(|towards| towards.state.counts().1)),
            ("packets on a longer path than the shortest", sum(|towards| towards.detours)),
            (
                "times that a path was blocked because a packet timed out",
                sum(|towards| towards.state.counts().0),
            ),
        ]
    }
}
