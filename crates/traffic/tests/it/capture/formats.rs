//! Containers: pcap and pcapng in every variant, compressed or not.

use super::bytes::*;
use anabranch_split::{FiveTuple, protocol};
use anabranch_traffic::trace::{Encapsulation, TraceReader};
use pcap_parser::{Block, PcapBlockOwned, PcapError};
use proptest::prelude::*;
use std::io::{self, Read};

fn frame(port: u16) -> Vec<u8> {
    ethernet(0x0800, &ipv4(protocol::UDP, &udp(port, 53, b"")))
}

fn tuple(port: u16) -> FiveTuple {
    FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], protocol::UDP, port, 53)
}

/// Time, bytes and source port of each record.
fn brief(outcome: &Outcome) -> Vec<(u64, u64, u16)> {
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.records.iter().map(|r| (r.time_ns, r.bytes, u16::from_be_bytes(r.tuple.source_port))).collect()
}

#[test]
fn pcap_in_both_orders_and_units_and_any_compression() {
    for (magic, ns) in [(MICROSECONDS, 1000), (NANOSECONDS, 1)] {
        for order in [Order::Little, Order::Big] {
            let packets = [(1_700_000_000, 999_999, 1500, frame(1)), (1_700_000_001, 7, 42, frame(2))];
            let file = pcap(order, magic, 1, &packets);
            let wanted = vec![
                (1_700_000_000_000_000_000 + 999_999 * ns, 1500, 1),
                (1_700_000_001_000_000_000 + 7 * ns, 42, 2),
            ];
            let (front, back) = file.split_at(50);
            let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4][..], &zstd(&file)].concat();
            for bytes in [
                file.clone(),
                gzip(&file),
                zstd(&file),
                [gzip(front), gzip(back)].concat(),
                [zstd(front), zstd(back)].concat(),
                skippable,
            ] {
                let outcome = read(&bytes, Encapsulation::Outer);
                assert_eq!(brief(&outcome), wanted);
                assert_eq!(outcome.records[0].tuple, tuple(1));
            }
        }
    }
}

#[test]
fn the_upper_half_of_the_link_type_is_no_part_of_it() {
    let with_check_sequence = 0x4400_0001;
    let file = pcap(Order::Big, MICROSECONDS, with_check_sequence, &[(1, 0, 42, frame(1))]);
    assert_eq!(brief(&read(&file, Encapsulation::Outer)), [(1_000_000_000, 42, 1)]);
}

#[test]
fn a_packet_has_at_least_the_bytes_that_were_captured() {
    let file = pcap(Order::Little, MICROSECONDS, 1, &[(1, 0, 0, frame(1))]);
    assert_eq!(brief(&read(&file, Encapsulation::Outer)), [(1_000_000_000, 42, 1)]);
}

#[test]
fn padding_behind_a_simple_packet_is_no_part_of_it() {
    let mut file = Pcapng::new(Order::Little);
    // The snap length cuts through the ports; the padding that follows would complete them.
    file.interface(1, 37, &[]).simple(42, &frame(1)[..37]);
    let counts = read(&file.file, Encapsulation::Outer).counts;
    assert_eq!((counts.truncated_headers, counts.ip_packets), (1, 0));
}

#[test]
fn pcapng_with_sections_interfaces_and_every_packet_block() {
    let mut file = Pcapng::new(Order::Little);
    let name = (2, b"eth0".to_vec());
    file.interface(1, 0, &[name.clone(), (9, vec![9])]) // nanoseconds
        .interface(101, 60, &[(9, vec![0x80 | 20]), (14, 100u64.to_le_bytes().to_vec())]) // 2^-20 s, from 100 s on
        .block(5, &[0; 24]) // statistics
        .enhanced(0, 5_000_000_001, 1500, &frame(1))
        .block(0xbad, &[1, 2, 3, 4, 5]) // unknown
        .enhanced(1, 3 << 19, 28, &ipv4(protocol::UDP, &udp(2, 53, b"")))
        .obsolete(0, 7, 99, &frame(3))
        .simple(42, &frame(4))
        .section(Order::Big)
        .interface(1, 42, &[(9, vec![3]), (14, (-1i64).to_be_bytes().to_vec()), name]) // milliseconds, 1 s late
        .enhanced(0, 2500, 64, &frame(5))
        .simple(1500, &frame(6)) // cut to 42 bytes by the snap length
        .obsolete(0, 4000, 42, &frame(7));
    let wanted = [
        (5_000_000_001, 1500, 1),
        (101_500_000_000, 28, 2),
        (7, 99, 3),
        (7, 42, 4), // no time of its own: that of the packet before
        (1_500_000_000, 64, 5),
        (1_500_000_000, 1500, 6),
        (3_000_000_000, 42, 7),
    ];
    for bytes in [file.file.clone(), gzip(&file.file), zstd(&file.file)] {
        assert_eq!(brief(&read(&bytes, Encapsulation::Outer)), wanted);
    }
}

#[test]
fn a_record_larger_than_the_window_is_read_whole_and_a_larger_unknown_block_is_skipped() {
    let mut huge = frame(1);
    huge.resize(700_000, 0);
    let mut file = Pcapng::new(Order::Big);
    file.interface(1, 0, &[]).enhanced(0, 1, 700_000, &huge).block(0xbad, &vec![7; 20 << 20]).enhanced(
        0,
        2,
        42,
        &frame(2),
    );
    assert_eq!(brief(&read(&file.file, Encapsulation::Outer)), [(1000, 700_000, 1), (2000, 42, 2)]);
}

/// Input that gives one byte at a time, with interruptions.
struct Trickle(Vec<u8>, usize);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        match self.0.get(self.1 / 2) {
            _ if self.1.is_multiple_of(2) => Err(io::ErrorKind::Interrupted.into()),
            None => Ok(0),
            Some(&byte) => {
                buffer[0] = byte;
                Ok(1)
            }
        }
    }
}

#[test]
fn a_pipe_that_trickles_is_read_the_same() {
    let file = pcap_of(1, &[frame(1), frame(2), frame(3)]);
    for bytes in [file.clone(), gzip(&file), zstd(&file)] {
        let reader =
            TraceReader::new("pipe".to_owned(), Box::new(Trickle(bytes, 0)), None, Encapsulation::Outer)
                .unwrap();
        assert_eq!(brief(&drain(reader)).len(), 3);
    }
}

#[test]
fn progress_counts_compressed_bytes_and_files_have_a_length() {
    let path = std::env::temp_dir().join(format!("anabranch-progress-{}.pcap.zst", std::process::id()));
    let bytes = zstd(&pcap_of(1, &vec![frame(1); 1000]));
    std::fs::write(&path, &bytes).unwrap();
    let mut reader = TraceReader::open(&path, Encapsulation::Outer).unwrap();
    let mut records = Vec::new();
    while reader.next_batch(&mut records, 100).unwrap() {
        assert_eq!(records.len(), 100);
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(reader.progress(), (bytes.len() as u64, Some(bytes.len() as u64)));
}

/// Packets that pcap-parser finds in a file: ticks since 1970 (microseconds), original length, captured bytes.
fn by_pcap_parser(file: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    let mut reader = pcap_parser::create_reader(1 << 17, io::Cursor::new(file.to_vec())).unwrap();
    let mut packets = Vec::new();
    loop {
        match reader.next() {
            Ok((bytes, block)) => {
                match block {
                    PcapBlockOwned::Legacy(p) => packets.push((
                        u64::from(p.ts_sec) * 1_000_000 + u64::from(p.ts_usec),
                        u64::from(p.origlen),
                        p.data.to_vec(),
                    )),
                    PcapBlockOwned::NG(Block::EnhancedPacket(p)) => packets.push((
                        u64::from(p.ts_high) << 32 | u64::from(p.ts_low),
                        u64::from(p.origlen),
                        p.data[..p.caplen as usize].to_vec(),
                    )),
                    _ => {}
                }
                reader.consume(bytes);
            }
            Err(PcapError::Eof) => return packets,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

proptest! {
    /// Compares times, lengths and ports of both readers on random packets of random lengths.
    #[test]
    fn agrees_with_pcap_parser(
        packets in prop::collection::vec((0u32..4_000_000_000, 0u32..1_000_000, 0usize..3000, any::<u16>()), 0..40),
        big in any::<bool>(),
    ) {
        let order = if big { Order::Big } else { Order::Little };
        let packets: Vec<_> = packets.into_iter().map(|(seconds, fraction, more, port)| {
            let mut bytes = frame(port);
            bytes.resize(bytes.len() + more, 0xee);
            (seconds, fraction, bytes.len() as u32 + 9, bytes)
        }).collect();
        let mut pcapng = Pcapng::new(order);
        pcapng.interface(1, 0, &[]);
        // pcap-parser takes an unknown block without a body at the end for a cut: give each some.
        for (seconds, fraction, original, bytes) in &packets {
            let ticks = u64::from(*seconds) * 1_000_000 + u64::from(*fraction);
            pcapng.enhanced(0, ticks, *original, bytes).block(0xbad, &bytes[..1 + bytes.len() % 40]);
        }
        for file in [pcap(order, MICROSECONDS, 1, &packets), pcapng.file] {
            let wanted: Vec<_> = by_pcap_parser(&file).into_iter()
                .map(|(us, original, bytes)| (us * 1000, original, u16::from_be_bytes([bytes[34], bytes[35]])))
                .collect();
            prop_assert_eq!(wanted.len(), packets.len());
            prop_assert_eq!(brief(&read(&file, Encapsulation::Outer)), wanted);
        }
    }

    /// Cuts a capture anywhere: the packets before the cut are returned, and only a cut inside a record is an error.
    #[test]
    fn a_cut_loses_nothing_before_it(cut in 24usize..24 + 5 * 58) {
        let file = pcap_of(1, &(0..5).map(frame).collect::<Vec<_>>());
        let outcome = read(&file[..cut], Encapsulation::Outer);
        prop_assert_eq!(outcome.records.len(), (cut - 24) / 58);
        prop_assert_eq!(outcome.error.is_some(), (cut - 24) % 58 != 0);
    }
}
