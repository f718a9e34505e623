//! Ultra Ethernet Transport over UDP: headers of its packet delivery sublayer (Ultra Ethernet Specification 1.0, section
//! 3.5.10, as public readers of it have them: Wireshark's `packet-uet.c`, and `uet-pds.h` of XDP2).
//!
//! Headers of the semantic sublayer are not written, and the headers say so (no next header). Contexts are open from their
//! first packet on: none has the flag SYN. State of congestion control is zero, but for the packets out of order.

use anabranch_sim::{Kind, MessagePosition, Packet, marks};

/// Types of packets: reliable unordered delivery, acknowledgement with state of congestion control, and so on.
const REQUEST: u16 = 2;
const ACK_CC: u16 = 8;
const NACK: u16 = 10;
const CONTROL: u16 = 11;

/// Kinds of control packets, where others have their next header.
const CREDIT: u16 = 7;
const CREDIT_REQUEST: u16 = 8;
const NO_HEADER: u16 = 0;

const MARKED: u16 = 0x20;
const RETRANSMITTED: u16 = 0x10;
const ACK_REQUEST: u16 = 0x08;

const TRIMMED: u8 = 1;
const TRIMMED_LAST_HOP: u8 = 2;

/// Bytes of a unit of credit.
const CREDIT_BYTES: u64 = 256;

/// Writes the header behind UDP's of a packet between two contexts.
pub(super) fn write(packet: &Packet, position: &MessagePosition, contexts: [u16; 2], out: &mut Vec<u8>) {
    let flag = |mark, flag| if packet.marks & mark != 0 { flag } else { 0 };
    let again = flag(marks::RETRANSMITTED, RETRANSMITTED);
    let marked = flag(marks::ECHO, MARKED);
    let psn = |number: u64| position.packets_before.wrapping_add(number as u32);
    let of_byte = |byte: u64| psn(byte / u64::from(position.packet_bytes));
    match packet.kind {
        Kind::Sack => {
            let arrivals = packet.arrivals();
            // The last packet before the first that is missing.
            let cumulative = psn(packet.seq.div_ceil(position.packet_bytes.into())).wrapping_sub(1);
            let offset = |number: u32| psn(number.into()).wrapping_sub(cumulative) as u16;
            prologue(ACK_CC, NO_HEADER, marked | again, out);
            out.extend(offset(arrivals.cause).to_be_bytes());
            numbers(cumulative, contexts, out);
            // Kind of congestion control: NSCC; range of numbers: not given.
            out.extend([0, 0]);
            out.extend(offset(arrivals.base).to_be_bytes());
            out.extend(arrivals.bits.to_be_bytes());
            out.extend([0; 6]);
            out.extend(u16::try_from(arrivals.waiting).unwrap_or(u16::MAX).to_be_bytes());
        }
        Kind::Nack => {
            prologue(NACK, NO_HEADER, marked | again, out);
            out.extend([if packet.trimmed_last() { TRIMMED_LAST_HOP } else { TRIMMED }, 0]);
            numbers(of_byte(packet.seq), contexts, out);
            out.extend([0; 4]);
        }
        Kind::Credit | Kind::Request => {
            let (control, bytes) = match packet.kind {
                Kind::Credit => (CREDIT, packet.seq),
                _ => (CREDIT_REQUEST, packet.demand()),
            };
            prologue(CONTROL, control, 0, out);
            out.extend([0; 2]);
            numbers(0, contexts, out);
            out.extend(((bytes / CREDIT_BYTES) as u32).to_be_bytes());
        }
        _ => {
            prologue(REQUEST, NO_HEADER, again | flag(marks::ASKS, ACK_REQUEST), out);
            out.extend([0; 2]);
            numbers(of_byte(packet.seq), contexts, out);
        }
    }
}

/// Writes the type, the next header or kind of control packet, and flags: 5, 4 and 7 bits.
fn prologue(kind: u16, next: u16, flags: u16, out: &mut Vec<u8>) {
    out.extend((kind << 11 | next << 7 | flags).to_be_bytes());
}

/// Writes a packet's number, and the contexts of its sender and of its receiver.
fn numbers(psn: u32, contexts: [u16; 2], out: &mut Vec<u8>) {
    out.extend(psn.to_be_bytes());
    out.extend(contexts.iter().flat_map(|context| context.to_be_bytes()));
}
