//! Headers of any packet in any framing, as the `etherparse` crate reads them.

use super::simulated::*;
use anabranch_record::write_capture;
use anabranch_sim::{CapturedPacket, Carrier, Framing, Kind, Packet, SackBlock, marks};
use etherparse::{Ethernet2Header, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use proptest::prelude::*;

/// Kept bytes of each packet of a capture.
pub(crate) fn all_kept(file: &[u8]) -> Vec<&[u8]> {
    const ENHANCED_PACKET: usize = 6;
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut kept) = (0, Vec::new());
    while at < file.len() {
        if word(at) == ENHANCED_PACKET {
            kept.push(&file[at + 28..][..word(at + 20)]);
        }
        at += word(at + 4);
    }
    kept
}

fn framings() -> impl Strategy<Value = Framing> {
    (58u16..140, 1u16..9000, prop::sample::select(vec![0u16, 64, 84])).prop_map(
        |(header_bytes, payload_bytes_max, frame_bytes_min)| Framing {
            header_bytes,
            payload_bytes_max,
            frame_bytes_min,
            gap_bytes: 20,
            whole_ns: false,
        },
    )
}

fn packets() -> impl Strategy<Value = (Packet, u32)> {
    let kinds = vec![Kind::Data, Kind::Ack, Kind::Syn, Kind::SynAck, Kind::Datagram];
    (
        prop::sample::select(kinds),
        (any::<u64>(), any::<u32>(), 0u8..16, any::<u32>()),
        (0u32..1 << 20, 0u32..1 << 20),
        prop::collection::vec((any::<u32>(), 1u32..), 0..=3),
        any::<u16>(),
    )
        .prop_map(
            |(kind, (seq, stamp_ns, marks, connection), (src, destination), blocks, payload_bytes)| {
                let mut packet =
                    Packet { kind, seq, stamp_ns, marks, destination, payload_bytes, ..data(connection) };
                if kind == Kind::Ack {
                    for (block, (start, end)) in packet.sack.iter_mut().zip(blocks) {
                        *block = SackBlock { start, end };
                    }
                }
                if matches!(kind, Kind::Ack | Kind::Syn | Kind::SynAck) {
                    packet.payload_bytes = 0;
                }
                (packet, src)
            },
        )
}

proptest! {
    #[test]
    fn etherparse_agrees((mut packet, src) in packets(), framing in framings()) {
        packet.payload_bytes = packet.payload_bytes.min(framing.payload_bytes_max);
        packet.frame_bytes = framing.frame_bytes(packet.payload_bytes);
        let capture = CapturedPacket { port: 0, time_ps: 0, packet, src, flow: 0, carrier: Carrier::Stream, header: None };
        let mut file = Vec::new();
        write_capture("memory", &mut file, &fabric(), framing, &[capture]).unwrap();
        let kept = all_kept(&file)[0];
        let (ethernet, rest) = Ethernet2Header::from_slice(kept).unwrap();
        prop_assert_eq!(&ethernet.source[2..], src.to_be_bytes());
        prop_assert_eq!(&ethernet.destination[2..], packet.destination.to_be_bytes());
        let (ip, rest) = Ipv4Header::from_slice(rest).unwrap();
        prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        prop_assert_eq!(u32::from_be_bytes(ip.source), 0x0a00_0001 + src);
        prop_assert_eq!(u32::from_be_bytes(ip.destination), 0x0a00_0001 + packet.destination);
        let ecn = if packet.marks & marks::EXPERIENCED != 0 { 3 } else { (packet.marks & marks::CAPABLE) * 2 };
        prop_assert_eq!(ip.ecn.value(), ecn);
        prop_assert!(ip.total_len + 18 <= packet.frame_bytes);
        let zeros = vec![0; usize::from(packet.payload_bytes)];
        if packet.kind == Kind::Datagram {
            let (udp, rest) = UdpHeader::from_slice(rest).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!(udp.length, 8 + packet.payload_bytes);
            prop_assert_eq!(ip.total_len, 20 + udp.length);
            prop_assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&ip, &zeros).unwrap());
            return Ok(());
        }
        let (tcp, rest) = TcpHeader::from_slice(rest).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(usize::from(ip.total_len), 20 + tcp.header_len() + zeros.len());
        prop_assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(&ip, &zeros).unwrap());
        let number = (u128::from(packet.seq) + 1) as u32;
        let (seq, ack) = match packet.kind {
            Kind::Syn => (0, None),
            Kind::SynAck => (0, Some(1)),
            Kind::Ack => (1, Some(number)),
            _ => (number, Some(1)),
        };
        prop_assert_eq!(tcp.sequence_number, seq);
        prop_assert_eq!(tcp.ack.then_some(tcp.acknowledgment_number), ack);
        prop_assert_eq!(tcp.syn, matches!(packet.kind, Kind::Syn | Kind::SynAck));
        prop_assert_eq!(tcp.ece, packet.marks & marks::ECHO != 0);
        // Of an acknowledgement the bit says that its first block is of a duplicate.
        let duplicates = usize::from(packet.kind == Kind::Ack && packet.marks & marks::DUPLICATE != 0);
        prop_assert_eq!(tcp.cwr, packet.marks & marks::REDUCED != 0 && duplicates == 0);

        let options: Vec<_> = tcp.options_iterator().collect::<Result<_, _>>().unwrap();
        let room = (framing.header_bytes - 58).min(40);
        let stamps = match packet.kind {
            Kind::Ack | Kind::SynAck => (0, packet.stamp_ns),
            _ => (packet.stamp_ns, 0),
        };
        let others = packet.sack.iter().skip(duplicates).take_while(|block| block.end != 0).count();
        let blocks = duplicates + others;
        let stamped = options.contains(&TcpOptionElement::Timestamp(stamps.0, stamps.1));
        prop_assert_eq!(stamped, room >= if tcp.syn || blocks > 0 { 24 } else { 12 });
        let negotiated = options.contains(&TcpOptionElement::SelectiveAcknowledgementPermitted)
            && options.contains(&TcpOptionElement::MaximumSegmentSize(framing.payload_bytes_max + 12));
        prop_assert_eq!(negotiated, tcp.syn && room >= 12);
        let sacked: Vec<(u32, u32)> = options
            .iter()
            .filter_map(|option| match option {
                TcpOptionElement::SelectiveAcknowledgement(first, more) => Some((first, more)),
                _ => None,
            })
            .flat_map(|(first, more)| std::iter::once(*first).chain(more.iter().flatten().copied()))
            .collect();
        // With timestamps 12 bytes are left of 24 to 31, 20 of 32 to 39, 28 of 40.
        let fitting = match room {
            0..12 => 0,
            12..20 => 1,
            20..24 => 2,
            24..32 => 1,
            32..40 => 2,
            _ => 3,
        };
        prop_assert_eq!(sacked.len(), blocks.min(fitting));
        for (block, &(start, end)) in packet.sack.iter().zip(&sacked) {
            prop_assert_eq!((start, end), (number.wrapping_add(block.start), number.wrapping_add(block.end)));
        }
    }
}
