//! Delayed acknowledgements (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).
//!
//! Every so many segments, or when the oldest has waited so long. Linux's quick acknowledgements at a connection's
//! beginning are not modelled: `ack_every = 1` is their effect for good.

use super::Tcp;
use super::reorder::Segment;
use crate::marks;

/// Segments not yet acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedAck {
    segments: u32,
    /// Timestamp of the oldest of them: an echo of it measures the delay too (RFC 7323, section 4.3).
    stamp_ns: u32,
    /// [`marks::RETRANSMITTED`] of the oldest.
    again: u8,
    due_at_ps: u64,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self { segments: 0, stamp_ns: 0, again: 0, due_at_ps: u64::MAX }
    }
}

impl DelayedAck {
    /// One more segment; whether it completes the number that is acknowledged at once.
    #[inline(always)]
    pub(super) fn take(&mut self, tcp: &Tcp, segment: &Segment, now_ps: u64) -> bool {
        if self.segments == 0 {
            self.caused_by(segment);
            self.due_at_ps = now_ps + tcp.ack_delay_ps;
        }
        self.segments += 1;
        self.segments >= tcp.ack_every
    }

    /// The acknowledgement to be sent is due to this segment alone.
    #[inline(always)]
    pub(super) fn caused_by(&mut self, segment: &Segment) {
        self.stamp_ns = segment.stamp_ns;
        self.again = segment.marks & marks::RETRANSMITTED;
    }

    /// Whether any segment waits.
    #[inline(always)]
    pub(super) fn waits(&self) -> bool {
        self.segments > 0
    }

    /// When the oldest has waited long enough; `u64::MAX` while none waits.
    #[inline(always)]
    pub(super) fn due_at_ps(&self) -> u64 {
        self.due_at_ps
    }

    /// An acknowledgement goes out: the stamp it echoes, and whether it may not be measured by.
    #[inline(always)]
    pub(super) fn sent(&mut self) -> (u32, u8) {
        self.segments = 0;
        self.due_at_ps = u64::MAX;
        (self.stamp_ns, self.again)
    }
}
