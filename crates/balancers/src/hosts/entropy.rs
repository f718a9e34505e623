//! Hosts that choose what switches hash.
//!
//! The entropy value of a packet travels in its tag, and back in that of its acknowledgement ([`Returned`]), from which the
//! sending host learns. How many bytes were acknowledged and how many of them were marked it reads, as a kernel does, from
//! the number and the echo in the acknowledgement.

use crate::hosts::host_env::{HostEnv, HostStreams};
use crate::hosts::per_connection::PerConnection;
use crate::hosts::returned::{Answers, Returned};
use anabranch_sim::{Address, HostBalancer, Kind, Network, Opened, Packet, marks};
use anabranch_split::picks::acknowledgement::{Acknowledged, Feedback, Round};
use anabranch_split::picks::mix;
use anabranch_split::{Pick, picks};

/// A scheme that picks an entropy value for each packet of a flow.
pub(crate) trait Spraying: Pick<Plan: Clone, State: Sized, Feedback = Feedback> {
    /// The state of a flow that begins.
    fn begin(plan: &Self::Plan) -> Self::State;
}

/// A rule that gives the packets of each connection their entropy values.
pub(crate) trait EntropyRule {
    /// The state of a connection, at its sender.
    type State;

    /// A connection opens, with its first flow.
    fn open(&mut self, flow: &Opened, env: &mut HostEnv<'_>) -> Self::State;

    /// Another flow begins on a connection that is open.
    fn resume(&mut self, _state: &mut Self::State, _flow: &Opened) {}

    /// The value of a packet that leaves the sender.
    fn value(&mut self, state: &mut Self::State, packet: &Packet, env: &mut HostEnv<'_>) -> u16;

    /// Feedback came: with an acknowledgement the time since the packet that caused it was sent.
    fn learn(&mut self, state: &mut Self::State, feedback: &Feedback, rtt_ns: u32, env: &mut HostEnv<'_>);

    /// A connection ended.
    fn close(&mut self, _connection: u32) {}
}

/// The rule of a scheme of the house: its plan.
pub(crate) struct Picks<S: Spraying>(pub(crate) S::Plan);

impl<S: Spraying> EntropyRule for Picks<S> {
    type State = S::State;

    fn open(&mut self, _flow: &Opened, _env: &mut HostEnv<'_>) -> S::State {
        S::begin(&self.0)
    }

    fn value(&mut self, state: &mut S::State, packet: &Packet, env: &mut HostEnv<'_>) -> u16 {
        let mut asked = picks::Packet { bytes: packet.frame_bytes.into(), ..picks::Packet::default() };
        picks::pick::<S, _>(&self.0, state, &mut asked, env)
    }

    fn learn(&mut self, state: &mut S::State, feedback: &Feedback, _rtt_ns: u32, env: &mut HostEnv<'_>) {
        S::learn(&self.0, state, feedback, env);
    }
}

/// A connection at its sender.
struct Sending<T> {
    host: u32,
    /// The rule's.
    state: T,
    round: Round,
    /// First byte that was never sent.
    next: u64,
    /// First byte that is not acknowledged.
    unacknowledged: u64,
}

/// A connection at its receiver.
#[derive(Default)]
struct Receiving {
    answers: Answers,
    /// Entropy value of acknowledgements that name no packet.
    back: u16,
    /// Entropy value of the last credit.
    credit: u16,
    /// End of the last packet that arrived although it was acknowledged before, and its entropy value.
    repeated: (u64, u16),
}

impl Receiving {
    /// Entropy value of an answer whose tag is written. One that names a packet takes that of its packet, and credits take
    /// all in turn, as in uet-htsim (`UecSink::sack`, `nack` and `nextEntropy`): no path is lost to a connection's answers for
    /// good.
    fn value(&mut self, answer: &Packet) -> u16 {
        match (answer.kind, Returned::read(answer.tag)) {
            (Kind::Sack | Kind::Nack, Some(cause)) => cause.value,
            (Kind::Credit, _) => {
                self.credit = self.credit.wrapping_add(1);
                self.credit
            }
            _ => self.back,
        }
    }
}

/// Hosts that give packets the values of a rule.
pub(crate) struct EntropyHosts<R: EntropyRule> {
    rule: R,
    sending: PerConnection<Sending<R::State>>,
    receiving: PerConnection<Receiving>,
    streams: HostStreams,
}

impl<R: EntropyRule> EntropyHosts<R> {
    pub(crate) fn new(rule: R, hosts: u32, seed: u64) -> Self {
        Self {
            rule,
            sending: PerConnection::default(),
            receiving: PerConnection::default(),
            streams: HostStreams::new(hosts, seed),
        }
    }
}

/// Hash that switches take of a flow's packets that carry this value; the value zero changes nothing.
pub(crate) fn hashed(of_flow: u32, value: u16) -> u32 {
    if value == 0 { of_flow } else { mix::finalise(mix::absorb(of_flow, value.into())) }
}

impl<R: EntropyRule> HostBalancer for EntropyHosts<R> {
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        if packet.kind.is_answer() {
            let Some(receiving) = self.receiving.get(packet.connection) else { return };
            receiving.answers.write(packet);
            packet.entropy = hashed(from.entropy, receiving.value(packet));
            return;
        }
        let Some(sending) = self.sending.get(packet.connection) else { return };
        let value = self.rule.value(&mut sending.state, packet, &mut self.streams.at(from.host, network));
        packet.tag = value.into();
        packet.entropy = hashed(from.entropy, value);
        sending.next = sending.next.max(packet.seq + u64::from(packet.payload_bytes));
    }

    fn opened(&mut self, host: u32, flow: &Opened, network: &mut Network) {
        if host != flow.src {
            self.receiving.open(flow.connection, Receiving::default);
        } else if flow.fresh {
            let state = self.rule.open(flow, &mut self.streams.at(host, network));
            let new = || Sending { host, state, round: Round::default(), next: 0, unacknowledged: 0 };
            self.sending.open(flow.connection, new);
        } else if let Some(sending) = self.sending.get(flow.connection) {
            self.rule.resume(&mut sending.state, flow);
        }
    }

    fn receive(&mut self, host: u32, packet: &mut Packet, network: &mut Network) {
        if packet.marks & marks::LABELLED != 0 {
            // Of a flow that is pinned to a path: it is not asked about, nor are its acknowledgements.
            return;
        }
        match packet.kind {
            Kind::Data | Kind::Syn => {
                let Some(receiving) = self.receiving.get(packet.connection) else { return };
                if receiving.answers.note(packet) {
                    let (end, value) = (packet.seq + u64::from(packet.payload_bytes), packet.tag as u16);
                    // The same again, by another path: it is the acknowledgements that are lost. Linux moves them as
                    // well (`tcp_rcv_spurious_retrans`).
                    let (before, by) = std::mem::replace(&mut receiving.repeated, (end, value));
                    receiving.back = receiving.back.wrapping_add(u16::from(before == end && by != value));
                }
            }
            Kind::Ack | Kind::SynAck | Kind::Sack | Kind::Nack => {
                let Some(sending) = self.sending.get(packet.connection) else { return };
                let returned = Returned::read(packet.tag);
                if let Some(Returned { value: entropy, trimmed: true, .. }) = returned {
                    let feedback = Feedback::Trimmed { entropy };
                    let mut env = self.streams.at(host, network);
                    return self.rule.learn(&mut sending.state, &feedback, 0, &mut env);
                }
                let bytes = packet.seq.saturating_sub(sending.unacknowledged) as u32;
                sending.unacknowledged = sending.unacknowledged.max(packet.seq);
                let acknowledged = Acknowledged {
                    entropy: returned.map(|returned| returned.value),
                    packet: (packet.kind == Kind::Sack).then(|| packet.arrivals().cause),
                    marked: returned.is_some_and(|returned| returned.marked),
                    bytes,
                    marked_bytes: if packet.marks & marks::ECHO != 0 { bytes } else { 0 },
                    round_ended: sending.round.ended(sending.unacknowledged, sending.next),
                    idle: sending.unacknowledged == sending.next,
                };
                let rtt_ns = (network.now_ns() as u32).wrapping_sub(packet.stamp_ns);
                let mut env = self.streams.at(host, network);
                self.rule.learn(&mut sending.state, &Feedback::Acknowledged(acknowledged), rtt_ns, &mut env);
            }
            Kind::Datagram
            | Kind::Probe
            | Kind::HostProbe
            | Kind::Cnp
            | Kind::Credit
            | Kind::Request
            | Kind::NotReady
            | Kind::Pause => {}
        }
    }

    fn timed_out(&mut self, from: &Address, network: &mut Network) {
        let Some(sending) = self.sending.get(from.connection) else { return };
        let mut env = self.streams.at(from.host, network);
        self.rule.learn(&mut sending.state, &Feedback::TimedOut { entropy: None }, 0, &mut env);
    }

    fn closed(&mut self, host: u32, connection: u32) {
        if self.sending.get(connection).is_some_and(|sending| sending.host == host) {
            self.rule.close(connection);
        }
    }
}
