//! Flowcells: at most so many consecutive bytes of one flow (Presto, SIGCOMM 2015, sec. 3.1: 64 KB).

use super::Packet;
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

/// The number of the flowcell, of `cell_bytes` of payload each, that a packet belongs to by its first byte's place in the
/// stream. Sender and receiver find the same, and what is sent again keeps its cell.
#[inline(always)]
#[must_use]
pub fn number(first_byte: u64, cell_bytes: u64) -> u64 {
    first_byte.checked_div(cell_bytes).unwrap_or(0)
}

impl Boundary for Flowcell {
    const NEEDS: u32 = 0;
    /// Bytes of the cell so far.
    type Note = u32;

    #[inline(always)]
    fn begin(packet: &Packet, _now_ns: u64) -> u32 {
        packet.bytes
    }

    #[inline(always)]
    fn go_on(&self, so_far: u32, packet: &Packet, _now_ns: u64) -> Option<u32> {
        so_far.checked_add(packet.bytes).filter(|&sum| sum <= self.bytes)
    }
}

/// Flowcells as the sender numbered them ([`Packet::cell`]): a unit ends when the number grows. What is sent again, with a
/// number of the past, goes with the cell of the day.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbered;

impl Boundary for Numbered {
    const NEEDS: u32 = 0;
    /// Number of the cell.
    type Note = u32;

    #[inline(always)]
    fn begin(packet: &Packet, _now_ns: u64) -> u32 {
        packet.cell
    }

    #[inline(always)]
    fn go_on(&self, cell: u32, packet: &Packet, _now_ns: u64) -> Option<u32> {
        (packet.cell <= cell).then_some(cell)
    }
}
