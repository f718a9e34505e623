//! The buffer that all ports of a switch share: who may fill how much of it, and when an ingress is paused.
//!
//! Frames of lossless classes are counted by the ingress and class that they came in by (PFC, IEEE 802.1Qbb), frames of
//! lossy data by their queue alone. The rules are those of conweave-ns3 (236a801, `switch-mmu.cc`), with two differences
//! that keep the promise of losing nothing: what an ingress has been guaranteed is really set aside, and a frame goes into
//! headroom exactly when the pool is full.

use anabranch_fabric::{Refresh, SharedBuffer as Rules};

/// Frames of one ingress in one lossless class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ingress {
    /// All of its bytes in the buffer.
    pub(crate) bytes: u64,
    /// Those of them that stand in headroom.
    pub(crate) headroom_bytes: u64,
    /// Most bytes in headroom.
    pub(crate) headroom_most: u64,
    /// Whether it was paused and not resumed since.
    pub(crate) paused: bool,
    /// When its last pause was sent, in picoseconds.
    pub(crate) paused_ps: u64,
    /// Frames that left, ever, and those that had left when the pause was last sent: it stands still while they are equal.
    pub(crate) departed: u64,
    pub(crate) departed_before: u64,
}

impl Ingress {
    fn note_pause(&mut self, now_ps: u64) {
        self.paused = true;
        self.paused_ps = now_ps;
        self.departed_before = self.departed;
    }
}

/// Whether nothing of an ingress left while its pause lasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck(pub(crate) bool);

/// The shared buffer of one switch.
#[derive(Clone, Debug)]
pub(crate) struct SharedBuffer {
    rules: Rules,
    /// Bytes that guarantees and headroom leave.
    pool_bytes: u64,
    /// Bytes in the buffer but those in headroom, guaranteed ones included: what thresholds follow.
    used_bytes: u64,
    /// Bytes of the pool that are taken: beyond guarantees, outside of headroom.
    taken_bytes: u64,
    /// Bytes of all frames in the buffer, headroom included.
    held_bytes: u64,
    /// Bytes that guarantees leave: what queues of lossless classes share, where they are bounded.
    queues_bytes: u64,
}

impl SharedBuffer {
    /// `pool_bytes` is what guarantees and headroom leave, `queues_bytes` what guarantees alone do.
    pub(crate) fn new(rules: Rules, pool_bytes: u64, queues_bytes: u64) -> Self {
        Self { rules, pool_bytes, used_bytes: 0, taken_bytes: 0, held_bytes: 0, queues_bytes }
    }

    /// Whether a queue of a lossless class that holds so much may take a frame more, where there is a bound.
    pub(crate) fn may_queue(&self, queue_bytes: u64, frame_bytes: u64) -> bool {
        let free_bytes = self.queues_bytes.saturating_sub(self.held_bytes);
        let within = |alpha| (queue_bytes + frame_bytes) as f64 <= free_bytes as f64 * alpha;
        self.rules.lossless_alpha.is_none_or(within)
    }

    /// Bytes that the pool has left by the count that thresholds follow.
    fn free_bytes(&self) -> u64 {
        self.pool_bytes.saturating_sub(self.used_bytes)
    }

    /// Bytes of an ingress that take from the pool.
    fn beyond(&self, ingress: &Ingress) -> u64 {
        (ingress.bytes - ingress.headroom_bytes).saturating_sub(self.rules.guarantee_bytes.into())
    }

    /// Counts a frame of a lossless class in; false if there is no room for it anywhere.
    pub(crate) fn arrive(&mut self, ingress: &mut Ingress, frame_bytes: u64) -> bool {
        let before = self.beyond(ingress);
        let mut grown = *ingress;
        grown.bytes += frame_bytes;
        let taken = self.taken_bytes + self.beyond(&grown) - before;
        if taken <= self.pool_bytes {
            self.taken_bytes = taken;
            self.used_bytes += frame_bytes;
        } else if ingress.headroom_bytes + frame_bytes <= ingress.headroom_most {
            grown.headroom_bytes += frame_bytes;
        } else {
            return false;
        }
        *ingress = grown;
        self.held_bytes += frame_bytes;
        true
    }

    /// Counts a frame of a lossless class out: headroom is free again first.
    pub(crate) fn depart(&mut self, ingress: &mut Ingress, frame_bytes: u64) {
        let before = self.beyond(ingress);
        let from_headroom = ingress.headroom_bytes.min(frame_bytes);
        ingress.headroom_bytes -= from_headroom;
        ingress.bytes -= frame_bytes;
        ingress.departed += 1;
        self.held_bytes -= frame_bytes;
        self.used_bytes -= frame_bytes - from_headroom;
        self.taken_bytes -= before - self.beyond(ingress);
    }

    /// Whether a pause is to be sent to an ingress, after a frame of it was counted in.
    pub(crate) fn pauses(&self, ingress: &mut Ingress, now_ps: u64) -> bool {
        self.lapse(ingress, now_ps);
        let sent =
            self.calls_for_pause(ingress) && (!ingress.paused || self.rules.refresh == Refresh::Arrival);
        if sent {
            ingress.note_pause(now_ps);
        }
        sent
    }

    /// Whether a paused ingress is to be told to go on, after a frame of it was counted out.
    pub(crate) fn resumes(&self, ingress: &mut Ingress, now_ps: u64) -> bool {
        self.lapse(ingress, now_ps);
        let sent = ingress.paused && self.calls_for_resume(ingress);
        ingress.paused &= !sent;
        sent
    }

    /// Whether a timer that was set with the last pause of an ingress sends it again now, and whether nothing of the
    /// ingress left since.
    pub(crate) fn refreshes(&self, ingress: &mut Ingress, now_ps: u64) -> Option<Stuck> {
        if !ingress.paused || now_ps != ingress.paused_ps + self.rules.quantum_ps / 2 {
            return None;
        }
        let stuck = ingress.departed == ingress.departed_before;
        ingress.note_pause(now_ps);
        Some(Stuck(stuck))
    }

    /// Without a timer a pause ends by itself, and nobody resumes it.
    fn lapse(&self, ingress: &mut Ingress, now_ps: u64) {
        if self.rules.refresh == Refresh::Arrival && now_ps >= ingress.paused_ps + self.rules.quantum_ps {
            ingress.paused = false;
        }
    }

    /// Whether the state of an ingress demands that it stops.
    fn calls_for_pause(&self, ingress: &Ingress) -> bool {
        let guarantee_bytes = u64::from(self.rules.guarantee_bytes);
        let beyond = ingress.bytes.saturating_sub(guarantee_bytes);
        beyond > 0
            && (beyond as f64 > self.free_bytes() as f64 * self.rules.pause_alpha
                || ingress.headroom_bytes > 0)
    }

    /// Whether the state of an ingress lets it go on. An empty one always may: nothing of it would leave any more and ask
    /// again.
    fn calls_for_resume(&self, ingress: &Ingress) -> bool {
        let free_bytes = self.free_bytes().saturating_sub(self.rules.resume_bytes.into());
        let beyond = ingress.bytes as f64 - f64::from(self.rules.guarantee_bytes);
        ingress.bytes == 0
            || ingress.headroom_bytes == 0 && beyond < free_bytes as f64 * self.rules.pause_alpha
    }

    /// Counts a frame of lossy data in whose queue holds so much; false if its share of the free pool is full.
    pub(crate) fn enqueue(&mut self, queue_bytes: u64, frame_bytes: u64) -> bool {
        let share = self.free_bytes() as f64 * self.rules.alpha;
        if queue_bytes + frame_bytes > share as u64 || self.taken_bytes + frame_bytes > self.pool_bytes {
            return false;
        }
        self.used_bytes += frame_bytes;
        self.taken_bytes += frame_bytes;
        true
    }

    /// Counts a frame of lossy data in that takes the room of one that was just cut.
    pub(crate) fn replace(&mut self, frame_bytes: u64) {
        self.used_bytes += frame_bytes;
        self.taken_bytes += frame_bytes;
    }

    /// Counts a frame of lossy data out.
    pub(crate) fn dequeue(&mut self, frame_bytes: u64) {
        self.used_bytes -= frame_bytes;
        self.taken_bytes -= frame_bytes;
    }

    /// Bytes in the buffer but those in headroom.
    #[cfg(test)]
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Rules of this buffer.
    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }
}
