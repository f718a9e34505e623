//! RoCE v2: the transport headers of InfiniBand in UDP (InfiniBand Architecture Specification, volume 1, chapter 9 and
//! annex A17).
//!
//! Memory addresses and keys are not modelled, and zero. Selective recovery (IRN) has no form of its own: its answer is an
//! acknowledgement of what arrived in order, and the packet that it names is left out.

use anabranch_sim::transport::roce::Semantics;
use anabranch_sim::{Kind, MessagePosition, Packet, marks};
use anabranch_split::hash::crc::crc32;

const SEND: u8 = 0x00;
const RDMA_WRITE: u8 = 0x06;
const ACKNOWLEDGE: u8 = 0x11;
const CONGESTION_NOTIFICATION: u8 = 0x81;

const MIGRATED: u8 = 0x40;
const DEFAULT_PARTITION: u16 = 0xffff;
const BACKWARD_CONGESTION: u8 = 0x40;
const ACKNOWLEDGE_REQUEST: u8 = 0x80;

/// Syndromes of answers: in an acknowledgement 31 says that it grants no credit.
const ACK: u8 = 0x1f;
const RECEIVER_NOT_READY: u8 = 0x20;
const NAK_SEQUENCE_ERROR: u8 = 0x60;

const IPV4_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const CRC_BYTES: u16 = 4;

/// Bytes of padding that make a payload a multiple of four.
fn padding_bytes(packet: &Packet) -> u16 {
    packet.payload_bytes.next_multiple_of(4) - packet.payload_bytes
}

/// Bytes behind the headers that [`write`] writes: payload, padding, and the invariant CRC.
pub(super) fn behind_bytes(packet: &Packet) -> u16 {
    packet.payload_bytes + padding_bytes(packet) + CRC_BYTES
}

/// Writes the headers behind UDP's of a packet to a queue pair.
pub(super) fn write(
    packet: &Packet,
    position: &MessagePosition,
    semantics: Semantics,
    queue_pair: u32,
    out: &mut Vec<u8>,
) {
    let number =
        |byte: u64| position.packets_before.wrapping_add(byte.div_ceil(position.packet_bytes.into()) as u32);
    let seq = number(packet.seq);
    match packet.kind {
        Kind::Cnp => {
            base(CONGESTION_NOTIFICATION, 0, BACKWARD_CONGESTION, queue_pair, [0, 0], out);
            out.extend([0; 16]);
        }
        kind if kind.is_answer() => {
            let (psn, syndrome) = match (kind, semantics) {
                (Kind::Nack, _) => (seq, NAK_SEQUENCE_ERROR),
                (Kind::NotReady, Semantics::Send { rnr_ps }) => (seq, RECEIVER_NOT_READY | rnr_timer(rnr_ps)),
                _ => (seq.wrapping_sub(1), ACK),
            };
            let congestion = if packet.marks & marks::ECHO != 0 { BACKWARD_CONGESTION } else { 0 };
            base(ACKNOWLEDGE, MIGRATED, congestion, queue_pair, [0, psn], out);
            let ended = u32::from(packet.seq >= position.message_bytes);
            out.push(syndrome);
            out.extend(low24(position.messages_before.wrapping_add(ended)));
        }
        _ => {
            let is_first = packet.seq == 0;
            let is_last = packet.seq + u64::from(packet.payload_bytes) >= position.message_bytes;
            let (operation, writes) = match semantics {
                Semantics::Write => (RDMA_WRITE, true),
                Semantics::Send { .. } => (SEND, false),
            };
            let part = match (is_first, is_last) {
                (true, false) => 0,
                (false, false) => 1,
                (false, true) => 2,
                (true, true) => 4,
            };
            let flags = MIGRATED | (padding_bytes(packet) as u8) << 4;
            // Each packet is answered.
            base(operation + part, flags, 0, queue_pair, [ACKNOWLEDGE_REQUEST.into(), seq], out);
            if writes && is_first {
                out.extend([0; 12]);
                out.extend(u32::try_from(position.message_bytes).unwrap_or(u32::MAX).to_be_bytes());
            }
        }
    }
}

/// Writes the base transport header; `last` are the byte before the packet's number, and that.
fn base(opcode: u8, flags: u8, congestion: u8, queue_pair: u32, [before, psn]: [u32; 2], out: &mut Vec<u8>) {
    out.extend([opcode, flags]);
    out.extend(DEFAULT_PARTITION.to_be_bytes());
    out.push(congestion);
    out.extend(low24(queue_pair));
    out.push(before as u8);
    out.extend(low24(psn));
}

fn low24(number: u32) -> [u8; 3] {
    let [_, a, b, c] = number.to_be_bytes();
    [a, b, c]
}

/// Number of a time that RNR NAK can name: the longest is 0.
fn rnr_timer(rnr_ps: u64) -> u8 {
    let times = Semantics::RNR_TIMERS_PS;
    ((times.partition_point(|&time| time < rnr_ps) + 1) % times.len()) as u8
}

/// Invariant CRC of a datagram from its IPv4 header on, in the order of its bytes (annex A17.3.3). What may change on the
/// way counts as ones: type of service, time to live, both checksums, and the bits of congestion beside the queue pair;
/// and so does InfiniBand's local header, which RoCE has not.
pub(super) fn invariant_crc(datagram: &[u8]) -> [u8; 4] {
    let mut masked = vec![0xff; 8];
    masked.extend(datagram);
    let (ip, udp) = (8, 8 + IPV4_BYTES);
    let base = udp + UDP_BYTES;
    for at in [ip + 1, ip + 8, ip + 10, ip + 11, udp + 6, udp + 7, base + 4] {
        masked[at] = 0xff;
    }
    crc32(&masked, 0).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digits: Vec<u32> = hexadecimal.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    /// A CNP that a ConnectX-4 Lx sent, from Scapy's tests (`test/contrib/roce.uts`): from its IPv4 header on, and its CRC.
    #[test]
    fn a_card_has_the_same_invariant_crc() {
        let datagram = bytes(
            "45c2003c 718c4000 40119161 0a001101 0a001201 000012b7 00280000 \
             8100ffff 40000118 00000000 00000000 00000000 00000000 00000000",
        );
        assert_eq!(invariant_crc(&datagram), [0x82, 0xfd, 0x00, 0x2a]);
    }

    /// A packet with payload and padding, whose CRC stands there too; type of service 1, and every other mutable field.
    #[test]
    fn what_may_change_on_the_way_does_not_count() {
        let mut datagram = bytes(
            "45010040 04784000 4011b4d5 c0a80007 c0a80007 c00012b7 002caca2 \
             2460ffff 000000d3 00cf1710 \
             4630818b e28935d9 0e9a9550 5401be88 5e500000",
        );
        let crc = [0x78, 0xf3, 0x53, 0xf3];
        assert_eq!(invariant_crc(&datagram), crc);
        for at in [1, 8, 10, 11, 26, 27, 32] {
            datagram[at] ^= 0x5a;
            assert_eq!(invariant_crc(&datagram), crc, "byte {at}");
        }
        for at in [0, 2, 9, 12, 19, 20, 23, 28, 31, 33, 36, 39, 59] {
            datagram[at] ^= 1;
            assert_ne!(invariant_crc(&datagram), crc, "byte {at}");
            datagram[at] ^= 1;
        }
    }

    /// Encoding of the timer field (InfiniBand specification, chapter 9): 655.36 ms is 0, 0.01 ms is 1, 0.64 ms is 12,
    /// 491.52 ms is 31.
    #[test]
    fn timers_have_their_numbers() {
        const PS_PER_US: u64 = 1_000_000;
        for (us, timer) in [(655_360, 0), (10, 1), (20, 2), (640, 12), (491_520, 31)] {
            assert_eq!(rnr_timer(us * PS_PER_US), timer);
        }
    }
}
