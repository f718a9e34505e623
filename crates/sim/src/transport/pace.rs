//! Applications that write at a rate of their own: a token bucket before the congestion window.
//!
//! Tokens come `burst_bytes` at a time, the first at once, and stay until they are used. What a connection may have sent
//! by a time is therefore what an application would have written by then that writes blocks of that size at a constant
//! rate, as iPerf3 does with `-b`; a connection that the network held back catches up.

use anabranch_fabric::Rate;

/// Bits of a byte times picoseconds of a second.
const BIT_PS_PER_BYTE_S: u128 = 8_000_000_000_000;

/// Rate of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Rate of payload.
    pub rate: Rate,
    /// Payload written at once, at least 1.
    pub burst_bytes: u64,
}

/// Token bucket of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    pace: Pace,
    /// Position of the flow's first byte in the stream.
    first: u64,
    began_ps: u64,
    due_ps: u64,
}

impl Bucket {
    /// A flow begins with the byte at `first`.
    pub(super) fn begin(pace: Pace, first: u64, now_ps: u64) -> Self {
        Self { pace, first, began_ps: now_ps, due_ps: u64::MAX }
    }

    /// Whether the application has written the bytes below `end`. If not, it will have at [`Self::due_ps`].
    pub(super) fn has(&mut self, end: u64, now_ps: u64) -> bool {
        let Pace { rate, burst_bytes } = self.pace;
        let before = (end - self.first).div_ceil(burst_bytes).saturating_sub(1);
        let bits_ps = u128::from(before) * u128::from(burst_bytes) * BIT_PS_PER_BYTE_S;
        let after_ps = bits_ps.div_ceil(u128::from(rate.bps()));
        let due_ps = self.began_ps.saturating_add(u64::try_from(after_ps).unwrap_or(u64::MAX));
        let has = due_ps <= now_ps;
        self.due_ps = if has { u64::MAX } else { due_ps };
        has
    }

    /// Nothing is awaited.
    pub(super) fn rest(&mut self) {
        self.due_ps = u64::MAX;
    }

    /// When the bytes that were asked for last are written; `u64::MAX` if they are.
    pub(super) fn due_ps(&self) -> u64 {
        self.due_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_at_the_rate_the_first_at_once() {
        // 1000 bytes at 8 Mbit/s: 1 ms.
        let pace = Pace { rate: Rate::from_bps(8_000_000).unwrap(), burst_bytes: 1000 };
        let mut bucket = Bucket::begin(pace, 500, 7);
        let ms = 1_000_000_000;
        assert!(bucket.has(1500, 7) && bucket.due_ps() == u64::MAX);
        for (end, due_ps) in [(1501, ms + 7), (2500, ms + 7), (2501, 2 * ms + 7), (10_500, 9 * ms + 7)] {
            assert!(!bucket.has(end, due_ps - 1), "{end}");
            assert_eq!(bucket.due_ps(), due_ps);
            assert!(bucket.has(end, due_ps));
        }
        assert!(!bucket.has(u64::MAX, 7), "no overflow");
    }
}
