//! Headers of Ultra Ethernet, byte by byte: the tshark that is installed may not know them.

use super::headers::all_kept;
use super::simulated::*;
use super::tshark::complaints;
use anabranch_record::write_capture;
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::uec::{Credits, Uec};
use anabranch_sim::{Arrivals, CapturedPacket, Carrier, Framing, Kind, MessagePosition, Packet, marks};

/// Place of a message of 3000 bytes, after nine packets.
const POSITION: MessagePosition = MessagePosition {
    queue_pair: 5,
    messages_before: 1,
    packets_before: 9,
    message_bytes: 3000,
    packet_bytes: 1448,
};

/// Bytes behind UDP's header of a packet of host 0 to host 2, or back.
fn header(kind: Kind, fill: impl FnOnce(&mut Packet)) -> Vec<u8> {
    let (src, destination) = if kind.is_answer() { (2, 0) } else { (0, 2) };
    let mut packet = Packet { kind, destination, frame_bytes: 64, ..data(5) };
    fill(&mut packet);
    if kind == Kind::Data {
        packet.frame_bytes = Framing::ETHERNET.frame_bytes(packet.payload_bytes);
    }
    let carrier = Carrier::Uec(POSITION);
    let capture =
        CapturedPacket { port: u32::from(src != 0), time_ps: 0, packet, src, flow: 0, carrier, header: None };
    let mut file = Vec::new();
    write_capture("memory", &mut file, &fabric(), Framing::ETHERNET, &[capture]).unwrap();
    all_kept(&file)[0][42..].to_vec()
}

#[test]
fn requests_and_answers_are_these_bytes() {
    // Type 2 in five bits, no next header in four, flags in seven; the tenth packet and one more; contexts 1 and 1.
    let asks = header(Kind::Data, |packet| {
        (packet.seq, packet.payload_bytes) = (1448, 1448);
        packet.marks = marks::CAPABLE | marks::ASKS | marks::RETRANSMITTED;
    });
    assert_eq!(asks, [0x10, 0x18, 0, 0, 0, 0, 0, 10, 0, 1, 0, 1]);

    // Type 8, marked. Two packets are there in order: up to the tenth. The one that caused it is 4 further; of those from
    // 3 further on, the first and the third are there, and two are out of order.
    let acknowledges = header(Kind::Sack, |packet| {
        packet.seq = 2 * 1448;
        packet.marks = marks::ECHO;
        let arrivals = Arrivals { cause: 5, base: 4, bits: 0b101, frame_bytes: 6000, waiting: 2 };
        packet.set_arrivals(arrivals);
    });
    let expected = [0x40, 0x20, 0, 4, 0, 0, 0, 10, 0, 1, 0, 1];
    assert_eq!(acknowledges[..12], expected);
    assert_eq!(acknowledges[12..], [0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2]);

    // Before the first packet, what is acknowledged ends before it.
    let first = header(Kind::Sack, |packet| {
        packet.set_arrivals(Arrivals { cause: 3, base: 1, bits: 0b100, frame_bytes: 1518, waiting: 1 });
    });
    assert_eq!(first[..12], [0x40, 0, 0, 4, 0, 0, 0, 8, 0, 1, 0, 1]);

    // Type 10: trimmed, and trimmed on the last hop.
    for (last, code) in [(false, 1), (true, 2)] {
        let refuses = header(Kind::Nack, |packet| {
            packet.seq = 2896;
            if last {
                packet.set_trimmed_last();
            }
        });
        assert_eq!(refuses, [0x50, 0, code, 0, 0, 0, 0, 11, 0, 1, 0, 1, 0, 0, 0, 0]);
    }

    // Type 11, kinds 7 and 8: units of 256 bytes.
    let grants = header(Kind::Credit, |packet| packet.seq = 0x1_0000);
    assert_eq!(grants, [0x5b, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0]);
    let wants = header(Kind::Request, |packet| packet.set_demand(512));
    assert_eq!(wants, [0x5c, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 2]);
}

/// Whole runs, with and without credit: each packet goes to port 4793, and each kind has its type.
#[test]
fn whole_runs_are_written() {
    for credits in [None, Some(Credits::DEFAULT)] {
        let uec = Uec { credits, ..Uec::DEFAULT };
        let settings = settings(vec![Transport::Uec(uec)], &[0, 1, 2, 4]);
        let flows = [flow(0, 2, 100_000), flow(1, 2, 100_000)];
        let captures = captures(&fabric(), &flows, &settings);
        let mut file = Vec::new();
        write_capture("memory", &mut file, &fabric(), Framing::ETHERNET, &captures).unwrap();
        let kept = all_kept(&file);
        assert_eq!(kept.len(), captures.len());
        for (frame, capture) in kept.iter().zip(&captures) {
            let kind = match capture.packet.kind {
                Kind::Data => 2,
                Kind::Sack => 8,
                Kind::Nack => 10,
                Kind::Credit | Kind::Request => 11,
                other => panic!("{other:?}"),
            };
            assert_eq!(frame[36..38], 4793_u16.to_be_bytes());
            assert_eq!(frame[42] >> 3, kind);
            let port = 0xc000 | capture.packet.entropy as u16;
            assert_eq!(frame[34..36], port.to_be_bytes());
            // Hosts 0 and 1 have one context each, host 2 has two.
            let at_two = if capture.flow == 0 { 1 } else { 2 };
            let contexts = if capture.src == 2 { [at_two, 1] } else { [1, at_two] };
            assert_eq!([frame[51], frame[53]], contexts);
        }
        assert_eq!(credits.is_some(), captures.iter().any(|capture| capture.packet.kind == Kind::Credit));
        let Some(found) = complaints(&fabric(), &captures) else { return };
        assert_eq!(found, []);
    }
}
