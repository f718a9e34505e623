//! Quality of a port: means of what it sent (past load) and of what waits in it (future load), each in one of eight bands.

/// Best band; the worst is zero.
pub const BEST: u8 = 7;

/// Number of fraction bits of a mean.
const FRACTION_BITS: u32 = 8;

/// How qualities are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Time between two samples, in nanoseconds.
    pub sampling_ns: u64,
    /// Divisor by which a sample of what was sent counts in its mean.
    pub past_weight: u8,
    /// Divisor by which a sample of what waits counts in its mean.
    pub future_weight: u8,
    /// Whether a mean falls to a sample below it at once.
    pub current: bool,
    /// Share of the link's rate up to which the past load is of the best band.
    pub past_min: f64,
    /// Share of the link's rate from which on it is of the worst band.
    pub past_max: f64,
    /// Bytes up to which the future load is of the best band.
    pub future_min_bytes: u64,
    /// Bytes from which on it is of the worst band.
    pub future_max_bytes: u64,
    /// Share of the past load in the quality; the rest is the future load's.
    pub past_share: f64,
}

impl Default for Profile {
    /// SAI's defaults (16 us, weights of 16, equal shares); thresholds are our own.
    fn default() -> Self {
        Self {
            sampling_ns: 16_000,
            past_weight: 16,
            future_weight: 16,
            current: false,
            past_min: 0.1,
            past_max: 0.9,
            future_min_bytes: 3_000,
            future_max_bytes: 100_000,
            past_share: 0.5,
        }
    }
}

/// Means of one port, in units of 2^-8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    past: u64,
    future: u64,
}

impl Load {
    /// Takes a sample: bytes sent since the one before, and bytes that wait.
    #[inline]
    pub fn sample(&mut self, profile: &Profile, sent_bytes: u64, waiting_bytes: u64) {
        self.past = mean(self.past, sent_bytes, profile.past_weight, profile.current);
        self.future = mean(self.future, waiting_bytes, profile.future_weight, profile.current);
    }

    /// Quality of the port; `full_bytes` is what its link carries between two samples.
    #[inline]
    #[must_use]
    pub fn quality(&self, profile: &Profile, full_bytes: u64) -> u8 {
        let unit = (1u64 << FRACTION_BITS) as f64;
        let full = full_bytes.max(1) as f64 * unit;
        let past = band(self.past as f64 / full, profile.past_min, profile.past_max);
        let (least, most) = (profile.future_min_bytes as f64, profile.future_max_bytes as f64);
        let future = band(self.future as f64 / unit, least, most);
        let share = profile.past_share;
        (share * f64::from(past) + (1.0 - share) * f64::from(future) + 0.5) as u8
    }
}

#[inline(always)]
fn mean(mean: u64, sample: u64, weight: u8, current: bool) -> u64 {
    let sample = sample << FRACTION_BITS;
    if sample >= mean {
        mean + (sample - mean) / u64::from(weight.max(1))
    } else if current {
        sample
    } else {
        mean - (mean - sample) / u64::from(weight.max(1))
    }
}

/// Band of a load: the best up to `least`, the worst from `most` on, and six of equal width between.
#[inline(always)]
fn band(load: f64, least: f64, most: f64) -> u8 {
    if load <= least {
        BEST
    } else if load >= most {
        0
    } else {
        BEST - 1 - ((load - least) / (most - least) * f64::from(BEST - 1)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gbit/s carry 20,000 bytes in 16 us.
    const FULL_BYTES: u64 = 20_000;

    #[test]
    fn a_mean_moves_by_a_sixteenth_and_falls_at_once_where_asked() {
        let profile = Profile::default();
        let mut load = Load::default();
        load.sample(&profile, 16_000, 32_000);
        assert_eq!((load.past >> 8, load.future >> 8), (1000, 2000));
        load.sample(&profile, 17_000, 2000);
        assert_eq!((load.past >> 8, load.future >> 8), (2000, 2000));
        load.sample(&profile, 0, 0);
        assert_eq!((load.past >> 8, load.future >> 8), (1875, 1875));
        load.sample(&Profile { current: true, ..profile }, 100, 17_875);
        assert_eq!((load.past >> 8, load.future >> 8), (100, 2875));
    }

    /// Between a tenth and nine tenths of the rate there are six bands of 13.3 %.
    #[test]
    fn bands_are_of_equal_width_between_the_thresholds() {
        let profile = Profile { past_weight: 1, past_share: 1.0, ..Profile::default() };
        let quality = |percent: u64| {
            let mut load = Load::default();
            load.sample(&profile, FULL_BYTES * percent / 100, 1_000_000);
            load.quality(&profile, FULL_BYTES)
        };
        let expected =
            [(0, 7), (10, 7), (11, 6), (23, 6), (24, 5), (36, 5), (37, 4), (49, 4), (51, 3), (76, 2)];
        for (percent, band) in expected.into_iter().chain([(77, 1), (89, 1), (90, 0), (100, 0)]) {
            assert_eq!(quality(percent), band, "{percent} %");
        }
    }

    #[test]
    fn shares_weigh_the_two_loads() {
        let quality = |past_share, sent_bytes, waiting_bytes| {
            let profile = Profile { past_weight: 1, future_weight: 1, past_share, ..Profile::default() };
            let mut load = Load::default();
            load.sample(&profile, sent_bytes, waiting_bytes);
            load.quality(&profile, FULL_BYTES)
        };
        // A busy link with nothing waiting, and an idle one with much.
        assert_eq!((quality(0.5, 20_000, 0), quality(0.5, 0, 200_000)), (4, 4), "3.5, rounded");
        assert_eq!((quality(0.8, 20_000, 0), quality(0.8, 0, 200_000)), (1, 6));
        assert_eq!((quality(0.0, 20_000, 0), quality(1.0, 0, 200_000)), (7, 7));
    }
}
