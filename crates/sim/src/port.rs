//! An egress port: a FIFO whose packets' departures are known when they arrive.
//!
//! A FIFO port serves in order and never idles while something waits, so the time at which a packet will reach the
//! other end is computed at enqueue, and only that arrival is an event. Waiting, served and propagating packets
//! stand in one ring; the backlog is brought up to date when someone asks.

mod change;
mod count;
mod crossing;
mod faults;
mod foresight;
mod line;
mod ring;

use crate::lots::Lots;
use crate::queue::NEVER_PS;
use crate::slab::PacketId;
use crate::{Packet, marks};
use anabranch_fabric::{Marking, Port, Serialization};
use anabranch_traffic::random::Stream;
use faults::{Contest, Faults};
use ring::{Accepted, Ring};
use std::hint::select_unpredictable;
use std::mem::offset_of;

/// Fate of a packet that was passed to a port.
pub(crate) enum Verdict {
    /// It is alone on the link and arrives at this time.
    Next(u64),
    /// It follows others.
    Queued,
    /// It follows others, in the slot of the one that was accepted last, which is dropped.
    Displaced(PacketId),
    /// There was no room.
    Dropped,
    /// The port is dead.
    Lost,
}

/// Laid out by who needs it: a packet that arrives the first cache line, one that is accepted the first two.
#[repr(C, align(64))]
pub(crate) struct EgressPort {
    ring: Ring,
    /// Next to arrive, first not known to be wholly sent, next free: counts that wrap, masked by the ring's length.
    head: u32,
    serving: u32,
    tail: u32,
    /// Node at the other end.
    pub(crate) to: u32,
    /// Bytes and packets from `serving` on: no less than what waits, and what waits after [`Self::advance`].
    backlog_bytes: u64,
    backlog_packets: u32,
    /// Backlogs up to these can neither fill the buffer, nor mark, nor be the largest yet: no need to know better.
    quiet_packets: u32,
    quiet_bytes: u64,
    gap_bytes: u16,
    /// Whether [`Self::faults`] must be looked at.
    special: bool,
    backlog_byte_ps: u128,
    /// Transmission of everything accepted ends.
    free_ps: u64,
    delay_ps: u64,
    serialization: Serialization,
    sent_bytes: u64,
    /// Time of transmission of all accepted since the interval began.
    busy_ps: u64,
    /// Random numbers for the lag, and for the last slot of a full queue.
    lots: Lots,
    buffer_bytes: u64,
    mark_bytes: u64,
    backlog_max_bytes: u64,
    buffer_packets: u32,
    mark_packets: u32,
    /// The frame in service when the rate changed, as a count like `serving`, and when it began: that does not follow
    /// from its end and the rate.
    retimed: Option<(u32, u64)>,
    /// The count of [`Self::tail`] at which this interval's packets begin.
    first_sent: u32,
    marked_packets: u64,
    dropped_packets: u64,
    lost_packets: u64,
    /// Bytes sent in the intervals before this one.
    sent_before_bytes: u64,
    rate_bps: u64,
    faults: Option<Box<Faults>>,
    /// Seed of [`Faults::stream`].
    seed: u64,
}

// Which lines they are, see above; a port takes no more than four.
const _: () = assert!(size_of::<EgressPort>() == 256 && offset_of!(EgressPort, backlog_byte_ps) == 64);
const _: () = assert!(offset_of!(EgressPort, special) < 64 && offset_of!(EgressPort, lots) == 120);

impl EgressPort {
    pub(crate) fn new(port: &Port, gap_bytes: u16, seed: u64) -> Self {
        let (mark_bytes, mark_packets, ramp) = match port.marking {
            Marking::Off => (u64::MAX, u32::MAX, None),
            Marking::Step { bytes, packets } => (limit(bytes), packets, None),
            Marking::Ramp { low_bytes, high_bytes, probability } => {
                (u64::MAX, u32::MAX, Some((low_bytes, high_bytes, probability)))
            }
        };
        let mut egress = Self {
            ring: Ring::new(),
            head: 0,
            serving: 0,
            tail: 0,
            to: port.to,
            free_ps: 0,
            delay_ps: port.delay_ps,
            serialization: port.rate.serialization(),
            gap_bytes,
            backlog_bytes: 0,
            backlog_packets: 0,
            quiet_bytes: 0,
            quiet_packets: 0,
            buffer_bytes: limit(port.buffer.bytes),
            buffer_packets: port.buffer.packets,
            mark_bytes,
            mark_packets,
            retimed: None,
            special: ramp.is_some(),
            sent_bytes: 0,
            first_sent: 0,
            backlog_byte_ps: 0,
            busy_ps: 0,
            backlog_max_bytes: 0,
            marked_packets: 0,
            dropped_packets: 0,
            lost_packets: 0,
            sent_before_bytes: 0,
            rate_bps: port.rate.bps(),
            faults: None,
            seed,
            lots: Lots::default(),
        };
        if ramp.is_some() {
            egress.faults().ramp = ramp;
        }
        egress.settle();
        egress
    }

    fn faults(&mut self) -> &mut Faults {
        self.faults.get_or_insert_with(|| Box::new(Faults::new(self.seed)))
    }

    /// Breaks phase locks from now on: at hosts frames enter the link after a random processing time, and the last
    /// slot of a full queue is drawn by lot.
    pub(crate) fn set_jitter(&mut self, mut stream: Stream) {
        self.lots = Lots::of(&mut stream);
    }

    /// Lets frames take whole nanoseconds from now on.
    pub(crate) fn set_whole_ns(&mut self) {
        self.serialization = self.serialization.rounded(true);
    }

    /// Derives what the hot path compares with.
    fn settle(&mut self) {
        let judged_always = self.faults.as_ref().is_some_and(|faults| faults.down || faults.ramp.is_some());
        self.special = judged_always || self.faults.as_ref().is_some_and(|faults| faults.loss > 0.0);
        self.quiet_bytes = if judged_always {
            0
        } else {
            self.buffer_bytes.min(self.mark_bytes).min(self.backlog_max_bytes)
        };
        self.quiet_packets = self.buffer_packets.min(self.mark_packets);
    }

    /// Takes a packet, or refuses it. A packet that fits neither limit of the buffer is dropped; a packet that may be
    /// marked is marked by the backlog it finds. `HOST`: whether the port is one that may jitter.
    #[inline(always)]
    pub(crate) fn enqueue<const HOST: bool>(
        &mut self,
        now_ps: u64,
        id: PacketId,
        packet: &mut Packet,
    ) -> Verdict {
        let frame_bytes = u32::from(packet.frame_bytes);
        let loud = (self.backlog_bytes + u64::from(frame_bytes) > self.quiet_bytes)
            | (self.backlog_packets >= self.quiet_packets);
        if loud && let Some(verdict) = self.judge::<HOST>(now_ps, id, packet) {
            return verdict;
        }
        self.accept::<HOST>(now_ps, id, packet.frame_bytes)
    }

    #[inline(always)]
    fn accept<const HOST: bool>(&mut self, now_ps: u64, id: PacketId, frame_bytes: u16) -> Verdict {
        let wire_bytes = u32::from(frame_bytes) + u32::from(self.gap_bytes);
        let frame_ps = self.serialization.frame_ps(wire_bytes);
        let free_ps = self.free_ps.max(now_ps) + frame_ps;
        let prompt_ps = free_ps + self.delay_ps;
        let (arrive_ps, lag_bytes) = if HOST { self.late(prompt_ps, wire_bytes) } else { (prompt_ps, 0) };
        self.free_ps = free_ps;
        self.backlog_bytes += u64::from(frame_bytes);
        self.backlog_packets += 1;
        self.backlog_byte_ps += u128::from(frame_bytes) * u128::from(free_ps - now_ps);
        self.sent_bytes += u64::from(frame_bytes);
        self.busy_ps += frame_ps;
        let alone = self.head == self.tail;
        if self.ring.is_full(self.head, self.tail) {
            self.ring.grow(self.head, self.tail);
        }
        *self.ring.at_mut(self.tail) = Accepted { arrive_ps, packet: id, frame_bytes, lag_bytes };
        self.tail = self.tail.wrapping_add(1);
        if alone { Verdict::Next(arrive_ps) } else { Verdict::Queued }
    }

    /// When a frame arrives that would at `prompt_ps` without jitter, and its lag: uniform below its own time on the
    /// wire, so that its phase is; more if it would overtake the one before.
    #[inline]
    fn late(&mut self, prompt_ps: u64, wire_bytes: u32) -> (u64, u16) {
        if !self.lots.are_drawn() {
            return (prompt_ps, 0);
        }
        let lag_bytes = self.lots.below(wire_bytes) as u16;
        let mut late = (prompt_ps + self.serialization.frame_ps(lag_bytes.into()), lag_bytes);
        if self.head != self.tail {
            let last_ps = self.ring.at(self.tail.wrapping_sub(1)).arrive_ps;
            if late.0 < last_ps {
                late = self.late_until(prompt_ps, last_ps);
            }
        }
        late
    }

    /// The least lag by which a frame arrives no earlier than at `least_ps`.
    #[cold]
    fn late_until(&self, prompt_ps: u64, least_ps: u64) -> (u64, u16) {
        const SCALE: u32 = u16::MAX as u32;
        let lag_ps = least_ps - prompt_ps;
        let scale_ps = self.serialization.frame_ps(SCALE);
        let mut lag_bytes = (u128::from(lag_ps) * u128::from(SCALE) / u128::from(scale_ps)) as u32;
        while self.serialization.frame_ps(lag_bytes) < lag_ps {
            lag_bytes += 1;
        }
        (prompt_ps + self.serialization.frame_ps(lag_bytes), lag_bytes as u16)
    }

    /// Decides about a packet that comes now by the backlog, exactly known.
    fn judge<const HOST: bool>(&mut self, now_ps: u64, id: PacketId, packet: &mut Packet) -> Option<Verdict> {
        self.advance(now_ps);
        let frame_bytes = u64::from(packet.frame_bytes);
        let mut ramp = false;
        if self.special {
            if !self.is_up() {
                self.lost_packets += 1;
                return Some(Verdict::Lost);
            }
            ramp = self.ramp_strikes();
        }
        let capable = packet.marks & marks::CAPABLE != 0;
        if ramp && !capable {
            self.dropped_packets += 1;
            return Some(Verdict::Dropped);
        }
        let mut displaced = None;
        if !self.fits(frame_bytes) {
            self.dropped_packets += 1;
            displaced = self.displace(now_ps, frame_bytes);
            if displaced.is_none() {
                return Some(Verdict::Dropped);
            }
        }
        if capable
            && (self.backlog_bytes >= self.mark_bytes || self.backlog_packets >= self.mark_packets || ramp)
        {
            packet.marks |= marks::EXPERIENCED;
            self.marked_packets += 1;
        }
        let backlog_bytes = self.backlog_bytes + frame_bytes;
        if backlog_bytes > self.backlog_max_bytes {
            self.backlog_max_bytes = backlog_bytes;
            self.settle();
        }
        let displaced = displaced?;
        self.accept::<HOST>(now_ps, id, packet.frame_bytes);
        Some(Verdict::Displaced(displaced))
    }

    fn fits(&self, frame_bytes: u64) -> bool {
        self.backlog_bytes + frame_bytes <= self.buffer_bytes && self.backlog_packets < self.buffer_packets
    }

    /// Draws who has the last slot of a full queue: each of those that came since it was free is as likely.
    /// Otherwise senders in step decide it for ever by who comes a moment earlier. If the newcomer has it,
    /// the one that had it is taken out.
    fn displace(&mut self, now_ps: u64, frame_bytes: u64) -> Option<PacketId> {
        if !self.lots.are_drawn() {
            return None;
        }
        let tail = self.tail;
        let contest = &mut self.faults().contest;
        if contest.tail != tail {
            *contest = Contest { tail, packets: 1 };
        }
        contest.packets += 1;
        let packets = contest.packets;
        if self.lots.below(packets) != 0 || self.serving == self.tail {
            return None;
        }
        let last = self.ring.at(self.tail.wrapping_sub(1));
        let last_bytes = u64::from(last.frame_bytes);
        let frame_ps = self.on_wire_ps(last.frame_bytes);
        // Longer than since the beginning of time if the link was fast when it began and is slow now.
        let begun = self.free_ps.saturating_sub(frame_ps) <= now_ps;
        if begun || self.backlog_bytes - last_bytes + frame_bytes > self.buffer_bytes {
            return None;
        }
        self.tail = self.tail.wrapping_sub(1);
        self.backlog_bytes -= last_bytes;
        self.backlog_packets -= 1;
        self.backlog_byte_ps -= u128::from(last_bytes) * u128::from(self.free_ps - now_ps);
        self.sent_bytes -= last_bytes;
        self.busy_ps -= frame_ps;
        self.free_ps -= frame_ps;
        Some(last.packet)
    }

    /// Takes the packet that arrives now off the link, and tells when the next one will: [`NEVER_PS`] if there is none.
    #[inline(always)]
    pub(crate) fn arrive(&mut self) -> (PacketId, u64) {
        let first = self.ring.at(self.head);
        // Without a branch, since nobody knows.
        let departs = self.serving == self.head;
        self.backlog_bytes -= select_unpredictable(departs, u64::from(first.frame_bytes), 0);
        self.backlog_packets -= u32::from(departs);
        self.serving = self.serving.wrapping_add(u32::from(departs));
        self.head = self.head.wrapping_add(1);
        let next_ps = self.ring.at(self.head).arrive_ps;
        (first.packet, select_unpredictable(self.head != self.tail, next_ps, NEVER_PS))
    }

    /// The packet that arrives next at a port that has had one, if there is one.
    #[inline(always)]
    pub(crate) fn next_packet(&self) -> PacketId {
        self.ring.at(self.head).packet
    }

    /// The packet that arrives so many after the next, if it is on its way.
    #[inline(always)]
    pub(crate) fn coming(&self, after: u32) -> Option<PacketId> {
        let index = self.head.wrapping_add(after);
        (self.tail.wrapping_sub(self.head) > after).then(|| self.ring.at(index).packet)
    }

    /// The packet that was accepted last, if it is on its way.
    #[inline(always)]
    pub(crate) fn newest(&self) -> Option<PacketId> {
        (self.tail != self.head).then(|| self.ring.at(self.tail.wrapping_sub(1)).packet)
    }

    #[inline(always)]
    fn depart(&mut self, accepted: Accepted) {
        self.backlog_bytes -= u64::from(accepted.frame_bytes);
        self.backlog_packets -= 1;
        self.serving = self.serving.wrapping_add(1);
    }

    /// Brings the backlog up to date: what has left by now no longer waits.
    #[inline(always)]
    fn advance(&mut self, now_ps: u64) {
        while self.serving != self.tail {
            let accepted = self.ring.at(self.serving);
            if accepted.arrive_ps > now_ps + self.delay_ps
                && (accepted.lag_bytes == 0 || self.end_ps(accepted) > now_ps)
            {
                break;
            }
            self.depart(accepted);
        }
    }

    /// When the transmission of an accepted packet ends.
    #[inline]
    fn end_ps(&self, accepted: Accepted) -> u64 {
        accepted.arrive_ps - self.delay_ps - self.serialization.frame_ps(accepted.lag_bytes.into())
    }

    /// Whether the link loses the frame that arrives now. It took its time on the link all the same.
    #[inline(always)]
    pub(crate) fn loses(&mut self) -> bool {
        self.special && self.strikes()
    }

    fn strikes(&mut self) -> bool {
        let faults = self.faults();
        let lost = faults.loss > 0.0 && faults.stream.unit() < faults.loss;
        self.lost_packets += u64::from(lost);
        lost
    }

    /// RED: whether the packet that comes now is to be marked, or dropped if it cannot be.
    fn ramp_strikes(&mut self) -> bool {
        let backlog = self.backlog_bytes;
        let faults = self.faults();
        let Some((low_bytes, high_bytes, probability)) = faults.ramp else { return false };
        let (low, high) = (u64::from(low_bytes), u64::from(high_bytes));
        if backlog < low {
            return false;
        }
        let along = (backlog - low) as f64 / (high - low).max(1) as f64;
        backlog >= high || faults.stream.unit() < probability * along
    }

    /// Time that a frame takes on the wire, preamble and gap included.
    fn on_wire_ps(&self, frame_bytes: u16) -> u64 {
        self.serialization.frame_ps(u32::from(frame_bytes) + u32::from(self.gap_bytes))
    }

    /// When the packet accepted last begins, or began, to be sent.
    pub(crate) fn last_start_ps(&self) -> u64 {
        let last = self.ring.at(self.tail.wrapping_sub(1));
        self.free_ps.saturating_sub(self.on_wire_ps(last.frame_bytes))
    }

    /// Whether it is busy with no more than so many bytes from now on.
    #[inline(always)]
    pub(crate) fn is_ready(&self, now_ps: u64, bytes: u32) -> bool {
        self.free_ps <= now_ps + self.serialization.frame_ps(bytes + u32::from(self.gap_bytes))
    }

    /// When it has sent all that it was given.
    pub(crate) fn free_ps(&self) -> u64 {
        self.free_ps
    }

    /// Notes bytes that wait before it, in the host's card: its largest backlog counts them.
    #[inline]
    pub(crate) fn note_waiting(&mut self, now_ps: u64, waiting_bytes: u64) {
        if self.backlog_bytes + waiting_bytes > self.backlog_max_bytes {
            self.advance(now_ps);
            self.backlog_max_bytes = self.backlog_max_bytes.max(self.backlog_bytes + waiting_bytes);
            self.settle();
        }
    }

    /// Bytes waiting now, the frame in service included.
    pub(crate) fn backlog_bytes(&mut self, now_ps: u64) -> u64 {
        self.advance(now_ps);
        self.backlog_bytes
    }

    /// Packets that it marked in this interval.
    pub(crate) fn marked_packets(&self) -> u64 {
        self.marked_packets
    }

    /// Time that so many bytes take, preamble and gap included.
    pub(crate) fn frame_ps(&self, wire_bytes: u32) -> u64 {
        self.serialization.frame_ps(wire_bytes)
    }

    /// Time that any number of bytes takes.
    pub(crate) fn bytes_ps(&self, wire_bytes: u64) -> u64 {
        self.serialization.bytes_ps(wire_bytes)
    }

    /// The rate it sends at.
    pub(crate) fn rate_bps(&self) -> u64 {
        self.rate_bps
    }
}

/// A limit in bytes; the largest number means none.
fn limit(bytes: u32) -> u64 {
    if bytes == u32::MAX { u64::MAX } else { bytes.into() }
}

/// When the frame at `index`, which ends at `end_ps` and takes `frame_ps` at the present rate, begins or began.
fn began_ps(retimed: Option<(u32, u64)>, index: u32, end_ps: u64, frame_ps: u64) -> u64 {
    match retimed {
        Some((frame, began_ps)) if frame == index => began_ps,
        _ => end_ps - frame_ps,
    }
}

#[cfg(test)]
mod tests;
