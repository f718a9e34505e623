//! Random numbers for every packet of a host: eight bytes that stand in the port itself.

use anabranch_traffic::random::Stream;

/// SplitMix64 (Steele, Lea, Flood 2014); nothing is drawn while it is zero.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lots(u64);

impl Lots {
    /// Begins where a stream says.
    pub(crate) fn of(stream: &mut Stream) -> Self {
        Self(stream.bits().max(1))
    }

    /// Whether there are any.
    #[inline(always)]
    pub(crate) fn are_drawn(self) -> bool {
        self.0 != 0
    }

    /// Uniform below `n`, by the high half of a product.
    #[inline(always)]
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        // Zero, which would end it, comes once in 2^64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15).max(1);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (((bits >> 32) * u64::from(n)) >> 32) as u32
    }
}
