//! The sending half.

use super::Uec;
use crate::transport::alarm::Alarm;
use crate::transport::control::{Answer, CongestionControl, PathFacts, Unlimited};
use crate::transport::{Host, SenderCounters};
use crate::{Framing, Kind, Packet, marks};
use std::collections::{BTreeSet, VecDeque};

/// What is known of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    /// Trimmed or timed out, to be sent again.
    Missing,
    Arrived,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at_ps: u64,
    frame_bytes: u16,
    state: State,
    /// Times that it was sent again.
    again: u32,
}

/// Timeouts in a row that double the time to the next: a path that is gone is asked for less and less.
const DOUBLINGS: u32 = 6;

/// The sending half. Packets are numbered from zero.
pub struct UecSender {
    /// First packet that is not acknowledged, and what is known of it and those after it.
    first: u64,
    sent: VecDeque<Sent>,
    /// When packets were sent, in order: of packets that were sent again, or have arrived, entries are stale.
    log: VecDeque<(u64, u64)>,
    missing: BTreeSet<u64>,
    /// Payload of a full packet, of all, and the number of packets.
    payload_bytes: u64,
    size_bytes: u64,
    packets: u64,
    /// Bytes of frames in flight: what the receiver says that arrived, it says in sums.
    in_flight: i64,
    arrived_bytes: u32,
    law: Box<dyn CongestionControl + Send>,
    /// Rounds of timeouts since the last answer.
    silent: u32,
    alarm: Alarm,
    /// Counters so far.
    pub counters: SenderCounters,
}

impl Default for UecSender {
    fn default() -> Self {
        Self {
            first: 0,
            sent: VecDeque::new(),
            log: VecDeque::new(),
            missing: BTreeSet::new(),
            payload_bytes: 1,
            size_bytes: 0,
            packets: 0,
            in_flight: 0,
            arrived_bytes: 0,
            law: Box::new(Unlimited),
            silent: 0,
            alarm: Alarm::default(),
            counters: SenderCounters::default(),
        }
    }
}

impl UecSender {
    /// Sends a message of so many bytes.
    pub fn begin<H: Host>(&mut self, uec: &Uec, framing: Framing, bytes: u64, host: &mut H) {
        self.payload_bytes = uec.payload_bytes_max.unwrap_or(framing.payload_bytes_max).into();
        self.size_bytes = bytes;
        self.packets = bytes.div_ceil(self.payload_bytes);
        self.law = uec.law.begin(&PathFacts {
            rate_bps: host.link_bps(),
            rtt_ps: uec.rtt_ps,
            frame_bytes: framing.frame_bytes(self.payload_bytes as u16).into(),
            header_bytes: framing.header_bytes.into(),
            began_ps: host.now_ps(),
        });
        self.transmit(uec, framing, host);
    }

    /// Whether all is acknowledged.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.first == self.packets
    }

    /// Bytes of frames that congestion control would have in flight.
    #[must_use]
    pub fn window_bytes(&self) -> u64 {
        self.law.window_bytes()
    }

    /// Takes an answer.
    pub fn receive<H: Host>(&mut self, uec: &Uec, framing: Framing, packet: &Packet, host: &mut H) {
        self.silent = 0;
        match packet.kind {
            Kind::Sack => self.acknowledge(packet, host.now_ps()),
            Kind::Nack => self.trimmed(packet.seq / self.payload_bytes, host.now_ps()),
            _ => {}
        }
        self.transmit(uec, framing, host);
    }

    /// A wake-up.
    pub fn wake<H: Host>(&mut self, uec: &Uec, framing: Framing, host: &mut H) {
        self.alarm.rang();
        let now_ps = host.now_ps();
        let timeouts = self.counters.timeouts;
        let rto_ps = self.rto_ps(uec);
        while let Some((at_ps, number)) = self.oldest() {
            if at_ps.saturating_add(rto_ps) > now_ps || host.waits() {
                break;
            }
            self.counters.timeouts += 1;
            host.timed_out();
            let frame_bytes = self.lose(number);
            self.law.on_timeout(now_ps, frame_bytes);
        }
        self.silent += u32::from(self.counters.timeouts > timeouts);
        self.transmit(uec, framing, host);
    }

    /// The host's card has room again.
    pub fn resume<H: Host>(&mut self, uec: &Uec, framing: Framing, host: &mut H) {
        self.transmit(uec, framing, host);
    }

    /// Timeout of a packet now.
    fn rto_ps(&self, uec: &Uec) -> u64 {
        uec.rto_ps.saturating_mul(1 << self.silent.min(DOUBLINGS))
    }

    fn of(&mut self, number: u64) -> Option<&mut Sent> {
        self.sent.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// The packet in flight that was sent first.
    fn oldest(&mut self) -> Option<(u64, u64)> {
        while let Some(&(at_ps, number)) = self.log.front() {
            let waits = |sent: &mut Sent| sent.state == State::InFlight && sent.at_ps == at_ps;
            if self.of(number).is_some_and(waits) {
                return Some((at_ps, number));
            }
            self.log.pop_front();
        }
        None
    }

    fn acknowledge(&mut self, packet: &Packet, now_ps: u64) {
        let arrivals = packet.arrivals();
        // An acknowledgement that was overtaken says nothing new.
        let newly = arrivals.frame_bytes.wrapping_sub(self.arrived_bytes) as i32;
        let bytes = newly.max(0) as u64;
        self.arrived_bytes = self.arrived_bytes.wrapping_add(bytes as u32);
        self.in_flight -= bytes as i64;
        let echoes_again = packet.marks & marks::RETRANSMITTED != 0;
        let rtt_ps = self
            .of(arrivals.cause.into())
            .filter(|sent| sent.state == State::InFlight && sent.again == u32::from(echoes_again))
            .map(|sent| now_ps - sent.at_ps);
        let expected = packet.seq;
        while self.first < expected {
            self.arrived(self.first);
            self.sent.pop_front();
            self.first += 1;
        }
        let mut bits = arrivals.bits;
        while bits != 0 {
            self.arrived(u64::from(arrivals.base) + u64::from(bits.trailing_zeros()));
            bits &= bits - 1;
        }
        let next = (self.first + self.sent.len() as u64) * self.payload_bytes;
        self.law.on_ack(&Answer {
            now_ps,
            bytes,
            marked: packet.marks & marks::ECHO != 0,
            rtt_ps,
            una: self.first * self.payload_bytes,
            next,
            in_flight_bytes: self.in_flight.max(0) as u64,
            hops: &[],
        });
    }

    fn arrived(&mut self, number: u64) {
        let Some(sent) = self.of(number) else { return };
        let before = std::mem::replace(&mut sent.state, State::Arrived);
        let frame_bytes = i64::from(sent.frame_bytes);
        if before == State::Missing {
            // It was taken off when it was believed lost, and again by the receiver's sum.
            self.missing.remove(&number);
            self.in_flight += frame_bytes;
        }
    }

    /// Only its header arrived.
    fn trimmed(&mut self, number: u64, now_ps: u64) {
        let Some(sent) = self.of(number).filter(|sent| sent.state == State::InFlight) else { return };
        let (rtt_ps, bytes) = (now_ps - sent.at_ps, u64::from(sent.frame_bytes));
        let in_flight_bytes = self.in_flight.max(0) as u64;
        self.law.on_trim(now_ps, bytes, rtt_ps, in_flight_bytes);
        self.lose(number);
    }

    /// It is to be sent again. Bytes of its frame.
    fn lose(&mut self, number: u64) -> u64 {
        let Some(sent) = self.of(number) else { return 0 };
        sent.state = State::Missing;
        let frame_bytes = sent.frame_bytes;
        self.in_flight -= i64::from(frame_bytes);
        self.missing.insert(number);
        frame_bytes.into()
    }

    /// Sends what window and card allow: what is missing first.
    fn transmit<H: Host>(&mut self, uec: &Uec, framing: Framing, host: &mut H) {
        loop {
            let fresh = self.first + self.sent.len() as u64;
            let number = self.missing.first().copied().unwrap_or(fresh);
            if number == self.packets {
                break;
            }
            let first = number * self.payload_bytes;
            let payload = self.payload_bytes.min(self.size_bytes - first) as u16;
            let frame_bytes = framing.frame_bytes(payload);
            let window = i64::try_from(self.law.window_bytes()).unwrap_or(i64::MAX);
            let with = self.in_flight + i64::from(frame_bytes);
            if with > window.max(frame_bytes.into()) || !host.room(frame_bytes) {
                break;
            }
            let again = number < fresh;
            self.in_flight = with;
            let last = number + 1 == self.packets;
            let asks = again || last || with.saturating_add(frame_bytes.into()) >= window;
            let now_ps = host.now_ps();
            host.send(Packet {
                seq: first,
                stamp_ns: (now_ps / 1000) as u32,
                frame_bytes,
                payload_bytes: payload,
                kind: Kind::Data,
                marks: marks::CAPABLE
                    | if again { marks::RETRANSMITTED } else { 0 }
                    | if asks { marks::ASKS } else { 0 },
                ..Packet::default()
            });
            self.log.push_back((now_ps, number));
            if again {
                self.missing.remove(&number);
                if let Some(sent) = self.of(number) {
                    *sent = Sent { at_ps: now_ps, state: State::InFlight, again: sent.again + 1, ..*sent };
                }
            } else {
                self.sent.push_back(Sent { at_ps: now_ps, frame_bytes, state: State::InFlight, again: 0 });
            }
            self.counters.sent_bytes += u64::from(payload);
            self.counters.sent_packets += 1;
            self.counters.retransmitted_packets += u64::from(again);
        }
        let rto_ps = self.rto_ps(uec);
        let due_ps = match self.oldest() {
            None => u64::MAX,
            // What has not left the host is not lost.
            Some((at_ps, _)) if at_ps.saturating_add(rto_ps) <= host.now_ps() => host.now_ps() + rto_ps,
            Some((at_ps, _)) => at_ps.saturating_add(rto_ps),
        };
        self.alarm.set(due_ps, host);
    }
}
