//! Flowlets: runs of packets of one flow without a long gap (FLARE, Sinha et al. 2004; LetFlow, NSDI 2017).

use super::byte_deficit::Boundary;
use crate::{Packet, capability};

/// Boundary that ends a unit at a gap of more than [`Self::gap_ns`].
#[derive(Clone, Copy, Debug)]
pub struct Flowlet {
    /// Longest pause within a flowlet, in nanoseconds.
    pub gap_ns: u64,
}

impl Flowlet {
    /// Default of 500 us, the gap of LetFlow and CONGA.
    pub const GAP_NS: u64 = 500_000;
}

impl Boundary for Flowlet {
    const NEEDS: u32 = capability::CLOCK;
    /// Time of the last packet in nanoseconds.
    type Note = u64;

    #[inline(always)]
    fn begin(_packet: &Packet, now_ns: u64) -> u64 {
        now_ns
    }

    #[inline(always)]
    fn go_on(&self, last_ns: u64, _packet: &Packet, now_ns: u64) -> Option<u64> {
        (now_ns.saturating_sub(last_ns) <= self.gap_ns).then_some(now_ns)
    }

    #[inline(always)]
    fn is_over(&self, last_ns: u64, now_ns: u64) -> bool {
        now_ns.saturating_sub(last_ns) > self.gap_ns
    }
}
