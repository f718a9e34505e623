//! Probe packet of Luopan: its header, its sizes, and its cost (section 3.1).

/// Bytes of a probe's headers, as the paper counts them: Ethernet, IP and probe header, 14 + 20 + 4.
pub const HEADER_BYTES: u32 = 38;

/// Bytes of a probe on a link: the smallest Ethernet frame.
pub const FRAME_BYTES: u16 = 64;

/// Largest value of the quantised congestion metric: 7 bits.
pub const CONGESTION_MAX: u32 = (1 << 7) - 1;

/// Header of a probe, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the path, 24 bits.
    pub path: u32,
    /// Whether the probe is on its way back.
    pub is_answer: bool,
    /// Sum of the backlogs along the path in steps, 7 bits.
    pub congestion: u8,
}

impl Header {
    /// Packs the path into the upper 24 bits, then type, then congestion; a value that does not fit becomes the largest
    /// that does.
    #[must_use]
    pub fn to_bits(self) -> u32 {
        let congestion = u32::from(self.congestion).min(CONGESTION_MAX);
        self.path.min((1 << 24) - 1) << 8 | u32::from(self.is_answer) << 7 | congestion
    }

    /// Unpacks a header.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self { path: bits >> 8, is_answer: bits & 1 << 7 != 0, congestion: (bits & CONGESTION_MAX) as u8 }
    }
}

/// Number of bytes in one step of the metric, so that `hops` full buffers are no more than the largest value. At least
/// one.
#[must_use]
pub const fn step_bytes(hops: u32, buffer_bytes: u32) -> u32 {
    let step = (hops as u64 * buffer_bytes as u64).div_ceil(CONGESTION_MAX as u64);
    if step == 0 {
        1
    } else if step > u32::MAX as u64 {
        u32::MAX
    } else {
        step as u32
    }
}

/// Metric for a sum of backlogs.
#[inline(always)]
#[must_use]
pub fn quantise(backlog_bytes: u32, step_bytes: u32) -> u32 {
    backlog_bytes.checked_div(step_bytes).unwrap_or(backlog_bytes).min(CONGESTION_MAX)
}

/// Probes that a leaf sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probing {
    /// Number of destination leaves in use at once.
    pub destinations: u32,
    /// Number of paths sampled of each.
    pub samples: u32,
    /// Time between two rounds, in nanoseconds.
    pub expiry_ns: u64,
    /// Size of a probe on a link, in bytes.
    pub probe_bytes: u32,
    /// Number of uplinks of the leaf.
    pub uplinks: u32,
    /// Rate of each uplink, in bits per second.
    pub rate_bps: u64,
}

impl Probing {
    /// Share of each uplink that the leaf's own probes take, in millionths, rounded down: the paper's formula. The
    /// formula leaves out the answers to others' probes, which take as much again if all leaves do the same.
    #[must_use]
    pub fn share_ppm(&self) -> u64 {
        let bits = u128::from(self.samples)
            * u128::from(self.destinations)
            * u128::from(self.probe_bytes)
            * 8
            * 1_000_000_000
            * 1_000_000;
        let capacity = u128::from(self.expiry_ns) * u128::from(self.uplinks) * u128::from(self.rate_bps);
        bits.checked_div(capacity).map_or(0, |share| u64::try_from(share).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_38_bytes_with_a_header_of_32_bits() {
        assert_eq!(HEADER_BYTES, 14 + 20 + 4);
        let header = Header { path: 0xab_cdef, is_answer: true, congestion: 0x55 };
        assert_eq!(header.to_bits(), 0xabcd_efd5);
        assert_eq!(Header::from_bits(header.to_bits()), header);
        let query = Header { path: 35, is_answer: false, congestion: 127 };
        assert_eq!(Header::from_bits(query.to_bits()), query);
        let large = Header { path: u32::MAX, is_answer: false, congestion: 200 };
        assert_eq!(large.to_bits(), 0xffff_ff7f, "saturates instead of spilling into the neighbour");
    }

    /// Checks four hops of 300 KB, the fat-tree of section 4.1.
    #[test]
    fn four_full_buffers_are_127_steps() {
        let step = step_bytes(4, 300_000);
        assert_eq!(step, 9449);
        assert_eq!(quantise(1_200_000, step), 126);
        assert_eq!(quantise(1_200_023, step), 127);
        assert_eq!(quantise(u32::MAX, step), 127);
        assert_eq!(quantise(9448, step), 0);
        assert_eq!(step_bytes(0, 0), 1);
    }

    /// Compares with section 3.1: 2 * 100 * 38 B / (40 us * 40 * 10 Gb/s) = 0.38 %, and with the share that frames and
    /// gaps make of it.
    #[test]
    fn overhead_of_the_paper() {
        let paper = Probing {
            destinations: 100,
            samples: 2,
            expiry_ns: 40_000,
            probe_bytes: HEADER_BYTES,
            uplinks: 40,
            rate_bps: 10_000_000_000,
        };
        assert_eq!(paper.share_ppm(), 3800);
        assert_eq!(Probing { probe_bytes: FRAME_BYTES.into(), ..paper }.share_ppm(), 6400);
        assert_eq!(Probing { probe_bytes: 84, ..paper }.share_ppm(), 8400);
        // HULA as the same section counts it: one probe to each leaf over every uplink.
        assert_eq!(Probing { samples: 1, uplinks: 1, ..paper }.share_ppm(), 76_000);
    }
}
