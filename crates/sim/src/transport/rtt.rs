//! Round trips and the retransmission timeout (RFC 6298).

use super::Tcp;

/// Smoothed round trip, its variation, and the back-off, in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rtt {
    smoothed_ps: u64,
    variation_ps: u64,
    /// Least measured so far; zero before the first.
    least_ps: u64,
    /// Doublings since the last acknowledgement of new data.
    doublings: u32,
}

impl Rtt {
    /// Round trip of a packet stamped `stamp_ns` and answered now. Stamps wrap after 4.29 s.
    #[inline(always)]
    pub(super) fn since(stamp_ns: u32, now_ps: u64) -> u64 {
        u64::from(((now_ps / 1000) as u32).wrapping_sub(stamp_ns)) * 1000
    }

    /// RFC 6298 2.2, 2.3, with its gains 1/8 and 1/4.
    #[inline]
    pub(super) fn measure(&mut self, rtt_ps: u64) {
        if self.smoothed_ps == 0 {
            self.smoothed_ps = rtt_ps;
            self.variation_ps = rtt_ps / 2;
            self.least_ps = rtt_ps;
        } else {
            let error = self.smoothed_ps.abs_diff(rtt_ps);
            self.variation_ps = self.variation_ps - self.variation_ps / 4 + error / 4;
            self.smoothed_ps = self.smoothed_ps - self.smoothed_ps / 8 + rtt_ps / 8;
            self.least_ps = self.least_ps.min(rtt_ps);
        }
    }

    /// Smoothed; zero before the first measurement.
    pub(super) fn smoothed_ps(&self) -> u64 {
        self.smoothed_ps
    }

    /// Least of all measured; zero before the first.
    pub(super) fn least_ps(&self) -> u64 {
        self.least_ps
    }

    /// RFC 6298 2.1 to 2.5; no clock granularity. Backed off as often as [`Self::back_off`] said.
    #[inline]
    pub(super) fn timeout_ps(&self, tcp: &Tcp) -> u64 {
        let base = match self.smoothed_ps {
            0 => tcp.rto_initial_ps,
            smoothed => smoothed + 4 * self.variation_ps,
        };
        base.max(tcp.rto_min_ps).saturating_mul(1 << self.doublings).min(tcp.rto_max_ps)
    }

    /// RFC 6298 5.5.
    pub(super) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(32);
    }

    /// New data was acknowledged: the path works. With timestamps each acknowledgement of new data is a valid
    /// measurement (RFC 7323), so the back-off ends here, as in Linux and ns-3.
    #[inline(always)]
    pub(super) fn end_back_off(&mut self) {
        self.doublings = 0;
    }

    /// Whether a timeout has passed since new data was last acknowledged.
    pub(super) fn backed_off(&self) -> bool {
        self.doublings > 0
    }
}
