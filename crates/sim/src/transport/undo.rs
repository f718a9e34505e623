//! Reductions of the window that prove needless, and are taken back.
//!
//! As Linux does (`tcp_try_undo_*`): what was sent again arrived twice, each copy (DSACK, RFC 2883; RFC 3708), or an
//! acknowledgement answers to a segment from before the first copy was sent (the Eifel detection, RFC 3522).

/// Congestion state before a reduction, and whether the reduction proves needless.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// Window and threshold, in bytes; `None` if there is no reduction to be taken back.
    before: Option<(u64, u64)>,
    /// Lowest byte not acknowledged when it began.
    began_at: u64,
    /// Copies sent again and not reported to have arrived twice; `None` before the first.
    copies: Option<u32>,
    /// Timestamp of the first of them.
    first_ns: u32,
}

impl Undo {
    /// A reduction from this window and threshold begins, with all below `una` acknowledged.
    pub(super) fn begin(window: u64, threshold: u64, una: u64) -> Self {
        Self { before: Some((window, threshold)), began_at: una, copies: None, first_ns: 0 }
    }

    /// A segment is sent again.
    pub(super) fn sent_again(&mut self, now_ps: u64) {
        if self.copies.is_none() {
            self.first_ns = (now_ps / 1000) as u32;
        }
        self.copies = Some(self.copies.unwrap_or(0) + 1);
    }

    /// Bytes up to `end` arrived twice.
    pub(super) fn arrived_twice(&mut self, end: u64) {
        if end > self.began_at {
            self.copies = self.copies.map(|copies| copies.saturating_sub(1));
        }
    }

    /// Whether each copy has arrived twice.
    pub(super) fn all_twice(&self) -> bool {
        self.before.is_some() && self.copies == Some(0)
    }

    /// Whether an acknowledgement that echoes `stamp_ns` answers to what was sent before the first copy.
    pub(super) fn answers_earlier(&self, stamp_ns: u32) -> bool {
        self.before.is_some() && self.copies.is_some() && (stamp_ns.wrapping_sub(self.first_ns) as i32) < 0
    }

    /// Window and threshold to go back to; once.
    pub(super) fn take(&mut self) -> Option<(u64, u64)> {
        self.before.take()
    }
}
