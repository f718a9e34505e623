//! RoCE v2 as tshark reads it. Skipped if tshark is not installed.

use super::simulated::*;
use super::tshark::{complaints, tshark};
use anabranch_record::write_capture;
use anabranch_sim::transport::roce::{Completion, Recovery, Roce, Semantics};
use anabranch_sim::transport::{QueuePairs, Transport};
use anabranch_sim::{CapturedPacket, Carrier, Framing, Kind, MessagePosition, Packet, marks};
use anabranch_traffic::{Flow, Start};

const TRANSPORT: [&str; 8] = [
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.bth.padcnt",
    "infiniband.bth.a",
    "infiniband.reth.dmalen",
    "infiniband.aeth.syndrome",
    "infiniband.aeth.msn",
];

/// Place of a message of 3000 bytes, third on its queue pair after 2^24 - 2 packets.
const POSITION: MessagePosition = MessagePosition {
    queue_pair: 5,
    messages_before: 2,
    packets_before: (1 << 24) - 2,
    message_bytes: 3000,
    packet_bytes: 1448,
};

/// Packet of that message at host 0's link; `src` sent it to host 2 or 0.
fn captured(kind: Kind, seq: u64, payload_bytes: u16, semantics: Semantics) -> CapturedPacket {
    let (src, destination) = if kind.is_answer() { (2, 0) } else { (0, 2) };
    let frame_bytes = if kind == Kind::Data { Framing::ETHERNET.frame_bytes(payload_bytes) } else { 64 };
    let packet = Packet { kind, seq, payload_bytes, destination, frame_bytes, ..data(5) };
    let carrier = Carrier::Roce(POSITION, semantics);
    CapturedPacket { port: u32::from(src != 0), time_ps: 0, packet, src, flow: 0, carrier, header: None }
}

/// Packets at host 0's link, until the last answer is there.
fn roce_captures(roce: &Roce, flows: &[Flow]) -> Vec<CapturedPacket> {
    let roce = Roce { completion: Completion::Acknowledged, ..roce.clone() };
    let settings = settings(vec![Transport::Roce(roce)], &[0, 1]);
    captures(&fabric(), flows, &settings)
}

fn rows(captures: &[CapturedPacket]) -> Option<Vec<Vec<String>>> {
    tshark(&fabric(), captures, &TRANSPORT)
}

/// What tshark shows of data and of answers: a row each, empty fields left out at its end.
fn shows(row: &[String], expected: &[&str]) -> bool {
    let row: Vec<&str> = row.iter().map(String::as_str).collect();
    let end = row.iter().rposition(|field| !field.is_empty()).map_or(0, |last| last + 1);
    row[..end] == *expected
}

#[test]
fn a_write_is_a_first_a_middle_and_a_last_packet_and_their_answers() {
    let captures = roce_captures(&Roce::plain(), &[flow(0, 2, 4001)]);
    assert_eq!([0, 1].map(|port| captures.iter().filter(|capture| capture.port == port).count()), [3, 3]);
    let Some(rows) = rows(&captures) else { return };
    let of = |port: u32| -> Vec<&Vec<String>> {
        rows.iter().zip(&captures).filter(|(_, capture)| capture.port == port).map(|(row, _)| row).collect()
    };
    // 1105 bytes are padded to 1108; each host's first queue pair has number 2.
    let expected: [&[&str]; 3] = [
        &["6", "0x000002", "0", "0", "1", "4001"],
        &["7", "0x000002", "1", "0", "1"],
        &["8", "0x000002", "2", "3", "1"],
    ];
    for (row, expected) in of(0).iter().zip(expected) {
        assert!(shows(row, expected), "{row:?}, not {expected:?}");
    }
    for (number, row) in of(1).iter().enumerate() {
        let (psn, ended) = (number.to_string(), u8::from(number == 2).to_string());
        let expected = ["17", "0x000002", &psn, "0", "0", "", "31", &ended];
        assert!(shows(row, &expected), "{row:?}, not {expected:?}");
    }
    assert_eq!(complaints(&fabric(), &captures).unwrap(), []);
}

/// Frames of the simulator that are too short for a card's headers are written as long as a card's are.
#[test]
fn short_answers_are_as_long_as_a_cards() {
    for answer_bytes in [64, 1] {
        answers_are_as_long_as_a_cards(answer_bytes);
    }
}

fn answers_are_as_long_as_a_cards(answer_bytes: u16) {
    let captures = roce_captures(&Roce { answer_bytes, ..Roce::plain() }, &[flow(0, 2, 4001)]);
    let fields = ["frame.len", "ip.len", "udp.length", "udp.dstport", "ip.dsfield.ecn", "udp.srcport"];
    let Some(rows) = tshark(&fabric(), &captures, &fields) else { return };
    let mut first = true;
    for (row, capture) in rows.iter().zip(&captures) {
        let packet = capture.packet;
        let datagram_bytes = if packet.kind == Kind::Ack {
            assert_eq!(packet.frame_bytes, answer_bytes);
            48
        } else {
            let remote_address_bytes = if std::mem::take(&mut first) { 16 } else { 0 };
            44 + remote_address_bytes + packet.payload_bytes.next_multiple_of(4)
        };
        let frame_bytes = packet.frame_bytes.saturating_sub(4).max(14 + datagram_bytes);
        let port = 0xc000 | packet.entropy & 0x3fff;
        let expected = [
            frame_bytes.to_string(),
            datagram_bytes.to_string(),
            (datagram_bytes - 20).to_string(),
            "4791".to_owned(),
            "2".to_owned(),
            port.to_string(),
        ];
        assert_eq!(row[..], expected);
    }
}

#[test]
fn answers_have_the_syndromes_of_the_specification() {
    let write = |kind, seq| captured(kind, seq, 0, Semantics::Write);
    let send = |kind, seq, payload| captured(kind, seq, payload, Semantics::SEND);
    let mut echo = write(Kind::Ack, 1448);
    echo.packet.marks |= marks::ECHO;
    let mut captures = [
        write(Kind::Nack, 1448),
        echo,
        write(Kind::Sack, 3000),
        send(Kind::NotReady, 0, 0),
        send(Kind::Data, 0, 1448),
        send(Kind::Data, 1448, 1448),
        send(Kind::Data, 2896, 104),
        captured(Kind::Data, 0, 3000, Semantics::Write),
        captured(Kind::Data, 0, 3000, Semantics::SEND),
        write(Kind::Cnp, 1448),
    ];
    for (time_ps, capture) in (0..).zip(&mut captures) {
        capture.time_ps = time_ps;
    }
    let Some(rows) = rows(&captures) else { return };
    let queue_pair = "0x000002";
    let expected: [&[&str]; 10] = [
        // NAK: the number that is expected, which is behind the wrap of 24 bits.
        &["17", queue_pair, "16777215", "0", "0", "", "96", "2"],
        &["17", queue_pair, "16777214", "0", "0", "", "31", "2"],
        &["17", queue_pair, "0", "0", "0", "", "31", "3"],
        // RNR NAK, timer 12.
        &["17", queue_pair, "16777214", "0", "0", "", "44", "2"],
        &["0", queue_pair, "16777214", "0", "1"],
        &["1", queue_pair, "16777215", "0", "1"],
        &["2", queue_pair, "0", "0", "1"],
        &["10", queue_pair, "16777214", "0", "1", "3000"],
        &["4", queue_pair, "16777214", "0", "1"],
        &["129", queue_pair, "0", "0", "0"],
    ];
    for (row, expected) in rows.iter().zip(expected) {
        assert!(shows(row, expected), "{row:?}, not {expected:?}");
    }
    // Backward congestion is the second bit of the byte before the queue pair; a CNP has 16 bytes of zeros and a CRC.
    let mut file = Vec::new();
    write_capture("memory", &mut file, &fabric(), Framing::ETHERNET, &captures).unwrap();
    let kept = super::headers::all_kept(&file);
    assert_eq!([&kept[0], &kept[1], &kept[9]].map(|frame| frame[46]), [0, 0x40, 0x40]);
    assert_eq!(kept[9].len(), 74);
    assert_eq!(kept[9][54..70], [0; 16]);
}

/// tshark shows the invariant CRC and does not check it: it is that of a CRC-32 over what it shows of the frame, worked out
/// with Python's `zlib.crc32` for this one.
#[test]
fn an_acknowledgement_is_these_bytes() {
    let mut capture = captured(Kind::Ack, 3000, 0, Semantics::Write);
    capture.packet.marks = marks::CAPABLE | marks::EXPERIENCED;
    capture.packet.entropy = 0xabcd_1234;
    let mut file = Vec::new();
    write_capture("memory", &mut file, &fabric(), Framing::ETHERNET, &[capture]).unwrap();
    #[rustfmt::skip]
    let expected = [
        0x02, 0, 0, 0, 0, 0,  0x02, 0, 0, 0, 0, 2,  0x08, 0x00,
        // 48 bytes. 4503 + 0030 + 4000 + 4011 + 0a00 + 0003 + 0a00 + 0001 = d948.
        0x45, 0x03, 0, 48,  0, 0, 0x40, 0,  64, 17, 0x26, 0xb7,  10, 0, 0, 3,  10, 0, 0, 1,
        // From port c000 + 1234 to 4791, 28 bytes, no checksum.
        0xd2, 0x34, 0x12, 0xb7,  0, 28, 0, 0,
        // Acknowledge, migrated, partition, queue pair 2, number (2^24 - 2) + 3 - 1; ACK, third message.
        0x11, 0x40, 0xff, 0xff,  0, 0, 0, 2,  0, 0, 0, 0,  0x1f, 0, 0, 3,
        0x1c, 0xf4, 0x9f, 0xd7,
    ];
    assert_eq!(super::headers::all_kept(&file)[0], expected);
}

/// Two messages in two parts over two queue pairs that are kept, and a third to another host: queue pairs have their own
/// numbers at both hosts, which stay, and numbers of packets and messages go on.
#[test]
fn queue_pairs_that_are_kept_go_on() {
    let queue_pairs = QueuePairs { count: 2, persistent: true, ..QueuePairs::ONE };
    let second = Flow { start: Start::After { flow: 0, delay_ps: 50 * PS_PER_US }, ..flow(0, 2, 5792) };
    let third = Flow { start: Start::After { flow: 1, delay_ps: 50 * PS_PER_US }, ..flow(0, 3, 1000) };
    let captures = roce_captures(&Roce { queue_pairs, ..Roce::plain() }, &[flow(0, 2, 5792), second, third]);
    let Some(rows) = rows(&captures) else { return };
    let mut seen = vec![vec![Vec::<String>::new(); 2]; 3];
    let mut answered = vec![Vec::<String>::new(); 3];
    for (row, capture) in rows.iter().zip(&captures) {
        let flow = capture.flow as usize;
        if capture.port == 0 {
            let queue_pair = ["0x000002", "0x000003"].iter().position(|number| *number == row[1]).unwrap();
            seen[flow][queue_pair].push(format!("{}:{}", row[0], row[2]));
        } else {
            answered[flow].push(format!("{}:{}", row[1], row[7]));
        }
    }
    // 5792 bytes are 2944 and 2848, in three and in two packets; 1000 are 512 and 488.
    assert_eq!(seen[0], [vec!["6:0", "7:1", "8:2"], vec!["6:0", "8:1"]]);
    assert_eq!(seen[1], [vec!["6:3", "7:4", "8:5"], vec!["6:2", "8:3"]]);
    assert_eq!(seen[2], [vec!["10:0"], vec!["10:0"]]);
    answered.iter_mut().for_each(|answers| answers.sort());
    let at = |queue_pair: u32, messages: u32| format!("0x{queue_pair:06}:{messages}");
    assert_eq!(answered[0], [at(2, 0), at(2, 0), at(2, 1), at(3, 0), at(3, 1)]);
    assert_eq!(answered[1], [at(2, 1), at(2, 1), at(2, 2), at(3, 1), at(3, 2)]);
    assert_eq!(answered[2], [at(4, 1), at(5, 1)]);
}

/// Selective recovery and go-back-N under loss draw no complaint, and what is sent again has the number it had.
#[test]
fn losses_draw_no_complaint() {
    let fabric = fabric();
    for recovery in [Roce::plain().recovery, Recovery::Selective { rto_low_ps: 100 * PS_PER_US }] {
        let roce = Roce { recovery, ..Roce::plain() };
        let mut settings = settings(vec![Transport::Roce(roce)], &[0, 1]);
        settings.changes =
            vec![anabranch_fabric::Change { at_ps: 0, what: anabranch_fabric::What::PortLoss(5, 0.02) }];
        let captures = captures(&fabric, &[flow(0, 2, 400_000)], &settings);
        let again: Vec<usize> = (0..captures.len())
            .filter(|&i| captures[i].port == 0 && captures[i].packet.marks & marks::RETRANSMITTED != 0)
            .collect();
        assert!(!again.is_empty());
        let Some(found) = complaints(&fabric, &captures) else { return };
        assert_eq!(found, []);
        let rows = rows(&captures).unwrap();
        let before = |number: usize| rows[..number].iter().any(|row| row[..3] == rows[number][..3]);
        assert!(again.iter().all(|&number| before(number)));
    }
}
