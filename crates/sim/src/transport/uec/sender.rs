//! The sending half.

mod answers;
mod requests;

use super::Uec;
use super::credit::{Backlog, Credit};
use crate::transport::alarm::Alarm;
use crate::transport::control::{CongestionControl, Kept, SharedLaw, Unlimited};
use crate::transport::{Bounds, Host, SenderCounters, SendingHalf};
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
    /// When it was sent for the first time, and the last.
    first_ps: u64,
    at_ps: u64,
    frame_bytes: u16,
    state: State,
    /// Times that it was sent again.
    again: u32,
}

/// When a packet was sent, and when it began to leave its host: from then on it may be lost.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at_ps: u64,
    leaves_ps: u64,
    number: u64,
}

/// Timeouts in a row that double the time to the next: a path that is gone is asked for less and less.
const DOUBLINGS: u32 = 6;

/// The sending half. Packets are numbered from zero.
pub(crate) struct UecSender {
    /// First packet that is not acknowledged, and what is known of it and those after it.
    first: u64,
    sent: VecDeque<Sent>,
    /// Packets in the order in which they were sent: of those that were sent again, or have arrived, entries are stale.
    log: VecDeque<Departure>,
    missing: BTreeSet<u64>,
    /// Bytes of frames of the missing.
    missing_bytes: u64,
    /// Payload of a full packet, of all, and the number of packets.
    payload_bytes: u64,
    size_bytes: u64,
    packets: u64,
    /// Bytes of frames in flight: what the receiver says that arrived, it says in sums.
    in_flight: i64,
    arrived_bytes: u32,
    law: Box<dyn CongestionControl + Send>,
    /// Round trip measured last; that of the empty fabric before the first.
    rtt_ps: u64,
    /// Payload of the messages before on the same context.
    sent_before: u64,
    /// Credit of the receiver, where the transport needs it.
    credit: Option<Credit>,
    /// Rounds of timeouts of packets that had been sent again, since the last answer: each doubles the timeout.
    silent: u32,
    /// Least timeout: twice the longest round trip of a packet that was called lost before it arrived.
    least_rto_ps: u64,
    alarm: Alarm,
    counters: SenderCounters,
}

impl Default for UecSender {
    fn default() -> Self {
        Self {
            first: 0,
            sent: VecDeque::new(),
            log: VecDeque::new(),
            missing: BTreeSet::new(),
            missing_bytes: 0,
            payload_bytes: 1,
            size_bytes: 0,
            packets: 0,
            in_flight: 0,
            arrived_bytes: 0,
            law: Box::new(Unlimited),
            rtt_ps: 0,
            sent_before: 0,
            credit: None,
            silent: 0,
            least_rto_ps: 0,
            alarm: Alarm::default(),
            counters: SenderCounters::default(),
        }
    }
}

impl SendingHalf<Uec> for UecSender {
    fn begin<H: Host>(&mut self, uec: &Uec, framing: Framing, bytes: u64, kept: Option<Kept>, host: &mut H) {
        self.payload_bytes = uec.payload_bytes_max.unwrap_or(framing.payload_bytes_max).into();
        self.size_bytes = bytes;
        self.packets = bytes.div_ceil(self.payload_bytes);
        let path = uec.path(framing, host);
        self.rtt_ps = path.rtt_ps;
        Kept { law: self.law, sent_bytes: self.sent_before, .. } = Kept::or_begin(kept, &uec.law, &path);
        self.credit = uec
            .credits
            .map(|credits| Credit::new(credits.most(path.bdp_bytes(), path.frame_bytes), path.began_ps));
        self.transmit(uec, framing, host);
    }

    fn receive<H: Host>(&mut self, uec: &Uec, framing: Framing, packet: &Packet, host: &mut H) {
        self.silent = 0;
        let now_ps = host.now_ps();
        if let Some(credit) = &mut self.credit {
            credit.hear(now_ps);
        }
        match (packet.kind, &mut self.credit) {
            (Kind::Sack, _) => self.acknowledge(packet, now_ps),
            (Kind::Nack, _) => self.trimmed(packet, now_ps),
            (Kind::Credit, Some(credit)) => credit.grant(packet.seq),
            _ => {}
        }
        self.transmit(uec, framing, host);
    }

    fn wake<H: Host>(&mut self, uec: &Uec, framing: Framing, host: &mut H) {
        self.alarm.rang();
        let now_ps = host.now_ps();
        let timeouts = self.counters.timeouts;
        let mut in_vain = false;
        let rto_ps = self.rto_ps(uec);
        while let Some((left_ps, number)) = self.oldest() {
            if left_ps.saturating_add(rto_ps) > now_ps || host.waits() {
                break;
            }
            self.counters.timeouts += 1;
            in_vain |= self.of(number).is_some_and(|sent| sent.again > 0);
            host.timed_out();
            if let Some(credit) = self.credit.as_mut().filter(|_| !self.missing.is_empty()) {
                credit.stop_speculating();
            }
            let frame_bytes = self.lose(number);
            self.law.on_timeout(now_ps, frame_bytes);
        }
        self.silent += u32::from(in_vain);
        self.transmit(uec, framing, host);
        self.request(uec, framing, self.counters.timeouts > timeouts, host);
    }

    fn resume<H: Host>(&mut self, uec: &Uec, framing: Framing, host: &mut H) {
        self.transmit(uec, framing, host);
    }

    fn is_idle(&self) -> bool {
        self.first == self.packets
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }

    fn bounds(&self, uec: &Uec) -> Bounds {
        Bounds {
            window_bytes: self.window_bytes(),
            rate_bps: u64::MAX,
            rtt_ps: self.rtt_ps,
            empty_rtt_ps: uec.rtt_ps,
        }
    }

    fn is_sent(&self, _: &Uec) -> bool {
        self.first + self.sent.len() as u64 == self.packets
    }

    fn share(&mut self, _: &Uec, _: Framing) -> Option<Kept> {
        let law = SharedLaw::split(&mut self.law, self.in_flight.max(0) as u64);
        Some(self.kept(law))
    }

    fn leave(&mut self) -> Option<Kept> {
        let law = SharedLaw::take(&mut self.law);
        Some(self.kept(law))
    }
}

impl UecSender {
    fn kept(&self, law: Box<dyn CongestionControl + Send>) -> Kept {
        Kept { sent_bytes: self.sent_before + self.packets * self.payload_bytes, ..Kept::fresh(law) }
    }

    /// Bytes of frames that congestion control would have in flight: by the sender's law, or by credit if it has none.
    fn window_bytes(&self) -> u64 {
        match (self.law.window_bytes(), &self.credit) {
            (u64::MAX, Some(credit)) => self.in_flight.max(0) as u64 + credit.available_bytes(),
            (window_bytes, _) => window_bytes,
        }
    }

    /// Timeout of a packet now.
    fn rto_ps(&self, uec: &Uec) -> u64 {
        uec.rto_ps.max(self.least_rto_ps).saturating_mul(1 << self.silent.min(DOUBLINGS))
    }

    fn of(&mut self, number: u64) -> Option<&mut Sent> {
        self.sent.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// The packet in flight that was sent first, and when it left.
    fn oldest(&mut self) -> Option<(u64, u64)> {
        while let Some(&Departure { at_ps, leaves_ps, number }) = self.log.front() {
            let waits = |sent: &mut Sent| sent.state == State::InFlight && sent.at_ps == at_ps;
            if self.of(number).is_some_and(waits) {
                return Some((leaves_ps, number));
            }
            self.log.pop_front();
        }
        None
    }

    /// Sends what window and card allow: what is missing first.
    fn transmit<H: Host>(&mut self, uec: &Uec, framing: Framing, host: &mut H) {
        let others_bytes = self.law.others_bytes() as i64;
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
            let allowed =
                with.saturating_add(others_bytes) <= window.max(frame_bytes.into()) && self.has_credit();
            if !allowed || !host.room(frame_bytes) {
                break;
            }
            let again = number < fresh;
            let now_ps = host.now_ps();
            self.in_flight = with;
            self.log.push_back(Departure { at_ps: now_ps, leaves_ps: host.leaves_ps(), number });
            if again {
                self.missing.remove(&number);
                self.missing_bytes -= u64::from(frame_bytes);
                if let Some(sent) = self.of(number) {
                    *sent = Sent { at_ps: now_ps, state: State::InFlight, again: sent.again + 1, ..*sent };
                }
            } else {
                let state = State::InFlight;
                self.sent.push_back(Sent { first_ps: now_ps, at_ps: now_ps, frame_bytes, state, again: 0 });
            }
            let last = number + 1 == self.packets;
            let mut asks = again || last || with.saturating_add(frame_bytes.into()) >= window;
            let mut packet = Packet {
                seq: first,
                stamp_ns: (now_ps / 1000) as u32,
                frame_bytes,
                payload_bytes: payload,
                ..Packet::default()
            };
            if let Some(demand) = self.pay(frame_bytes, framing, host) {
                packet.set_demand(demand);
                asks |= !self.has_credit();
            }
            packet.marks = marks::CAPABLE
                | if again { marks::RETRANSMITTED } else { 0 }
                | if asks { marks::ASKS } else { 0 };
            host.send(packet);
            self.counters.sent_bytes += u64::from(payload);
            self.counters.sent_packets += 1;
            self.counters.retransmitted_packets += u64::from(again);
        }
        self.law.on_flight(self.in_flight.max(0) as u64);
        self.set_alarm(uec, host);
    }

    /// Wants to be woken when the oldest packet in flight times out, or when it is time to ask for credit.
    fn set_alarm<H: Host>(&mut self, uec: &Uec, host: &mut H) {
        let rto_ps = self.rto_ps(uec);
        let due_ps = match self.oldest() {
            None => self.request_due_ps(uec),
            // What has not left the host is not lost.
            Some((left_ps, _)) if left_ps.saturating_add(rto_ps) <= host.now_ps() => host.now_ps() + rto_ps,
            Some((left_ps, _)) => left_ps.saturating_add(rto_ps),
        };
        self.alarm.set(due_ps, host);
    }
}

#[cfg(test)]
mod tests;
