//! Rates, and the time that bytes take.

/// Picoseconds in a second.
const PS_PER_S: u128 = 1_000_000_000_000;
/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1000;
/// Number of fraction bits of [`Serialization`].
const FRACTION_BITS: u32 = 20;

/// Rate in bits per second, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// Slowest rate: 64 kbit/s keeps every frame's time in 64 bits.
    pub const LEAST_BPS: u64 = 64_000;
    /// Fastest rate: 100 Tbit/s, at which a frame of 1,500 bytes takes 120 picoseconds.
    pub const MOST_BPS: u64 = 100_000_000_000_000;

    /// Rate of [`Self::MOST_BPS`].
    pub const FASTEST: Self = Self(Self::MOST_BPS);

    /// Makes a rate; `None` outside [`Self::LEAST_BPS`] to [`Self::MOST_BPS`].
    #[must_use]
    pub const fn from_bps(bps: u64) -> Option<Self> {
        if bps < Self::LEAST_BPS || bps > Self::MOST_BPS { None } else { Some(Self(bps)) }
    }

    /// Rate in bits per second.
    #[must_use]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// The same rate as a factor from bytes to time.
    #[must_use]
    pub const fn serialization(self) -> Serialization {
        let ps_per_byte = ((8 * PS_PER_S) << FRACTION_BITS).div_ceil(self.0 as u128);
        Serialization { word: (ps_per_byte as u64) << 1 }
    }
}

/// Picoseconds per byte in fixed point: exact wherever a byte takes whole picoseconds (10, 25, 40, 100, 400 Gbit/s),
/// within one picosecond a frame elsewhere, never too fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serialization {
    /// Twice the factor, and whether frames take whole nanoseconds, rounded down: ports have no room for more.
    word: u64,
}

impl Serialization {
    /// The same, with the time of each frame rounded down to whole nanoseconds where `whole_ns`.
    #[must_use]
    pub const fn rounded(self, whole_ns: bool) -> Self {
        Self { word: self.word & !1 | whole_ns as u64 }
    }

    /// The same for another rate.
    #[must_use]
    pub const fn at(self, rate: Rate) -> Self {
        rate.serialization().rounded(self.word & 1 != 0)
    }

    /// Time that a frame of at most 64 KiB, with preamble and gap, takes on the wire, in picoseconds, rounded up; or see [`Self::rounded`].
    #[inline(always)]
    #[must_use]
    pub const fn frame_ps(self, bytes: u32) -> u64 {
        if self.word & 1 != 0 {
            let exact_ps = ((self.word >> 1) * bytes as u64) >> FRACTION_BITS;
            return exact_ps / PS_PER_NS * PS_PER_NS;
        }
        // 68 KiB at the slowest rate: 69,632 * 1.25e8 * 2^21 < 2^64 - 2^21.
        (self.word * bytes as u64 + ((2 << FRACTION_BITS) - 1)) >> (FRACTION_BITS + 1)
    }

    /// Time that any number of bytes takes, in picoseconds, rounded up.
    #[must_use]
    pub const fn bytes_ps(self, bytes: u64) -> u64 {
        (((self.word >> 1) as u128 * bytes as u128 + ((1 << FRACTION_BITS) - 1)) >> FRACTION_BITS) as u64
    }
}
