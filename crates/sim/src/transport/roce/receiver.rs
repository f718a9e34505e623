//! The receiving half of a queue pair.

use super::{Recovery, Roce, Semantics};
use crate::transport::ranges::Ranges;
use crate::transport::{Host, ReceiverCounters, ReceivingHalf, Reception};
use crate::{Arrivals, Framing, Kind, Packet, marks};

/// The receiving half.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoceReceiver {
    /// Next byte expected.
    expected: u64,
    /// What arrived beyond it, where recovery is selective.
    ahead: Ranges,
    /// Byte that was asked for last, and when it may be asked for again.
    asked: Option<u64>,
    ask_at_ps: u64,
    /// When a notification may be sent again.
    notify_at_ps: u64,
    /// Highest first byte of any packet.
    highest: u64,
    /// Whether the message has its receive, where it needs one.
    posted: bool,
    /// Whether its first packet came and was answered with RNR NAK.
    refused: bool,
    counters: ReceiverCounters,
}

impl ReceivingHalf<Roce> for RoceReceiver {
    fn receive<H: Host>(
        &mut self,
        roce: &Roce,
        framing: Framing,
        packet: &Packet,
        has_receive: impl FnOnce() -> bool,
        host: &mut H,
    ) -> Reception {
        let is_ready = match roce.semantics {
            Semantics::Write => true,
            Semantics::Send { .. } => self.is_ready(roce, packet, has_receive, host),
        };
        let is_discarded = !is_ready || self.discards(roce, packet);
        if is_ready {
            self.take(roce, framing, packet, host);
        }
        if is_discarded { Reception::Discarded } else { Reception::Taken }
    }

    fn delivered(&self) -> u64 {
        self.expected
    }

    fn counters(&self) -> ReceiverCounters {
        self.counters
    }
}

impl RoceReceiver {
    /// Whether a packet is to be taken under send semantics. `has_receive` says whether a receive was posted.
    /// The first packet of the message asks for it: without one it is answered by RNR NAK, and the packets behind it are
    /// discarded without an answer. Selective recovery places packets into their receive in any order, so whichever
    /// arrives first asks. Without a receive, one that is not the first of the message is discarded without an answer.
    pub(super) fn is_ready<H: Host>(
        &mut self,
        roce: &Roce,
        packet: &Packet,
        has_receive: impl FnOnce() -> bool,
        host: &mut H,
    ) -> bool {
        let is_first = packet.seq == 0;
        let selective = matches!(roce.recovery, Recovery::Selective { .. });
        if !self.posted && (is_first || selective && !self.refused) {
            self.posted = has_receive();
            self.refused |= is_first && !self.posted;
        }
        // Go-back-N discards what comes before the first packet by its order.
        if self.posted || !is_first && !self.refused && !selective {
            return true;
        }
        self.counters.count(packet);
        if is_first {
            host.send(Packet {
                stamp_ns: packet.stamp_ns,
                frame_bytes: roce.answer_bytes,
                kind: Kind::NotReady,
                marks: marks::CAPABLE | packet.marks & marks::RETRANSMITTED,
                ..Packet::default()
            });
        }
        false
    }

    /// Whether [`Self::take`] will discard a packet: go-back-N keeps nothing that comes behind a gap.
    fn discards(&self, roce: &Roce, packet: &Packet) -> bool {
        matches!(roce.recovery, Recovery::GoBackN { .. }) && packet.seq > self.expected
    }

    fn take<H: Host>(&mut self, roce: &Roce, framing: Framing, packet: &Packet, host: &mut H) {
        self.counters.count(packet);
        if packet.seq >= self.highest {
            self.highest = packet.seq;
        } else if packet.marks & marks::RETRANSMITTED == 0 {
            self.counters.reordered_packets += 1;
        }
        let early = packet.seq > self.expected;
        let now_ps = host.now_ps();
        let answer = match roce.recovery {
            Recovery::GoBackN { nack_ps } if early => {
                // The first packet behind a gap asks for it, and then one every so often.
                let again = self.asked == Some(self.expected) && now_ps < self.ask_at_ps;
                if again { None } else { Some(self.ask(now_ps + nack_ps)) }
            }
            Recovery::GoBackN { .. } => {
                self.expected = self.expected.max(packet.seq + u64::from(packet.payload_bytes));
                Some(Packet { kind: Kind::Ack, ..Packet::default() })
            }
            Recovery::Selective { .. } => Some(self.keep(roce, framing, packet)),
        };
        let marked = packet.marks & marks::EXPERIENCED != 0;
        let notifies =
            (marked || early && roce.cnp.out_of_order && answer.is_some()) && now_ps >= self.notify_at_ps;
        let echoes = notifies && roce.cnp.in_answer && answer.is_some();
        if let Some(answer) = answer {
            let echo = if echoes { marks::ECHO } else { 0 };
            let again = packet.marks & marks::RETRANSMITTED;
            host.send(Packet {
                seq: self.expected,
                stamp_ns: packet.stamp_ns,
                frame_bytes: roce.answer_bytes,
                marks: marks::CAPABLE | again | echo,
                ..answer
            });
        }
        if notifies && !roce.cnp.in_answer {
            host.send(Packet {
                seq: self.expected,
                stamp_ns: packet.stamp_ns,
                frame_bytes: roce.answer_bytes,
                kind: Kind::Cnp,
                marks: marks::CAPABLE,
                ..Packet::default()
            });
        }
        if echoes || notifies && !roce.cnp.in_answer {
            self.notify_at_ps = now_ps + roce.cnp.interval_ps;
        }
    }

    fn ask(&mut self, again_at_ps: u64) -> Packet {
        self.asked = Some(self.expected);
        self.ask_at_ps = again_at_ps;
        Packet { kind: Kind::Nack, ..Packet::default() }
    }

    /// Keeps a packet, whatever came before it, and names it.
    fn keep(&mut self, roce: &Roce, framing: Framing, packet: &Packet) -> Packet {
        let packet_bytes = u64::from(roce.payload_bytes_max.unwrap_or(framing.payload_bytes_max));
        let end = packet.seq + u64::from(packet.payload_bytes);
        if end > self.expected {
            self.ahead.insert(packet.seq.max(self.expected)..end);
        }
        if let Some(block) = self.ahead.first().filter(|block| block.start == self.expected) {
            self.expected = block.end;
            self.ahead.remove_below(block.end);
        }
        let mut answer = Packet { kind: Kind::Sack, ..Packet::default() };
        answer.set_arrivals(Arrivals {
            cause: (packet.seq / packet_bytes) as u32,
            waiting: self.ahead.bytes().div_ceil(packet_bytes) as u32,
            ..Arrivals::default()
        });
        answer
    }
}
