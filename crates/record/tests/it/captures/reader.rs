//! The project's own reader of captures.

use super::simulated::*;
use anabranch_record::write_capture;
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{QueuePairs, Transport};
use anabranch_sim::{Framing, Kind};
use anabranch_split::{FiveTuple, protocol};
use anabranch_traffic::trace::{Encapsulation, TraceReader};
use anabranch_traffic::{Headers, PacketRecord};
use std::io::Cursor;

fn read(file: Vec<u8>) -> Vec<PacketRecord> {
    let name = "memory".to_owned();
    let mut reader = TraceReader::new(name, Box::new(Cursor::new(file)), None, Encapsulation::Outer).unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch, 1000).unwrap() {
        all.append(&mut batch);
    }
    all
}

pub(crate) fn tuples(file: Vec<u8>) -> Vec<FiveTuple> {
    read(file).iter().map(|record| record.tuple).collect()
}

#[test]
fn it_reads_what_was_captured() {
    let fabric = fabric();
    let flows = [
        flow(0, 2, 100_000),
        flow(1, 3, 50_000),
        anabranch_traffic::Flow { transport: 1, ..flow(3, 0, 20_000) },
    ];
    let settings = settings(vec![Transport::Tcp(tcp()), udp()], &[0, 1, 2, 3]);
    let mut captures = captures(&fabric, &flows, &settings);
    let mut file = Vec::new();
    write_capture("memory", &mut file, &fabric, Framing::ETHERNET, &captures).unwrap();
    captures.sort_by_key(|capture| (capture.time_ps, capture.port));
    let expected: Vec<PacketRecord> = captures
        .iter()
        .map(|capture| {
            let address = |host: u32| [10, 0, 0, host as u8 + 1];
            let (src, dst) = (address(capture.src), address(capture.packet.destination));
            let answer = capture.packet.kind.is_answer();
            let (sport, dport) = if answer { (5001, 49152) } else { (49152, 5001) };
            let datagram = capture.packet.kind == Kind::Datagram;
            let protocol = if datagram { protocol::UDP } else { protocol::TCP };
            PacketRecord {
                time_ns: capture.time_ps / 1000,
                bytes: u64::from(capture.packet.frame_bytes) - 4,
                tuple: FiveTuple::v4(src, dst, protocol, sport, dport),
                headers: Headers::default(),
            }
        })
        .collect();
    assert!(expected.len() > 150);
    assert_eq!(read(file), expected);
}

/// The project's reader has a flow of UDP for each value that switches hash, in each direction.
#[test]
fn it_reads_queue_pairs_as_flows_of_udp() {
    let fabric = fabric();
    let queue_pairs = QueuePairs { count: 4, ..QueuePairs::ONE };
    let settings = settings(
        vec![
            Transport::Roce(Roce { queue_pairs, ..Roce::plain() }),
            Transport::Uec(Uec { queue_pairs, ..Uec::DEFAULT }),
        ],
        &[0, 1],
    );
    for (transport, port) in [(0, 4791), (1, 4793)] {
        let flows = [anabranch_traffic::Flow { transport, ..flow(0, 2, 40_000) }];
        let captures = captures(&fabric, &flows, &settings);
        let mut file = Vec::new();
        write_capture("memory", &mut file, &fabric, Framing::ETHERNET, &captures).unwrap();
        let records = read(file);
        assert_eq!(records.len(), captures.len());
        let mut tuples: Vec<FiveTuple> = records.iter().map(|record| record.tuple).collect();
        assert!(tuples.iter().all(|tuple| tuple.protocol == protocol::UDP));
        assert!(tuples.iter().all(|tuple| u16::from_be_bytes(tuple.destination_port) == port));
        tuples.sort();
        tuples.dedup();
        assert_eq!(tuples.len(), 8);
    }
}
