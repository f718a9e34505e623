//! Flowcells: at most so many consecutive bytes of one flow (Presto, SIGCOMM 2015, sec. 3.1: 64 KB).

use super::byte_deficit::Boundary;

/// Ends when the next packet would take it over [`Self::bytes`].
#[derive(Clone, Copy, Debug)]
pub struct Flowcell {
    /// Largest cell, counted in the bytes that packets are said to have.
    pub bytes: u32,
}

impl Flowcell {
    /// 64 KiB, the largest segment that a host hands to its network card at once.
    pub const BYTES: u32 = 1 << 16;
}

impl Boundary for Flowcell {
    const NEEDS: u32 = 0;
    /// Bytes of the cell so far.
    type Note = u32;

    #[inline(always)]
    fn begin(bytes: u32, _now_ns: u64) -> u32 {
        bytes
    }

    #[inline(always)]
    fn go_on(&self, so_far: u32, bytes: u32, _now_ns: u64) -> Option<u32> {
        so_far.checked_add(bytes).filter(|&sum| sum <= self.bytes)
    }
}
