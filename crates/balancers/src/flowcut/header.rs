//! Flowcut's header in the 32 bits that travel with a packet: that it has one, the flowcut's number modulo 128, and when the
//! packet left its leaf, in steps of 4 ns that wrap after 67 ms.

const PRESENT: u32 = 1 << 31;
const NUMBER_AT: u32 = 24;
const NUMBER_MASK: u8 = 0x7f;
const TIME_MASK: u32 = (1 << NUMBER_AT) - 1;
/// Binary logarithm of a step of time: 2^2 ns.
const STEP: u32 = 2;

/// Header of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the flowcut, at most 127.
    pub number: u8,
    /// When the packet left its leaf, in steps.
    time: u32,
}

impl Header {
    /// Header of a packet that leaves its leaf now.
    #[inline(always)]
    #[must_use]
    pub const fn new(number: u8, now_ns: u64) -> Self {
        Self { number: number & NUMBER_MASK, time: (now_ns >> STEP) as u32 & TIME_MASK }
    }

    /// Packs the header into 32 bits.
    #[inline(always)]
    #[must_use]
    pub const fn pack(self) -> u32 {
        PRESENT | (self.number as u32) << NUMBER_AT | self.time
    }

    /// Unpacks the header of a packet; `None` if it has none.
    #[inline(always)]
    #[must_use]
    pub const fn unpack(tag: u32) -> Option<Self> {
        if tag & PRESENT == 0 {
            return None;
        }
        Some(Self { number: (tag >> NUMBER_AT) as u8 & NUMBER_MASK, time: tag & TIME_MASK })
    }

    /// Header of the answer to the packet, which arrives now: its time is the one that the packet took, up to 67 ms.
    #[inline(always)]
    #[must_use]
    pub const fn answered(self, now_ns: u64) -> u32 {
        Self { time: ((now_ns >> STEP) as u32).wrapping_sub(self.time) & TIME_MASK, ..self }.pack()
    }

    /// What an answer says: the number of the flowcut, and the time that the packet took, in nanoseconds.
    #[inline(always)]
    #[must_use]
    pub const fn answer(self) -> (u8, u32) {
        (self.number, self.time << STEP)
    }
}

/// Number of the flowcut after this one.
#[inline(always)]
#[must_use]
pub const fn next(number: u8) -> u8 {
    (number + 1) & NUMBER_MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_returns_and_time_wraps() {
        for (number, now_ns) in [(0, 0), (127, 4), (5, 67_108_860), (5, 67_108_864 * 9 + 400)] {
            let header = Header::new(number, now_ns);
            assert_eq!(Header::unpack(header.pack()), Some(header));
            let answer = Header::unpack(header.answered(now_ns + 12_000)).unwrap();
            assert_eq!(answer.answer(), (number, 12_000));
        }
        assert_eq!(Header::unpack(0), None);
        assert_eq!((next(126), next(127)), (127, 0));
    }
}
