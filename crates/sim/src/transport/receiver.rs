//! The receiving half of a TCP connection.

use super::alarm::Alarm;
use super::delayed_ack::DelayedAck;
use super::echo::Echo;
use super::ranges::Ranges;
use super::reorder::{Hold, Segment};
use super::sack::Recent;
use super::{Context, Host, Reorder, Tcp};
use crate::{Framing, Kind, Packet, marks};

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReceiverCounters {
    /// Payload bytes that arrived, duplicates included.
    pub delivered_bytes: u64,
    /// Segments that arrived, duplicates included.
    pub delivered_packets: u64,
    /// Segments that the network delivered behind a later one, retransmissions aside.
    pub reordered_packets: u64,
    /// Segments that arrived with a congestion mark.
    pub marked_packets: u64,
    /// Which of [`Packet::path`] modulo 256 were seen, a bit each.
    pub path_set: [u64; 4],
}

impl ReceiverCounters {
    /// Distinct paths, at most 256.
    #[must_use]
    pub fn paths(&self) -> u32 {
        self.path_set.iter().map(|word| word.count_ones()).sum()
    }

    /// Counts what another counted as well.
    pub(crate) fn add(&mut self, other: &Self) {
        self.delivered_bytes += other.delivered_bytes;
        self.delivered_packets += other.delivered_packets;
        self.reordered_packets += other.reordered_packets;
        self.marked_packets += other.marked_packets;
        for (mine, others) in self.path_set.iter_mut().zip(other.path_set) {
            *mine |= others;
        }
    }

    /// A segment or datagram from the network.
    #[inline(always)]
    pub(super) fn count(&mut self, packet: &Packet) {
        self.delivered_bytes += u64::from(packet.payload_bytes);
        self.delivered_packets += 1;
        let path = usize::from(packet.path & 255);
        self.path_set[path / 64] |= 1 << (path % 64);
        self.marked_packets += u64::from(packet.marks & marks::EXPERIENCED != 0);
    }
}

/// The receiving half. Reusable: [`Receiver::reset`] keeps what is allocated.
#[derive(Debug, Default)]
pub struct Receiver {
    /// Next byte expected.
    expected: u64,
    /// Bytes that arrived beyond it.
    ahead: Ranges,
    /// Highest first byte of any segment.
    highest: u64,
    delayed: DelayedAck,
    echo: Echo,
    recent: Recent,
    hold: Hold,
    alarm: Alarm,
    /// Counters so far.
    pub counters: ReceiverCounters,
}

impl Receiver {
    /// One that has received nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Resets to a new receiver; what is allocated stays.
    pub fn reset(&mut self) {
        let mut ahead = std::mem::take(&mut self.ahead);
        let mut hold = std::mem::take(&mut self.hold);
        ahead.clear();
        hold.reset();
        *self = Self { ahead, hold, ..Self::default() };
    }

    /// Contiguous bytes handed to the application.
    #[inline]
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.expected
    }

    /// Takes a [`Kind::Syn`] or a [`Kind::Data`].
    #[inline(always)]
    pub fn receive<H: Host>(&mut self, tcp: &Tcp, framing: Framing, packet: &Packet, host: &mut H) {
        let cx = Context { tcp, framing };
        if packet.kind == Kind::Syn {
            answer_syn(cx, packet, host);
            return;
        }
        self.counters.count(packet);
        if packet.seq >= self.highest {
            self.highest = packet.seq;
        } else if packet.marks & marks::RETRANSMITTED == 0 {
            self.counters.reordered_packets += 1;
        }
        let segment = Segment {
            seq: packet.seq,
            stamp_ns: packet.stamp_ns,
            payload_bytes: packet.payload_bytes,
            marks: packet.marks,
        };
        if cx.tcp.reorder == Reorder::None {
            self.take(cx, segment, host);
        } else {
            self.take_through_hold(cx, segment, host);
        }
        self.arm(cx, host);
    }

    /// A wake-up.
    pub fn wake<H: Host>(&mut self, tcp: &Tcp, framing: Framing, host: &mut H) {
        let cx = Context { tcp, framing };
        let now_ps = host.now_ps();
        self.alarm.rang();
        while let Some(segment) = self.hold.expired(cx, now_ps) {
            self.take(cx, segment, host);
        }
        if self.delayed.due_at_ps() <= now_ps {
            self.acknowledge(cx, host);
        }
        self.arm(cx, host);
    }

    fn take_through_hold<H: Host>(&mut self, cx: Context<'_>, segment: Segment, host: &mut H) {
        let now_ps = host.now_ps();
        if self.hold.passes(cx, &segment, now_ps) {
            self.take(cx, segment, host);
            while let Some(next) = self.hold.released(cx) {
                self.take(cx, next, host);
            }
        }
    }

    /// A segment reaches TCP.
    #[inline]
    fn take<H: Host>(&mut self, cx: Context<'_>, segment: Segment, host: &mut H) {
        let end = segment.seq + u64::from(segment.payload_bytes);
        let changed = self.echo.changes(cx.tcp, segment.marks);
        if changed && self.delayed.waits() {
            // RFC 8257, section 3.2: what came before is acknowledged under the state before.
            self.acknowledge(cx, host);
        }
        self.echo.take(cx.tcp, segment.marks);
        let in_order = segment.seq == self.expected && self.ahead.is_empty();
        if in_order {
            self.expected = end;
            let full = self.delayed.take(cx.tcp, &segment, host.now_ps());
            if full || changed {
                self.acknowledge(cx, host);
            }
        } else {
            self.take_out_of_order(cx, segment, end, host);
        }
    }

    /// RFC 5681, section 4.2: an acknowledgement at once for what is out of order or fills a gap.
    fn take_out_of_order<H: Host>(&mut self, cx: Context<'_>, segment: Segment, end: u64, host: &mut H) {
        self.delayed.take(cx.tcp, &segment, host.now_ps());
        self.delayed.caused_by(&segment);
        if segment.seq > self.expected {
            self.ahead.insert(segment.seq..end);
            if let Some(block) = self.ahead.around(segment.seq) {
                self.recent.note(block);
            }
        } else if end > self.expected {
            self.expected = end;
            if let Some(block) = self.ahead.first().filter(|block| block.start <= end) {
                self.expected = end.max(block.end);
            }
            self.ahead.remove_below(self.expected);
        }
        self.acknowledge(cx, host);
    }

    #[inline]
    fn acknowledge<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        let (stamp_ns, again) = self.delayed.sent();
        let mut packet = Packet {
            seq: self.expected,
            stamp_ns,
            frame_bytes: cx.framing.frame_bytes(0),
            kind: Kind::Ack,
            marks: again | self.echo.mark() | cx.control_marks(),
            ..Packet::default()
        };
        if cx.tcp.sack && !self.ahead.is_empty() {
            packet.sack = self.recent.blocks(&self.ahead, self.expected);
        }
        host.send(packet);
    }

    #[inline]
    fn arm<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        self.alarm.set(self.delayed.due_at_ps().min(self.hold.due_at_ps(cx.tcp)), host);
    }
}

/// SYN-ACK; a SYN that comes again is answered again.
fn answer_syn<H: Host>(cx: Context<'_>, packet: &Packet, host: &mut H) {
    host.send(Packet {
        stamp_ns: packet.stamp_ns,
        frame_bytes: cx.framing.frame_bytes(0),
        kind: Kind::SynAck,
        marks: packet.marks & marks::RETRANSMITTED | cx.control_marks(),
        ..Packet::default()
    });
}
