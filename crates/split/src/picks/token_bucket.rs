//! Token bucket: at most a burst at once and a rate in the long run, as a meter that drops what exceeds it or as a
//! shaper that delays it. Exact in integers: tokens are counted in billionths of a bit, of which a rate of one bit per
//! second yields one every nanosecond.

/// Tokens of one bit.
const PER_BIT: i64 = 1_000_000_000;
/// Largest depth: what 63 bits count.
const DEPTH_MAX_BYTES: u64 = (i64::MAX / PER_BIT / 8) as u64;

/// Token bucket, full at the origin of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate_bps: u64,
    depth: i64,
    /// Tokens at [`Self::at_ns`]. Negative if tokens are promised to frames that wait.
    level: i64,
    at_ns: u64,
}

impl TokenBucket {
    /// Makes a bucket of `rate_bps` bits per second and `depth_bytes`, at most 1.1 GB.
    #[must_use]
    pub fn new(rate_bps: u64, depth_bytes: u64) -> Self {
        let depth = depth_bytes.min(DEPTH_MAX_BYTES) as i64 * 8 * PER_BIT;
        Self { rate_bps, depth, level: depth, at_ns: 0 }
    }

    /// Depth of Wino's meters, in bytes: what the rate sends in `burst_ns` nanoseconds, and at least two frames of
    /// `mtu_bytes`.
    #[must_use]
    pub fn depth_bytes(rate_bps: u64, burst_ns: u64, mtu_bytes: u32) -> u64 {
        let burst = u128::from(rate_bps) * u128::from(burst_ns) / (8 * PER_BIT as u128);
        (2 * u64::from(mtu_bytes)).max(u64::try_from(burst).unwrap_or(u64::MAX))
    }

    /// Whether a frame may pass now; if so it takes its tokens.
    #[inline(always)]
    pub fn admit(&mut self, bytes: u32, now_ns: u64) -> bool {
        self.fill(now_ns);
        let needed = i64::from(bytes) * 8 * PER_BIT;
        let passes = self.level >= needed;
        if passes {
            self.level -= needed;
        }
        passes
    }

    /// Time at which a frame may pass: now, or once those before it and itself have their tokens.
    #[inline(always)]
    pub fn shape(&mut self, bytes: u32, now_ns: u64) -> u64 {
        self.fill(now_ns);
        self.level = self.level.saturating_sub(i64::from(bytes) * 8 * PER_BIT);
        if self.level >= 0 {
            return now_ns;
        }
        // A bucket without a rate never fills.
        self.level.unsigned_abs().div_ceil(self.rate_bps.max(1)).saturating_add(now_ns)
    }

    /// Time that the last of the waiting frames still has to wait, in nanoseconds.
    #[must_use]
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        let mut then = *self;
        then.fill(now_ns);
        then.level.min(0).unsigned_abs().div_ceil(self.rate_bps.max(1))
    }

    #[inline(always)]
    fn fill(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.at_ns);
        let gained = passed_ns.saturating_mul(self.rate_bps).min(i64::MAX as u64) as i64;
        self.level = self.level.saturating_add(gained).min(self.depth);
        self.at_ns = self.at_ns.max(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_of_meters() {
        assert_eq!(TokenBucket::depth_bytes(1_000_000_000, 1_000_000, 1518), 125_000);
        assert_eq!(TokenBucket::depth_bytes(7_000_000, 1_000_000, 1518), 3036);
    }

    #[test]
    fn a_meter_lets_a_burst_and_then_its_rate_pass() {
        // 1 Gbit/s: 1000 bytes take 8 us. 3000 bytes of depth.
        let mut meter = TokenBucket::new(1_000_000_000, 3000);
        let burst = (0..10).filter(|_| meter.admit(1000, 5)).count();
        assert_eq!(burst, 3);
        assert!(!meter.admit(1000, 5 + 7999));
        assert!(meter.admit(1000, 5 + 8000));
        assert!(!meter.admit(1, 5 + 8000));
        // Offered ten times the rate for a millisecond.
        let passed = (1..=1250).filter(|i| meter.admit(1000, 8005 + i * 800)).count();
        assert_eq!(passed, 125);
        // An hour later it is full, not fuller.
        let burst = (0..10).filter(|_| meter.admit(1000, 3_600_000_000_000)).count();
        assert_eq!(burst, 3);
    }

    #[test]
    fn no_rounding_adds_up() {
        // 1522 bytes take 1.739428571... ms at 7 Mbit/s. 30 s of 10 Gbit/s offered.
        let mut meter = TokenBucket::new(7_000_000, 3044);
        let step_ns = 1217;
        let steps = 30_000_000_000 / step_ns;
        let passed = (0..steps).filter(|i| meter.admit(1522, i * step_ns)).count() as u64;
        let most = (30 * 7_000_000 / 8 + 3044) / 1522;
        assert!(passed == most || passed + 1 == most, "{passed} of {most}");
    }

    #[test]
    fn a_shaper_delays_what_a_meter_would_drop() {
        let mut shaper = TokenBucket::new(1_000_000_000, 2000);
        assert_eq!(shaper.shape(1000, 100), 100);
        assert_eq!(shaper.shape(1000, 100), 100);
        assert_eq!(shaper.shape(1000, 100), 8100);
        assert_eq!(shaper.shape(1000, 100), 16_100);
        assert_eq!(shaper.wait_ns(100), 16_000);
        assert_eq!(shaper.shape(500, 8100), 20_100);
        assert_eq!(shaper.wait_ns(30_000), 0);
        assert_eq!(TokenBucket::new(0, 0).shape(1, 7), 8_000_000_007);
    }
}
