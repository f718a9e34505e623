//! Flowcells: a limited number of consecutive bytes of one flow (Presto, SIGCOMM 2015, sec. 3.1: 64 KB).

use super::Packet;
use super::byte_deficit::Boundary;

/// Boundary that ends a unit when the next packet would take it over [`Self::bytes`].
#[derive(Clone, Copy, Debug)]
pub struct Flowcell {
    /// Largest cell, in the bytes that packets are reported to have.
    pub bytes: u32,
}

impl Flowcell {
    /// Default of 64 KiB: the largest segment that a host passes to its network card at once.
    pub const BYTES: u32 = 1 << 16;
}

/// Number of the flowcell, of `cell_bytes` of payload each, that a packet belongs to by the position of its first byte
/// in the stream. Sender and receiver compute the same number, and a retransmitted packet keeps its cell.
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

/// Boundary of flowcells that the sender numbered ([`Packet::cell`]): a unit ends when the number grows. A
/// retransmission with an older number goes with the current cell.
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
