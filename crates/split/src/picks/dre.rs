//! Discounting rate estimator: the load of a link, in a register that each packet raises and time lowers (CONGA,
//! Alizadeh et al., SIGCOMM 2014, section 3.2).
//!
//! The register grows by the bytes of each packet and loses a fraction alpha every period. At a steady rate R it
//! reaches R * period / alpha just before it loses, so it looks back over the time `period / alpha`.
//!
//! There is no timer: a register remembers its period and makes up for those that passed when it is next read. All
//! registers lose at multiples of the period, as if one timer served the switch, and each loss is rounded by itself, so
//! the value read is bit for bit what the timer would have left if alpha is 1/32 or more. For smaller alpha, a register
//! that was left alone for over 1024 periods has lost less than it should.

/// Number of fraction bits of [`Estimator::alpha`].
const ALPHA_BITS: u32 = 24;
/// Number of fraction bits of the register.
const BYTE_BITS: u32 = 8;
/// Largest value of the register: 4 GiB, what remains of 64 bits beside alpha.
const REGISTER_MAX: u64 = (1 << (64 - ALPHA_BITS)) - 1;
/// Number of periods made up for at once: any register is constant after that many.
const PERIODS_MAX: u64 = 1024;

/// Settings of registers: how they lose, and how they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimator {
    /// Time between two losses, in nanoseconds, not zero.
    pub period_ns: u64,
    /// Fraction that is lost, in units of 2^-24.
    pub alpha: u32,
    /// Bits of a level (Q), 1 to 7.
    pub level_bits: u8,
}

impl Estimator {
    /// Converts a fraction to units of 2^-24.
    #[must_use]
    pub const fn alpha(fraction: f64) -> u32 {
        (fraction * (1u64 << ALPHA_BITS) as f64) as u32
    }

    /// Value of the register of a fully busy link, in bytes, by which [`Register::level`] divides.
    #[must_use]
    pub const fn full_bytes(&self, rate_bps: u64) -> u64 {
        let period_bytes = rate_bps as u128 * self.period_ns as u128 / 8_000_000_000;
        let alpha = if self.alpha == 0 { 1 } else { self.alpha };
        ((period_bytes << ALPHA_BITS) / alpha as u128) as u64
    }

    /// Largest level.
    #[inline(always)]
    #[must_use]
    pub const fn level_max(&self) -> u8 {
        (1 << (self.level_bits & 7)) - 1
    }
}

/// Register of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Register {
    /// Value in units of 2^-8 bytes.
    value: u64,
    /// Number of the current period.
    period: u64,
}

impl Register {
    /// Makes up for the losses until now.
    #[inline(always)]
    fn lose(&mut self, estimator: &Estimator, now_ns: u64) {
        let period = now_ns / estimator.period_ns.max(1);
        let passed = period.saturating_sub(self.period).min(PERIODS_MAX);
        self.period = period;
        for _ in 0..passed {
            let lost = (self.value * u64::from(estimator.alpha)) >> ALPHA_BITS;
            if lost == 0 {
                break;
            }
            self.value -= lost;
        }
    }

    /// Adds bytes that leave by the link.
    #[inline(always)]
    pub fn add(&mut self, estimator: &Estimator, bytes: u32, now_ns: u64) {
        self.lose(estimator, now_ns);
        self.value = (self.value + (u64::from(bytes) << BYTE_BITS)).min(REGISTER_MAX);
    }

    /// Value of the register in bytes.
    #[inline(always)]
    pub fn bytes(&mut self, estimator: &Estimator, now_ns: u64) -> u64 {
        self.lose(estimator, now_ns);
        self.value >> BYTE_BITS
    }

    /// Load of the link, in 2^Q levels: the highest also if a burst takes the register beyond that of a fully busy
    /// link.
    #[inline(always)]
    pub fn level(&mut self, estimator: &Estimator, full_bytes: u64, now_ns: u64) -> u8 {
        let raw = (self.bytes(estimator, now_ns) << (estimator.level_bits & 7)) / full_bytes.max(1);
        raw.min(estimator.level_max().into()) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Estimator = Estimator { period_ns: 30_000, alpha: Estimator::alpha(0.2), level_bits: 3 };

    /// Register after 125-byte packets at a steady rate, just before a loss.
    fn steady(rate_bps: u64) -> (Register, u64) {
        let estimator = PAPER;
        let mut register = Register::default();
        let packet_ns = 125 * 8_000_000_000 / rate_bps;
        let end_ns = 400 * estimator.period_ns;
        (0..end_ns / packet_ns).for_each(|i| register.add(&estimator, 125, i * packet_ns));
        (register, end_ns - 1)
    }

    #[test]
    fn a_busy_link_stands_at_what_the_closed_form_says() {
        let estimator = PAPER;
        let full = estimator.full_bytes(10_000_000_000);
        assert_eq!(full, 187_500);
        let (mut busy, now_ns) = steady(10_000_000_000);
        assert_eq!(busy.bytes(&estimator, now_ns), 187_500);
        assert_eq!((busy.bytes(&estimator, now_ns) << 3) / full, 8, "the raw level, hence the clamp");
        assert_eq!(busy.level(&estimator, full, now_ns), 7);
        let (mut half, now_ns) = steady(5_000_000_000);
        assert_eq!(half.level(&estimator, full, now_ns), 4);
        assert_eq!(busy.level(&estimator, full, now_ns + 1_000_000), 0);
    }

    #[test]
    fn what_is_made_up_for_is_what_a_timer_does() {
        for alpha in [0.2, 0.5, 1.0 / 32.0] {
            let estimator = Estimator { period_ns: 10, alpha: Estimator::alpha(alpha), level_bits: 3 };
            let (mut lazy, mut timed) = (Register::default(), 0u64);
            let mut bits = 1u64;
            for now_ns in 0..200_000u64 {
                if now_ns > 0 && now_ns % 10 == 0 {
                    timed -= (timed * u64::from(estimator.alpha)) >> ALPHA_BITS;
                }
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Packets come in spells: busy for some thousand nanoseconds, then long idle.
                if (now_ns / 9000) % 3 == 0 && bits >> 60 == 0 {
                    let bytes = (bits >> 32) as u32 % 1500;
                    lazy.add(&estimator, bytes, now_ns);
                    timed += u64::from(bytes) << BYTE_BITS;
                }
                if bits >> 58 == 5 {
                    assert_eq!(lazy.bytes(&estimator, now_ns), timed >> BYTE_BITS, "{now_ns}");
                }
            }
        }
    }

    #[test]
    fn a_register_left_alone_for_good_comes_to_rest() {
        let estimator = PAPER;
        let mut register = Register { value: REGISTER_MAX, period: 0 };
        assert_eq!(register.bytes(&estimator, u64::MAX), 0);
        register.add(&estimator, u32::MAX, u64::MAX);
        register.add(&estimator, u32::MAX, u64::MAX);
        assert_eq!(register.bytes(&estimator, u64::MAX), REGISTER_MAX >> BYTE_BITS);
    }
}
