//! Interfaces of pcapng: link type, and the unit and origin of their times.

use super::byte_order::ByteOrder;
use crate::header::LinkType;

const OPTION_END: u16 = 0;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;
const NS_PER_S: i128 = 1_000_000_000;

/// Unit of times, converted to nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// A tick is this many nanoseconds.
    Nanoseconds(u64),
    /// A nanosecond is this many ticks.
    PerNanosecond(u64),
    /// A second is two to this power ticks.
    PowerOfTwo(u32),
}

impl Tick {
    /// Reads `if_tsresol`: the high bit chooses base 2 over base 10, the rest is the negative exponent.
    fn from_tsresol(value: u8) -> Self {
        let exponent = u32::from(value & 0x7f);
        if value & 0x80 != 0 {
            return Self::PowerOfTwo(exponent);
        }
        match exponent.checked_sub(9) {
            None => Self::Nanoseconds(10u64.pow(9 - exponent)),
            // 2^64 ticks of 10^-29 s or less are no nanosecond.
            Some(beyond) => Self::PerNanosecond(10u64.checked_pow(beyond).unwrap_or(u64::MAX)),
        }
    }

    fn nanoseconds(self, ticks: u64) -> i128 {
        match self {
            Self::Nanoseconds(ns) => i128::from(ticks) * i128::from(ns),
            Self::PerNanosecond(ticks_per_ns) => i128::from(ticks / ticks_per_ns),
            Self::PowerOfTwo(exponent) => (i128::from(ticks) * NS_PER_S) >> exponent,
        }
    }
}

/// Interface description block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) link_number: u16,
    pub(super) link_type: Option<LinkType>,
    /// Largest number of bytes kept of a packet; 0 for no limit.
    pub(super) snap_bytes: u32,
    tick: Tick,
    offset_ns: i128,
}

impl Interface {
    /// Parses the body of the block.
    pub(super) fn parse(order: ByteOrder, body: &[u8]) -> Result<Self, String> {
        let Some((&[l0, l1, _, _, s0, s1, s2, s3], mut options)) = body.split_first_chunk::<8>() else {
            return Err(format!("an interface description of {} bytes", body.len()));
        };
        let link_number = order.u16([l0, l1]);
        let mut interface = Self {
            link_number,
            link_type: LinkType::from_number(link_number),
            snap_bytes: order.u32([s0, s1, s2, s3]),
            tick: Tick::from_tsresol(6),
            offset_ns: 0,
        };
        while let Some((&[c0, c1, l0, l1], rest)) = options.split_first_chunk::<4>() {
            let code = order.u16([c0, c1]);
            let bytes = usize::from(order.u16([l0, l1]));
            if code == OPTION_END {
                break;
            }
            let (Some(value), Some(next)) = (rest.get(..bytes), rest.get(bytes.next_multiple_of(4)..)) else {
                return Err(format!("option {code} of {bytes} bytes runs past its interface description"));
            };
            match (code, value) {
                (OPTION_TSRESOL, &[resolution]) => interface.tick = Tick::from_tsresol(resolution),
                (OPTION_TSOFFSET, &[a, b, c, d, e, f, g, h]) => {
                    interface.offset_ns = i128::from(order.i64([a, b, c, d, e, f, g, h])) * NS_PER_S;
                }
                (OPTION_TSRESOL | OPTION_TSOFFSET, _) => {
                    return Err(format!("time option {code} of an interface has {bytes} bytes"));
                }
                _ => {}
            }
            options = next;
        }
        Ok(interface)
    }

    /// Converts ticks to nanoseconds since the epoch; times out of range become the nearest end of the range.
    #[inline]
    pub(super) fn time_ns(&self, ticks_high: u32, ticks_low: u32) -> u64 {
        let ticks = u64::from(ticks_high) << 32 | u64::from(ticks_low);
        let ns = self.tick.nanoseconds(ticks) + self.offset_ns;
        u64::try_from(ns).unwrap_or(if ns < 0 { 0 } else { u64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interface with `if_tsresol` and `if_tsoffset`, big-endian.
    fn interface(resolution: u8, offset_s: i64) -> Interface {
        let mut body = vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, resolution, 0, 0, 0, 0, 14, 0, 8];
        body.extend(offset_s.to_be_bytes());
        Interface::parse(ByteOrder::Big, &body).unwrap()
    }

    #[test]
    fn every_resolution_gives_the_same_moment() {
        let whole_seconds = 1_700_000_000u64;
        for (resolution, ticks_per_s) in [
            (0, 1),
            (3, 1000),
            (6, 1_000_000),
            (9, 1_000_000_000),
            (10, 10_000_000_000),
            (0x80, 1),
            (0x94, 1 << 20),
        ] {
            let ticks = whole_seconds * ticks_per_s;
            let time = |offset| interface(resolution, offset).time_ns((ticks >> 32) as u32, ticks as u32);
            assert_eq!(time(0), whole_seconds * 1_000_000_000, "{resolution:#x}");
            assert_eq!(time(-3600), (whole_seconds - 3600) * 1_000_000_000, "{resolution:#x}");
        }
        // Half a second in units of 2^-33 s; the low word alone.
        assert_eq!(interface(0x80 | 33, 7).time_ns(1, 0), 7_500_000_000);
    }

    #[test]
    fn times_out_of_range_saturate() {
        assert_eq!(interface(0, 0).time_ns(u32::MAX, u32::MAX), u64::MAX);
        assert_eq!(interface(6, i64::MIN).time_ns(0, 5), 0);
        assert_eq!(interface(6, i64::MAX).time_ns(0, 5), u64::MAX);
        assert_eq!(interface(127, 0).time_ns(u32::MAX, u32::MAX), 1);
        assert_eq!(interface(0xff, 0).time_ns(u32::MAX, u32::MAX), 0);
    }

    #[test]
    fn options_that_do_not_fit_are_refused() {
        let parse =
            |tail: &[u8]| Interface::parse(ByteOrder::Little, &[&[1, 0, 0, 0, 0, 0, 0, 0], tail].concat());
        assert!(parse(&[9, 0, 1, 0]).unwrap_err().contains("option 9"));
        assert!(parse(&[2, 0, 9, 0, 1, 2, 3, 4]).unwrap_err().contains("option 2"));
        assert!(parse(&[9, 0, 2, 0, 1, 2, 3, 4]).unwrap_err().contains("time option 9"));
        assert_eq!(parse(&[0, 0, 0, 0, 9, 0, 2, 0]).unwrap().tick, Tick::Nanoseconds(1000));
    }
}
