//! The receiving half.

use super::Uec;
use super::grants::Grants;
use crate::transport::ranges::Ranges;
use crate::transport::{Grant, Host, ReceiverCounters, ReceivingHalf, Reception};
use crate::{Arrivals, Framing, Kind, Packet, marks};

/// Packets that an acknowledgement can name.
const NAMED: u64 = 64;

/// The receiving half. Packets are numbered from zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct UecReceiver {
    /// First packet that has not arrived.
    expected: u64,
    /// Packets that arrived beyond it.
    ahead: Ranges,
    /// Payload in order.
    delivered: u64,
    /// Length of the last packet, once it arrived, with its number.
    last: Option<(u64, u64)>,
    /// Bytes of frames that arrived for the first time.
    frame_bytes: u64,
    /// Bytes of frames since the last acknowledgement.
    unacknowledged: u32,
    /// The sender asked for an acknowledgement, and packets before some that arrived are missing.
    owes: bool,
    /// Highest number of any packet.
    highest: u64,
    /// Credit for the sender, where it needs any.
    grants: Grants,
    counters: ReceiverCounters,
}

impl ReceivingHalf<Uec> for UecReceiver {
    /// Takes a packet, the header of one that was trimmed, or a request for credit.
    fn receive<H: Host>(
        &mut self,
        uec: &Uec,
        framing: Framing,
        packet: &Packet,
        _: impl FnOnce() -> bool,
        host: &mut H,
    ) -> Reception {
        if packet.kind == Kind::Request {
            self.grants.demand(packet.demand());
            self.grants.call();
            return Reception::Heard;
        }
        let payload_bytes = u64::from(uec.payload_bytes_max.unwrap_or(framing.payload_bytes_max));
        let number = packet.seq / payload_bytes;
        let known = number < self.expected || self.ahead.around(number).is_some();
        if packet.marks & marks::TRIMMED == 0 {
            self.take_data(uec, packet, (number, known, payload_bytes), host);
            return Reception::Taken;
        }
        if known {
            self.acknowledge(uec, packet, number, host);
        } else {
            self.grants.demand(packet.demand());
            self.grants.call();
            let mut answer = Packet { kind: Kind::Nack, ..Packet::default() };
            if packet.trimmed_last() {
                answer.set_trimmed_last();
            }
            self.send(uec, packet, answer, packet.seq, host);
        }
        Reception::Heard
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    fn lines_up(&mut self, uec: &Uec) -> bool {
        uec.credits.is_some() && self.grants.lines_up()
    }

    fn grant<H: Host>(&mut self, uec: &Uec, framing: Framing, ahead: bool, host: &mut H) -> Option<Grant> {
        let credits = uec.credits.as_ref()?;
        let most = u64::from(credits.grant_bytes);
        let granted = if ahead {
            let path = uec.path(framing, host);
            self.grants.grant_ahead(most, credits.most(path.bdp_bytes(), path.frame_bytes))
        } else {
            self.grants.grant(most)
        };
        host.send(Packet {
            seq: self.grants.sum(),
            stamp_ns: (host.now_ps() / 1000) as u32,
            frame_bytes: uec.answer_bytes,
            kind: Kind::Credit,
            // No packet caused it, so no round trip may be measured by it.
            marks: marks::CAPABLE | marks::RETRANSMITTED,
            ..Packet::default()
        });
        let pause_ps = granted.quanta.saturating_mul(credits.quantum_ps(host.link_bps()));
        Some(Grant { pause_ps, queue: granted.queue })
    }
}

impl UecReceiver {
    /// Takes a packet, by its number; `known` if it has arrived before.
    fn take_data<H: Host>(
        &mut self,
        uec: &Uec,
        packet: &Packet,
        (number, known, payload_bytes): (u64, bool, u64),
        host: &mut H,
    ) {
        self.grants.demand(packet.demand());
        self.counters.count(packet);
        if number >= self.highest {
            self.highest = number;
        } else if packet.marks & marks::RETRANSMITTED == 0 {
            self.counters.reordered_packets += 1;
        }
        let marked = packet.marks & marks::EXPERIENCED != 0;
        self.unacknowledged += u32::from(packet.frame_bytes);
        if known {
            // The sender does not know what arrived.
            self.acknowledge(uec, packet, number, host);
            return;
        }
        let asked = packet.marks & marks::ASKS != 0;
        let mut at_once = marked || asked || self.frame_bytes == 0;
        self.owes |= asked;
        self.frame_bytes += u64::from(packet.frame_bytes);
        if u64::from(packet.payload_bytes) < payload_bytes {
            self.last = Some((number, packet.payload_bytes.into()));
        }
        self.take(number, payload_bytes);
        if self.ahead.is_empty() && std::mem::take(&mut self.owes) {
            at_once = true;
        }
        if at_once || self.unacknowledged >= uec.ack_bytes {
            self.acknowledge(uec, packet, number, host);
        }
    }

    fn take(&mut self, number: u64, payload_bytes: u64) {
        if number > self.expected {
            self.ahead.insert(number..number + 1);
            return;
        }
        self.expected =
            self.ahead.first().filter(|next| next.start == number + 1).map_or(number + 1, |next| next.end);
        self.ahead.remove_below(self.expected);
        let short =
            self.last.filter(|&(last, _)| last < self.expected).map_or(0, |(_, bytes)| payload_bytes - bytes);
        self.delivered = self.expected * payload_bytes - short;
    }

    /// Acknowledges, and names up to 64 packets up to `number`. (`uet-htsim` names those from it on where it was marked or
    /// the sender asked, so that packets before it that arrived may time out.)
    fn acknowledge<H: Host>(&mut self, uec: &Uec, packet: &Packet, number: u64, host: &mut H) {
        let base = number.saturating_sub(NAMED - 1).max(self.expected + 1);
        let mut bits = 0;
        let mut at = base;
        while let Some(range) = self.ahead.after(at).filter(|range| range.start < base + NAMED) {
            for one in range.start.max(base)..range.end.min(base + NAMED) {
                bits |= 1 << (one - base);
            }
            at = range.end;
        }
        self.unacknowledged = 0;
        let mut answer = Packet::default();
        answer.set_arrivals(Arrivals {
            cause: number as u32,
            base: base as u32,
            bits,
            frame_bytes: self.frame_bytes as u32,
            waiting: self.ahead.bytes() as u32,
        });
        answer.kind = Kind::Sack;
        self.send(uec, packet, answer, self.delivered, host);
    }

    fn send<H: Host>(&mut self, uec: &Uec, cause: &Packet, answer: Packet, seq: u64, host: &mut H) {
        let echo = if cause.marks & marks::EXPERIENCED != 0 { marks::ECHO } else { 0 };
        host.send(Packet {
            seq,
            stamp_ns: cause.stamp_ns,
            frame_bytes: uec.answer_bytes,
            marks: marks::CAPABLE | cause.marks & marks::RETRANSMITTED | echo,
            ..answer
        });
    }
}

#[cfg(test)]
mod tests;
