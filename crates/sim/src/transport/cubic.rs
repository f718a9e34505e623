//! CUBIC's window (RFC 9438), in segments, in the order of steps that Linux takes.

/// Aggressiveness, in segments per second cubed (RFC 9438, section 5).
const C: f64 = 0.4;
/// Multiplicative decrease.
const BETA: f64 = 0.7;
/// Segments per window at which the Reno-friendly estimate grows, so that it equals Reno's rate (RFC 9438, section
/// 4.3): 3 (1 - beta) / (1 + beta).
const FRIENDLY: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// While no maximum is known, a segment for at least each so many (Linux).
const SEARCH: f64 = 20.0;
const S_PER_PS: f64 = 1e-12;

/// State of congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    /// Window before the last reduction, W_max; zero if none is known.
    maximum: f64,
    /// Window at the plateau of the cubic.
    origin: f64,
    /// Seconds from the epoch's beginning to the plateau, K.
    plateau_s: f64,
    /// Reno's window since the epoch began, W_est.
    reno: f64,
    /// Segments acknowledged and not yet turned into window.
    credit: f64,
    /// When the epoch began; `u64::MAX` between a reduction and the next acknowledgement in congestion avoidance.
    epoch_ps: u64,
}

impl Cubic {
    pub(super) const NEW: Self =
        Self { maximum: 0.0, origin: 0.0, plateau_s: 0.0, reno: 0.0, credit: 0.0, epoch_ps: u64::MAX };

    fn begin_epoch(&mut self, window: f64, now_ps: u64) {
        self.epoch_ps = now_ps;
        self.reno = window;
        self.credit = 0.0;
        (self.plateau_s, self.origin) = if self.maximum <= window {
            (0.0, window)
        } else {
            (libm::cbrt((self.maximum - window) / C), self.maximum)
        };
    }

    /// Congestion avoidance: `acked` bytes arrived, the least round trip is `rtt_ps`. Returns the new window.
    #[inline]
    pub(super) fn avoid(
        &mut self,
        window_bytes: u64,
        acked: u64,
        segment: u64,
        now_ps: u64,
        rtt_ps: u64,
    ) -> u64 {
        let segments = 1.0 / segment as f64;
        let window = window_bytes as f64 * segments;
        let acked = acked as f64 * segments;
        if self.epoch_ps == u64::MAX {
            self.begin_epoch(window, now_ps);
        }
        // RFC 9438, section 4.2: the target is the cubic one round trip ahead.
        let ahead = (now_ps - self.epoch_ps + rtt_ps) as f64 * S_PER_PS - self.plateau_s;
        let target = self.origin + C * ahead * ahead * ahead;
        let mut per_segment = if target > window { window / (target - window) } else { 100.0 * window };
        if self.maximum == 0.0 {
            per_segment = per_segment.min(SEARCH);
        }
        // Section 4.3, equation 4.
        self.reno += FRIENDLY * acked / window;
        if self.reno > window {
            per_segment = per_segment.min(window / (self.reno - window));
        }
        // Section 4.2: the target is at most half a window above.
        self.credit += acked / per_segment.max(2.0);
        let whole = self.credit as u64;
        self.credit -= whole as f64;
        window_bytes + whole * segment
    }

    /// A reduction (sections 4.6 and 4.7): the new threshold.
    pub(super) fn reduced(&mut self, window_bytes: u64, segment: u64) -> u64 {
        let window = window_bytes as f64 / segment as f64;
        self.maximum = if window < self.maximum { window * (1.0 + BETA) / 2.0 } else { window };
        self.epoch_ps = u64::MAX;
        ((window_bytes as f64 * BETA) as u64).max(2 * segment)
    }

    /// Nothing was sent for so long: time in which the window could not be tried does not count (section 5.8, and
    /// Linux, which also keeps an epoch that began after the last sending from beginning in the future).
    pub(super) fn idled(&mut self, idle_ps: u64, now_ps: u64) {
        if self.epoch_ps != u64::MAX {
            self.epoch_ps = (self.epoch_ps + idle_ps).min(now_ps);
        }
    }

    /// A timeout (section 4.8): what was known is forgotten, as in Linux.
    pub(super) fn timed_out(&mut self) {
        *self = Self::NEW;
    }
}
