//! ConWeave's headers in the 32 bits that travel with a packet.
//!
//! The kind of a packet distinguishes data and control, not the header. Times are in steps of 64 ns and wrap after 4.2
//! ms, epochs wrap after 16.

const EPOCH_BITS: u32 = 4;
const PATH_BITS: u32 = 9;
const PHASE_AT: u32 = EPOCH_BITS;
const FLAG_AT: u32 = PHASE_AT + 1;
const PATH_AT: u32 = FLAG_AT + 2;
const TIME_AT: u32 = PATH_AT + PATH_BITS;
const EPOCH_MASK: u32 = (1 << EPOCH_BITS) - 1;
const PATH_MASK: u32 = (1 << PATH_BITS) - 1;

/// Largest number of paths between two leaves.
pub const PATHS_MAX: usize = 1 << PATH_BITS;

/// Time in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stamp(u16);

impl Stamp {
    /// Binary logarithm of a step: 2^6 ns.
    const SHIFT: u32 = 6;

    /// Converts a time in nanoseconds.
    #[inline(always)]
    #[must_use]
    pub const fn of(now_ns: u64) -> Self {
        Self((now_ns >> Self::SHIFT) as u16)
    }

    /// Nanoseconds from an earlier stamp to this one; zero if `earlier` is the later one, by up to half of the wrapping
    /// time.
    #[inline(always)]
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        let steps = self.0.wrapping_sub(earlier.0);
        if steps > u16::MAX / 2 { 0 } else { (steps as u64) << Self::SHIFT }
    }
}

/// Number of a flow's round, modulo 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Epoch(u8);

impl Epoch {
    /// Next epoch.
    #[inline(always)]
    #[must_use]
    pub const fn next(self) -> Self {
        Self((self.0 + 1) & EPOCH_MASK as u8)
    }

    /// Whether this epoch comes after another, which must be at most seven away.
    #[inline(always)]
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        let ahead = self.0.wrapping_sub(other.0) & EPOCH_MASK as u8;
        ahead > 0 && ahead <= EPOCH_MASK as u8 / 2
    }
}

/// Request of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Flag {
    /// No request.
    #[default]
    Plain,
    /// First packet of an epoch: asks for a reply, which measures the round trip (RTT request).
    Init,
    /// Last packet on the old path: asks for a reply once it has arrived (CLEAR).
    Tail,
}

/// Header of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Header {
    /// Number of the round.
    pub epoch: Epoch,
    /// Whether it was sent after the reroute of this round.
    pub rerouted: bool,
    /// Request of the packet.
    pub flag: Flag,
    /// Path of the packet.
    pub path: u16,
    /// Time at which it was sent; after a reroute, the time at which the tail was sent.
    pub sent: Stamp,
}

impl Header {
    /// Packs the header into 32 bits.
    #[inline(always)]
    #[must_use]
    pub const fn pack(self) -> u32 {
        let flag = match self.flag {
            Flag::Plain => 1,
            Flag::Init => 2,
            Flag::Tail => 3,
        };
        self.epoch.0 as u32
            | (self.rerouted as u32) << PHASE_AT
            | flag << FLAG_AT
            | (self.path as u32 & PATH_MASK) << PATH_AT
            | (self.sent.0 as u32) << TIME_AT
    }

    /// Unpacks the header of a packet; `None` if it has none.
    #[inline(always)]
    #[must_use]
    pub const fn unpack(tag: u32) -> Option<Self> {
        let flag = match tag >> FLAG_AT & 3 {
            1 => Flag::Plain,
            2 => Flag::Init,
            3 => Flag::Tail,
            _ => return None,
        };
        Some(Self {
            epoch: Epoch((tag & EPOCH_MASK) as u8),
            rerouted: tag >> PHASE_AT & 1 == 1,
            flag,
            path: (tag >> PATH_AT & PATH_MASK) as u16,
            sent: Stamp((tag >> TIME_AT) as u16),
        })
    }
}

/// Message from the destination leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The first packet of an epoch has arrived (RTT reply).
    Reply(Epoch),
    /// The tail of an epoch has arrived (CLEAR).
    Clear(Epoch),
    /// A packet that came by this path was marked (NOTIFY).
    Notify(u16),
}

impl Control {
    /// Packs the message into 32 bits.
    #[inline(always)]
    #[must_use]
    pub const fn pack(self) -> u32 {
        let (kind, value) = match self {
            Self::Reply(epoch) => (1, epoch.0 as u32),
            Self::Clear(epoch) => (2, epoch.0 as u32),
            Self::Notify(path) => (3, path as u32),
        };
        value << 2 | kind
    }

    /// Unpacks the message of a control packet.
    #[inline(always)]
    #[must_use]
    pub const fn unpack(tag: u32) -> Option<Self> {
        let value = tag >> 2;
        match tag & 3 {
            1 => Some(Self::Reply(Epoch((value & EPOCH_MASK) as u8))),
            2 => Some(Self::Clear(Epoch((value & EPOCH_MASK) as u8))),
            3 => Some(Self::Notify(value as u16)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_returns() {
        let late = (0..15).fold(Epoch::default(), |epoch, _| epoch.next());
        for (epoch, path, now_ns) in [(Epoch::default(), 0, 0), (late, 511, 4_194_303), (late, 300, 64)] {
            for flag in [Flag::Plain, Flag::Init, Flag::Tail] {
                for rerouted in [false, true] {
                    let header = Header { epoch, rerouted, flag, path, sent: Stamp::of(now_ns) };
                    assert_eq!(Header::unpack(header.pack()), Some(header));
                }
            }
            for control in [Control::Reply(epoch), Control::Clear(epoch), Control::Notify(path)] {
                assert_eq!(Control::unpack(control.pack()), Some(control));
            }
        }
        assert_eq!((Header::unpack(0), Control::unpack(0)), (None, None));
    }

    #[test]
    fn what_wraps_keeps_its_order() {
        let mut epoch = Epoch::default();
        for _ in 0..40 {
            let before = epoch;
            epoch = before.next();
            assert!(epoch.is_after(before) && !before.is_after(epoch) && !epoch.is_after(epoch));
        }
        for start_ns in [0, 4_194_240, 8_388_000] {
            assert_eq!(Stamp::of(start_ns + 640).since(Stamp::of(start_ns)), 640);
            assert_eq!(Stamp::of(start_ns).since(Stamp::of(start_ns + 640)), 0);
        }
    }
}
