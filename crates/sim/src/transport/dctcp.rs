//! DCTCP's estimate of the fraction of marked bytes (RFC 8257, section 3.3).

/// State between windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dctcp {
    alpha: f64,
    acked: u64,
    marked: u64,
    window_end: u64,
}

impl Dctcp {
    /// Alpha begins at 1: the first mark halves the window (RFC 8257, section 3.3).
    pub(super) const NEW: Self = Self { alpha: 1.0, acked: 0, marked: 0, window_end: 0 };

    /// An acknowledgement of `acked` bytes, up to `una`, while `next` is the next byte to be sent.
    #[inline]
    pub(super) fn observe(&mut self, acked: u64, echo: bool, una: u64, next: u64, gain: f64) {
        self.acked += acked;
        if echo {
            self.marked += acked;
        }
        if una > self.window_end {
            if self.acked > 0 {
                let fraction = self.marked as f64 / self.acked as f64;
                self.alpha = (1.0 - gain) * self.alpha + gain * fraction;
            }
            self.acked = 0;
            self.marked = 0;
            self.window_end = next;
        }
    }

    /// RFC 8257, section 3.3, step 9, and no less than two segments as Linux keeps it.
    pub(super) fn reduced(&self, window: u64, segment: u64) -> u64 {
        let cut = (window as f64 * self.alpha / 2.0) as u64;
        (window - cut.min(window)).max(2 * segment)
    }

    /// Estimated fraction of marked bytes.
    #[cfg(test)]
    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }
}
