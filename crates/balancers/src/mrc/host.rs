//! MRC at both ends of queue pairs: values of packets and answers, what was lost, probes.

use crate::hosts::entropy::hashed;
use crate::hosts::host_env::HostStreams;
use crate::hosts::pairs::Pairs;
use crate::hosts::per_connection::PerConnection;
use crate::hosts::returned::{Answers, Returned};
use crate::hosts::sent::Sent;
use crate::mrc::pick::{Feedback, Mrc, Parameters, State, Value};
use anabranch_fabric::Fabric;
use anabranch_sim::{Address, HostBalancer, Kind, Network, Opened, Packet, marks};
use anabranch_split::picks::{self, mix};
use anabranch_split::{Env, Pick};

type Under = Mrc<Box<[Value]>>;

/// Frame of a probe and of its answer: the shortest.
const PROBE_BYTES: u16 = 64;

/// Values that arrived last, which answers take in turn: one for each plane of the fabrics that MRC was made for.
const ANSWERED_BY: usize = 8;

/// One host towards another.
struct Towards {
    host: u32,
    peer: u32,
    state: State<Box<[Value]>>,
    /// Values that arrived last, the next to be replaced, and the one whose turn it is.
    working: Vec<u16>,
    replaced: usize,
    turn: usize,
    /// When one arrived last, and how long it was under way and its answer back.
    told_ns: u64,
    rtt_ns: u64,
    /// When a probe for values of answers left that is not answered.
    asked_ns: Option<u64>,
    /// Number of open connections on which the host sends.
    sending: u32,
    /// Earliest timer that was set, if it has not rung.
    armed_ns: Option<u64>,
}

impl Towards {
    fn new(host: u32, peer: u32, plan: &Parameters) -> Self {
        Self {
            host,
            peer,
            state: State::new(vec![Value::default(); plan.entropies as usize].into()),
            working: Vec::new(),
            replaced: 0,
            turn: 0,
            told_ns: 0,
            rtt_ns: 0,
            asked_ns: None,
            sending: 0,
            armed_ns: None,
        }
    }

    /// The next value for data.
    fn value(&mut self, plan: &Parameters, bytes: u16, env: &mut impl Env) -> u16 {
        let mut asked = picks::Packet { bytes: bytes.into(), ..picks::Packet::default() };
        picks::pick::<Under, _>(plan, &mut self.state, &mut asked, env)
    }

    /// The next value for an answer: of those that arrived last, if any did.
    fn answering(&mut self, plan: &Parameters, env: &mut impl Env) -> u16 {
        self.turn = (self.turn + 1) % self.working.len().max(1);
        let known = self.working.get(self.turn).copied();
        known.unwrap_or_else(|| self.value(plan, PROBE_BYTES, env))
    }

    /// A packet or a probe with this value arrived at the other host.
    fn arrived(&mut self, plan: &Parameters, value: u16, marked: bool, stamp_ns: u32, env: &mut impl Env) {
        let now_ns = env.now_ns();
        self.rtt_ns = (now_ns as u32).wrapping_sub(stamp_ns).into();
        self.told_ns = now_ns;
        if !self.working.contains(&value) {
            if self.working.len() < ANSWERED_BY {
                self.working.push(value);
            } else {
                self.working[self.replaced] = value;
                self.replaced = (self.replaced + 1) % ANSWERED_BY;
            }
        }
        let sent_ns = now_ns.saturating_sub(self.rtt_ns);
        Under::learn(plan, &mut self.state, &Feedback::Arrived { value, marked, sent_ns }, env);
    }
}

/// All hosts.
pub(super) struct MrcHosts {
    plan: Parameters,
    towards: Pairs<Towards>,
    /// At the sender of a connection: the pair's number and what is under way.
    sending: PerConnection<(u32, Sent)>,
    /// At the receiver: what is to be answered, and who sends.
    receiving: PerConnection<(Answers, u32)>,
    streams: HostStreams,
    /// Port of each host.
    port_of: Box<[u32]>,
    /// Number of probes of values that were out, and of those for answers.
    probes: u64,
    asked: u64,
}

/// Hash that switches take of packets between two hosts that carry this value: the same for all connections, so that what is
/// known of a value holds for all.
fn entropy(host: u32, peer: u32, value: u16) -> u32 {
    hashed(mix::absorb(mix::absorb(0, host), peer), value)
}

impl MrcHosts {
    pub(super) fn new(plan: &Parameters, fabric: &Fabric, seed: u64) -> Self {
        Self {
            plan: plan.clone(),
            towards: Pairs::default(),
            sending: PerConnection::default(),
            receiving: PerConnection::default(),
            streams: HostStreams::new(fabric.hosts(), seed),
            port_of: (0..fabric.hosts()).map(|host| fabric.ports_of(host)[0]).collect(),
            probes: 0,
            asked: 0,
        }
    }

    fn pair(&mut self, host: u32, peer: u32) -> u32 {
        self.towards.number(host, peer, || Towards::new(host, peer, &self.plan))
    }

    /// Sends a probe with a value, or the answer that `tag` is.
    fn send_probe(
        &mut self,
        (host, peer): (u32, u32),
        value: u16,
        (tag, stamp_ns): (u32, u32),
        network: &mut Network,
    ) {
        let probe = Packet {
            kind: Kind::HostProbe,
            connection: host,
            destination: peer,
            entropy: entropy(host, peer, value),
            marks: marks::CAPABLE,
            tag,
            stamp_ns,
            frame_bytes: PROBE_BYTES,
            ..Packet::default()
        };
        network.send_host_probe(host, self.port_of[host as usize], probe);
    }

    /// Sets a timer for the next probe of a value that is out, while something is sent.
    fn arm(&mut self, pair: u32, network: &mut Network) {
        let Some(towards) = self.towards.get(pair).filter(|towards| towards.sending > 0) else { return };
        let Some(due_ns) = towards.state.next_probe_ns() else { return };
        if towards.armed_ns.is_none_or(|armed_ns| due_ns < armed_ns) {
            towards.armed_ns = Some(due_ns);
            network.wake_host(due_ns.saturating_mul(1000).max(network.now_ps()), towards.host, pair);
        }
    }

    /// Data arrived, and nothing has been heard of values towards the other host for a round trip: answers must not take
    /// dead ones for good.
    fn ask_for_answers(&mut self, host: u32, peer: u32, network: &mut Network) {
        let pair = self.pair(host, peer);
        let now_ns = network.now_ns();
        let Some(towards) = self.towards.get(pair) else { return };
        let waits = towards.asked_ns.is_some_and(|asked_ns| now_ns < asked_ns + self.plan.probe_ns);
        if waits || towards.told_ns > 0 && now_ns < towards.told_ns + towards.rtt_ns {
            return;
        }
        towards.asked_ns = Some(now_ns);
        let value = towards.value(&self.plan, PROBE_BYTES, &mut self.streams.at(host, network));
        self.asked += 1;
        self.send_probe((host, peer), value, (value.into(), now_ns as u32), network);
    }
}

impl HostBalancer for MrcHosts {
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        let (host, peer) = (from.host, from.destination);
        let now_ns = network.now_ns();
        let mut env = self.streams.at(host, network);
        if packet.kind.is_answer() {
            let Some((answers, _)) = self.receiving.get(packet.connection) else { return };
            answers.write(packet);
            let pair = self.pair(host, peer);
            let Some(towards) = self.towards.get(pair) else { return };
            let value = towards.answering(&self.plan, &mut self.streams.at(host, network));
            packet.entropy = entropy(host, peer, value);
            return;
        }
        let Some(&mut (pair, ref mut sent)) = self.sending.get(packet.connection) else { return };
        let Some(towards) = self.towards.get(pair) else { return };
        let value = towards.value(&self.plan, packet.frame_bytes, &mut env);
        packet.tag = value.into();
        packet.entropy = entropy(host, peer, value);
        if packet.payload_bytes == 0 {
            return;
        }
        let before = sent.leave(packet.seq, value, now_ns);
        if packet.marks & marks::RETRANSMITTED == 0 {
            return;
        }
        if let Some((value, sent_ns)) = before {
            Under::learn(&self.plan, &mut towards.state, &Feedback::Lost { value, sent_ns }, &mut env);
            self.arm(pair, network);
        }
    }

    fn opened(&mut self, host: u32, flow: &Opened, network: &mut Network) {
        if host != flow.src {
            self.receiving.open(flow.connection, || (Answers::default(), flow.src));
            return;
        }
        if flow.fresh {
            let pair = self.pair(host, flow.dst);
            self.sending.open(flow.connection, || (pair, Sent::default()));
            if let Some(towards) = self.towards.get(pair) {
                towards.sending += 1;
            }
            self.arm(pair, network);
        }
    }

    fn receive(&mut self, host: u32, packet: &mut Packet, network: &mut Network) {
        if packet.marks & marks::LABELLED != 0 {
            // Of a flow that is pinned to a path: it is not asked about, nor are its acknowledgements.
            return;
        }
        match packet.kind {
            Kind::Data | Kind::Syn => {
                let Some(&mut (ref mut answers, peer)) = self.receiving.get(packet.connection) else {
                    return;
                };
                answers.note(packet);
                self.ask_for_answers(host, peer, network);
            }
            Kind::Ack | Kind::SynAck | Kind::Sack | Kind::Nack => {
                let Some(&mut (pair, ref mut sent)) = self.sending.get(packet.connection) else { return };
                let Some(towards) = self.towards.get(pair) else { return };
                let Some(Returned { value, marked, trimmed }) = Returned::read(packet.tag) else { return };
                let mut env = self.streams.at(host, network);
                if trimmed {
                    sent.excuse(packet.seq);
                    // The port to the receiver is on every path.
                    if !packet.trimmed_last() {
                        Under::learn(&self.plan, &mut towards.state, &Feedback::Trimmed { value }, &mut env);
                    }
                    return;
                }
                sent.acknowledge(packet.seq);
                if packet.kind == Kind::Nack {
                    sent.excuse_behind(packet.seq);
                }
                towards.arrived(&self.plan, value, marked, packet.stamp_ns, &mut env);
            }
            _ => {}
        }
    }

    fn probe(&mut self, host: u32, packet: &Packet, network: &mut Network) {
        let peer = packet.connection;
        let pair = self.pair(host, peer);
        let Some(towards) = self.towards.get(pair) else { return };
        let mut env = self.streams.at(host, network);
        if let Some(Returned { value, marked, .. }) = Returned::read(packet.tag) {
            towards.asked_ns = None;
            return towards.arrived(&self.plan, value, marked, packet.stamp_ns, &mut env);
        }
        let by = towards.answering(&self.plan, &mut env);
        self.send_probe((host, peer), by, (Returned::of(packet).tag(), packet.stamp_ns), network);
    }

    /// The token is the number of a pair.
    fn timer(&mut self, host: u32, pair: u32, network: &mut Network) {
        let now_ns = network.now_ns();
        let Some(towards) = self.towards.get(pair) else { return };
        towards.armed_ns = None;
        while let Some(towards) = self.towards.get(pair).filter(|towards| towards.sending > 0) {
            let peer = towards.peer;
            let Some(value) = towards.state.due(&self.plan, now_ns) else { break };
            self.probes += 1;
            self.send_probe((host, peer), value, (value.into(), now_ns as u32), network);
        }
        self.arm(pair, network);
    }

    fn closed(&mut self, host: u32, connection: u32) {
        let Some(&mut (pair, _)) = self.sending.get(connection) else { return };
        if let Some(towards) = self.towards.get(pair).filter(|towards| towards.host == host) {
            towards.sending = towards.sending.saturating_sub(1);
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let sum = |of: fn((u64, u64)) -> u64| self.towards.iter().map(|known| of(known.state.counts())).sum();
        vec![
            ("times that an entropy value was taken out because a packet was lost", sum(|(out, _)| out)),
            ("times that an entropy value came back", sum(|(_, back)| back)),
            ("probes of entropy values that were out", self.probes),
            ("probes for entropy values of answers", self.asked),
        ]
    }
}
