//! Utilisation of a link, from the sizes and gaps of its packets (HULA, Katta et al., SOSR 2016, section 3.2).
//!
//! A packet of D bytes that leaves dt after the one before makes `U = D + U * (1 - dt / tau)`, or D alone once dt
//! reaches tau. At a steady rate R, U stands at R * tau, so the link's utilisation is U over rate times tau.

/// Utilisation of one: a fully busy link.
pub const ONE: u16 = 1 << 14;
/// Largest utilisation that is distinguished: just under four.
pub const MOST: u16 = u16::MAX;
/// Largest U, so that its product with a time of 32 bits fits 64 bits.
const BYTES_MAX: u64 = u32::MAX as u64;

/// Recent traffic of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    bytes: u64,
    last_ns: u64,
}

impl Recent {
    /// Value of U, decayed since the last packet. `tau_ns` is not zero and below 2^32.
    #[inline(always)]
    #[must_use]
    pub fn bytes(&self, tau_ns: u64, now_ns: u64) -> u64 {
        let left_ns = tau_ns.saturating_sub(now_ns.saturating_sub(self.last_ns));
        self.bytes * left_ns.min(BYTES_MAX) / tau_ns.max(1)
    }

    /// Adds bytes that leave by the link.
    #[inline(always)]
    pub fn add(&mut self, tau_ns: u64, bytes: u32, now_ns: u64) {
        self.bytes = (self.bytes(tau_ns, now_ns) + u64::from(bytes)).min(BYTES_MAX);
        self.last_ns = now_ns;
    }

    /// Utilisation, in units of 1 / [`ONE`]. `full_bytes` is rate times tau.
    #[inline(always)]
    #[must_use]
    pub fn utilisation(&self, tau_ns: u64, full_bytes: u64, now_ns: u64) -> u16 {
        let raw = self.bytes(tau_ns, now_ns) * u64::from(ONE) / full_bytes.max(1);
        raw.min(MOST.into()) as u16
    }
}

/// Bytes of U on a fully busy link.
#[must_use]
pub const fn full_bytes(rate_bps: u64, tau_ns: u64) -> u64 {
    (rate_bps as u128 * tau_ns as u128 / 8_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAU_NS: u64 = 400_000;

    fn steady(rate_bps: u64, bytes: u32) -> (Recent, u64) {
        let mut recent = Recent::default();
        let gap_ns = u64::from(bytes) * 8_000_000_000 / rate_bps;
        let packets = 10 * TAU_NS / gap_ns;
        (0..=packets).for_each(|i| recent.add(TAU_NS, bytes, i * gap_ns));
        (recent, packets * gap_ns)
    }

    #[test]
    fn a_steady_rate_is_told_within_a_packet() {
        let full = full_bytes(10_000_000_000, TAU_NS);
        assert_eq!(full, 500_000);
        for (rate_bps, expected) in [(10_000_000_000, 1.0), (5_000_000_000, 0.5), (1_000_000_000, 0.1)] {
            let (recent, now_ns) = steady(rate_bps, 1250);
            let got = f64::from(recent.utilisation(TAU_NS, full, now_ns)) / f64::from(ONE);
            assert!((got - expected).abs() < 0.01, "{rate_bps}: {got}");
        }
    }

    #[test]
    fn an_idle_link_is_forgotten_in_a_straight_line() {
        let full = full_bytes(10_000_000_000, TAU_NS);
        let (recent, now_ns) = steady(10_000_000_000, 1250);
        let at = |after_ns| recent.bytes(TAU_NS, now_ns + after_ns);
        assert_eq!(at(TAU_NS / 2), at(0) / 2);
        assert_eq!((at(TAU_NS), at(u64::MAX - now_ns)), (0, 0));
        assert_eq!(recent.utilisation(TAU_NS, full, now_ns + TAU_NS), 0);
    }

    #[test]
    fn a_burst_beyond_what_is_told_apart_is_the_most() {
        let mut recent = Recent::default();
        (0..3).for_each(|_| recent.add(TAU_NS, u32::MAX, 5));
        assert_eq!(recent.utilisation(TAU_NS, full_bytes(10_000_000_000, TAU_NS), 5), MOST);
    }
}
