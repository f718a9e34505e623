//! The receiving half of a TCP connection.

use super::delayed_ack::DelayedAck;
use super::echo::Echo;
use super::protocol::{ReceivingHalf, Reception};
use super::ranges::Ranges;
use super::reorder::{Hold, Segment};
use super::sack::Recent;
use super::tcp::Context;
use super::{Host, ReceiverCounters, Reorder, Tcp};
use crate::{Framing, Kind, Packet, SackBlock, marks};
use anabranch_split::prefetch::prefetch;
use std::ops::Range;

/// What most receivers never need: segments beyond a gap, the reordering layer, and counters of the kind. It stands apart
/// from the receiver, and a connection that does not need it does not touch it.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct Disorder {
    /// Bytes that arrived beyond the next expected one.
    ahead: Ranges,
    recent: Recent,
    reordered_packets: u64,
    /// Which paths from number 64 on were seen, a bit each.
    more_paths: [u64; 3],
    hold: Hold,
}

impl Disorder {
    /// Makes it new again; what is allocated stays.
    fn reset(&mut self) {
        let mut ahead = std::mem::take(&mut self.ahead);
        let mut hold = std::mem::take(&mut self.hold);
        ahead.clear();
        hold.reset();
        *self = Self { ahead, hold, ..Self::default() };
    }
}

/// The receiving half. Reusable: [`Receiver::reset`] keeps what is allocated.
///
/// What every segment touches is in two cache lines, together with the address before it ([`crate::connections`]).
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Next byte expected.
    expected: u64,
    /// Highest first byte of any segment.
    highest: u64,
    delayed: DelayedAck,
    echo: Echo,
    /// Whether bytes beyond the next expected one have arrived.
    has_gap: bool,
    /// Whether there is [`Self::disorder`]; if not, what stands there is an earlier connection's.
    has_disorder: bool,
    delivered_bytes: u64,
    delivered_packets: u64,
    marked_packets: u64,
    /// Which of the paths below number 64 were seen, a bit each.
    first_paths: u64,
    disorder: Option<Box<Disorder>>,
}

const _: () = assert!(size_of::<Receiver>() <= 88);

impl ReceivingHalf<Tcp> for Receiver {
    /// Takes a [`Kind::Syn`] or a [`Kind::Data`].
    #[inline(always)]
    fn receive<H: Host>(
        &mut self,
        tcp: &Tcp,
        framing: Framing,
        packet: &Packet,
        _: impl FnOnce() -> bool,
        host: &mut H,
    ) -> Reception {
        let cx = Context { tcp, framing };
        if packet.kind == Kind::Syn {
            answer_syn(cx, packet, host);
            return Reception::Heard;
        }
        self.count(packet);
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
        Reception::Taken
    }

    fn wake<H: Host>(&mut self, tcp: &Tcp, framing: Framing, host: &mut H) {
        let cx = Context { tcp, framing };
        let now_ps = host.now_ps();
        while let Some(segment) =
            self.known_disorder_mut().and_then(|disorder| disorder.hold.expired(cx, now_ps))
        {
            self.take(cx, segment, host);
        }
        if self.delayed.due_at_ps() <= now_ps {
            self.acknowledge(cx, host);
        }
        self.arm(cx, host);
    }

    #[inline]
    fn delivered(&self) -> u64 {
        self.expected
    }

    fn owes_answer(&self) -> bool {
        self.delayed.waits()
    }

    fn counters(&self) -> ReceiverCounters {
        let (reordered_packets, [second, third, fourth]) = self
            .known_disorder()
            .map_or((0, [0; 3]), |disorder| (disorder.reordered_packets, disorder.more_paths));
        ReceiverCounters {
            delivered_bytes: self.delivered_bytes,
            delivered_packets: self.delivered_packets,
            reordered_packets,
            marked_packets: self.marked_packets,
            path_set: [self.first_paths, second, third, fourth],
        }
    }

    fn set_counters(&mut self, counters: &ReceiverCounters) {
        let &ReceiverCounters {
            delivered_bytes,
            delivered_packets,
            reordered_packets,
            marked_packets,
            path_set,
        } = counters;
        let [first_paths, more_paths @ ..] = path_set;
        self.delivered_bytes = delivered_bytes;
        self.delivered_packets = delivered_packets;
        self.marked_packets = marked_packets;
        self.first_paths = first_paths;
        if let Some(disorder) = self.known_disorder_mut() {
            disorder.reordered_packets = reordered_packets;
            disorder.more_paths = more_paths;
        }
    }
}

impl Receiver {
    /// One that has received nothing.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Resets to a new receiver; what is allocated stays, and is not touched.
    pub(crate) fn reset(&mut self) {
        *self = Self { disorder: self.disorder.take(), ..Self::default() };
    }

    /// A segment from the network.
    #[inline(always)]
    fn count(&mut self, packet: &Packet) {
        self.delivered_bytes += u64::from(packet.payload_bytes);
        self.delivered_packets += 1;
        self.marked_packets += u64::from(packet.marks & marks::EXPERIENCED != 0);
        match usize::from(packet.path & 255) {
            path @ ..64 => self.first_paths |= 1 << path,
            path => self.disorder().more_paths[path / 64 - 1] |= 1 << (path % 64),
        }
        if packet.seq >= self.highest {
            self.highest = packet.seq;
        } else if packet.marks & marks::RETRANSMITTED == 0 {
            self.disorder().reordered_packets += 1;
        }
    }

    #[inline(always)]
    fn known_disorder(&self) -> Option<&Disorder> {
        if self.has_disorder { self.disorder.as_deref() } else { None }
    }

    #[inline(always)]
    fn known_disorder_mut(&mut self) -> Option<&mut Disorder> {
        if self.has_disorder { self.disorder.as_deref_mut() } else { None }
    }

    /// Fetches what a segment will need of the disorder there is.
    #[inline(always)]
    pub(crate) fn prefetch_disorder(&self) {
        if let Some(disorder) = self.known_disorder() {
            prefetch((&raw const *disorder).cast::<[u8; 128]>());
        }
    }

    /// The disorder there is, from now on. What an earlier connection left there is forgotten.
    #[inline(always)]
    fn disorder(&mut self) -> &mut Disorder {
        if !self.has_disorder {
            self.begin_disorder();
        }
        self.disorder.get_or_insert_default()
    }

    #[cold]
    fn begin_disorder(&mut self) {
        self.has_disorder = true;
        if let Some(disorder) = &mut self.disorder {
            disorder.reset();
        }
    }

    fn take_through_hold<H: Host>(&mut self, cx: Context<'_>, segment: Segment, host: &mut H) {
        let now_ps = host.now_ps();
        if self.disorder().hold.passes(cx, &segment, now_ps) {
            self.take(cx, segment, host);
            while let Some(next) = self.disorder().hold.released(cx) {
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
        let in_order = segment.seq == self.expected && !self.has_gap;
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
        let duplicate = if cx.dsack() { self.duplicate(segment.seq, end) } else { None };
        if segment.seq > self.expected {
            let Disorder { ahead, recent, .. } = self.disorder();
            ahead.insert(segment.seq..end);
            if let Some(block) = ahead.around(segment.seq) {
                recent.note(block);
            }
            self.has_gap = true;
        } else if end > self.expected {
            let ahead = &mut self.disorder().ahead;
            let expected = match ahead.first().filter(|block| block.start <= end) {
                Some(block) => end.max(block.end),
                None => end,
            };
            ahead.remove_below(expected);
            self.has_gap = !ahead.is_empty();
            self.expected = expected;
        }
        self.answer(cx, duplicate, host);
    }

    /// Bytes of a segment that had arrived before, if any had: below the next expected one, or in a block beyond it.
    fn duplicate(&self, start: u64, end: u64) -> Option<Range<u64>> {
        if start < self.expected {
            return Some(start..end.min(self.expected));
        }
        let block = self.known_disorder()?.ahead.around(start)?;
        Some(start..end.min(block.end))
    }

    #[inline]
    fn acknowledge<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        self.answer(cx, None, host);
    }

    /// An acknowledgement; a duplicate is reported in the first block (RFC 2883, section 4).
    #[inline]
    fn answer<H: Host>(&mut self, cx: Context<'_>, duplicate: Option<Range<u64>>, host: &mut H) {
        let (stamp_ns, again) = self.delayed.sent();
        let mut packet = Packet {
            seq: self.expected,
            stamp_ns,
            frame_bytes: cx.framing.frame_bytes(0),
            kind: Kind::Ack,
            marks: again | self.echo.mark() | cx.control_marks(),
            ..Packet::default()
        };
        if cx.tcp.sack && self.has_gap {
            let expected = self.expected;
            let Disorder { ahead, recent, .. } = self.disorder();
            packet.sack = recent.blocks(ahead, expected);
        }
        if let Some(duplicate) = duplicate {
            packet.marks |= marks::DUPLICATE;
            let [first, second, _] = packet.sack;
            packet.sack = [SackBlock::of(&duplicate, self.expected), first, second];
        }
        host.send(packet);
    }

    #[inline]
    fn arm<H: Host>(&mut self, cx: Context<'_>, host: &mut H) {
        let held_ps = self.known_disorder().map_or(u64::MAX, |disorder| disorder.hold.due_at_ps(cx.tcp));
        let at_ps = self.delayed.due_at_ps().min(held_ps);
        if at_ps != u64::MAX {
            host.wake_at(at_ps);
        }
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
