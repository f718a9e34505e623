//! The TCP header and its options.
//!
//! Positions in a stream become sequence numbers: SYN has number 0, the first byte number 1. The window is constant: the
//! simulator's receivers advertise none.

use anabranch_sim::{Framing, Kind, Packet, SackBlock, marks};

/// The header without options.
pub(super) const BYTES: usize = 20;
/// Place of the checksum in it.
pub(super) const CHECKSUM_AT: usize = 16;
pub(super) const OPTIONS_BYTES_MAX: usize = 40;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

const NO_OPERATION: u8 = 1;
/// Window scale that, with the largest window, never limits the sender.
const WINDOW_SHIFT: u8 = 14;
const WINDOW: u16 = u16::MAX;
/// Bytes of the timestamps option with its padding; the options of a SYN without timestamps take as many.
const OPTION_SET_BYTES: usize = 12;

/// Writes the fields of the TCP header behind the ports, and options into `spare_bytes`.
pub(super) fn write(packet: &Packet, framing: Framing, spare_bytes: u16, out: &mut Vec<u8>) {
    let number = (packet.seq as u32).wrapping_add(1);
    let (seq, ack, mut flags) = match packet.kind {
        Kind::Syn => (0, 0, SYN),
        Kind::SynAck => (0, 1, SYN | ACK),
        Kind::Ack => (1, number, ACK),
        _ => (number, 1, ACK),
    };
    let duplicate = is_duplicate(packet);
    for (mark, flag) in [(marks::ECHO, ECE), (marks::REDUCED, CWR)] {
        flags |= if packet.marks & mark != 0 && !(duplicate && flag == CWR) { flag } else { 0 };
    }
    out.extend(seq.to_be_bytes());
    out.extend(ack.to_be_bytes());
    let offset_at = out.len();
    out.extend([0, flags]);
    out.extend(WINDOW.to_be_bytes());
    // Checksum and urgent pointer.
    out.extend([0; 4]);
    let options_at = out.len();
    options(packet, framing, spare_bytes, out);
    out[offset_at] = ((BYTES + out.len() - options_at) as u8 / 4) << 4;
}

/// Whether the first block of an acknowledgement is of bytes that arrived twice.
fn is_duplicate(packet: &Packet) -> bool {
    packet.kind == Kind::Ack && packet.marks & marks::DUPLICATE != 0
}

/// Writes TCP options as far as `spare_bytes` have room for them: in a handshake the options that Wireshark
/// needs to follow the stream (RFC 9293, 2018, 7323), then SACK blocks, of which at least one is preferred to
/// timestamps, then timestamps. The half of the timestamps that the simulator does not model is zero.
fn options(packet: &Packet, framing: Framing, spare_bytes: u16, out: &mut Vec<u8>) {
    let room = usize::from(spare_bytes).min(OPTIONS_BYTES_MAX);
    let handshake = matches!(packet.kind, Kind::Syn | Kind::SynAck) && room >= OPTION_SET_BYTES;
    if handshake {
        // RFC 6691: options do not lessen the MSS.
        let [high, low] = (framing.payload_bytes_max + OPTION_SET_BYTES as u16).to_be_bytes();
        out.extend([2, 4, high, low, NO_OPERATION, NO_OPERATION, 4, 2, NO_OPERATION, 3, 3, WINDOW_SHIFT]);
    }
    let blocks = if packet.kind == Kind::Ack { &packet.sack[..] } else { &[] };
    // Bytes that arrived twice may end where the acknowledgement does.
    let duplicates = usize::from(is_duplicate(packet));
    let blocks = duplicates + blocks.iter().skip(duplicates).take_while(|block| block.end != 0).count();
    let first = if handshake || blocks > 0 { OPTION_SET_BYTES } else { 0 };
    let stamped = room >= first + OPTION_SET_BYTES;
    if stamped {
        out.extend([NO_OPERATION, NO_OPERATION, 8, 10]);
        let (value, echo) = match packet.kind {
            kind if kind.is_answer() => (0, packet.stamp_ns),
            _ => (packet.stamp_ns, 0),
        };
        out.extend(value.to_be_bytes());
        out.extend(echo.to_be_bytes());
    }
    let room = room - if stamped { OPTION_SET_BYTES } else { 0 };
    let fitting = blocks.min(room.saturating_sub(4) / 8);
    if fitting > 0 {
        out.extend([NO_OPERATION, NO_OPERATION, 5, 2 + 8 * fitting as u8]);
        for &SackBlock { start, end } in &packet.sack[..fitting] {
            for distance in [start, end] {
                out.extend((packet.seq as u32).wrapping_add(1).wrapping_add(distance).to_be_bytes());
            }
        }
    }
}
