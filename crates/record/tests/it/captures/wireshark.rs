//! Captures as Wireshark reads them. Skipped if tshark is not installed.

use super::simulated::*;
use super::tshark::{complaints, tshark};
use anabranch_fabric::{Change, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Kind, marks};

const PS_PER_S: u64 = 1_000_000_000_000;

#[test]
fn a_clean_flow_draws_no_complaint() {
    let fabric = fabric();
    let settings = settings(vec![Transport::Tcp(tcp())], &[0, 1]);
    let captures = captures(&fabric, &[flow(0, 2, 300_000)], &settings);
    assert!(captures.iter().any(|capture| capture.packet.kind == Kind::SynAck));
    let Some(found) = complaints(&fabric, &captures) else { return };
    assert_eq!(found, []);
}

#[test]
fn datagrams_draw_no_complaint() {
    let fabric = fabric();
    let settings = settings(vec![udp()], &[0]);
    let captures = captures(&fabric, &[flow(0, 2, 30_001)], &settings);
    assert_eq!(captures.len(), 21);
    let Some(found) = complaints(&fabric, &captures) else { return };
    assert_eq!(found, []);
}

#[test]
fn losses_show_as_retransmissions() {
    let fabric = fabric();
    let mut settings = settings(vec![Transport::Tcp(tcp())], &[0, 1]);
    // From leaf 1 to host 2.
    settings.changes = vec![Change { at_ps: 0, what: What::PortLoss(5, 0.01) }];
    let captures = captures(&fabric, &[flow(0, 2, 1_000_000)], &settings);
    let again: Vec<usize> = (0..captures.len())
        .filter(|&i| captures[i].port == 0 && captures[i].packet.marks & marks::RETRANSMITTED != 0)
        .collect();
    assert!(again.len() > 2);
    let fields = ["tcp.analysis.retransmission", "tcp.analysis.out_of_order", "tcp.options.sack.count"];
    let Some(rows) = tshark(&fabric, &captures, &fields) else { return };
    // Shortly after newer segments Wireshark takes a retransmission for reordering.
    let seen: Vec<usize> =
        (0..rows.len()).filter(|&i| rows[i].iter().take(2).any(|field| !field.is_empty())).collect();
    assert_eq!(seen, again);
    assert!(rows.iter().any(|row| !row[0].is_empty()));
    for (row, capture) in rows.iter().zip(&captures) {
        let sacks = capture.packet.kind == Kind::Ack && capture.packet.sack[0].end != 0;
        assert_eq!(row.get(2).map_or("", String::as_str), if sacks { "1" } else { "" });
    }
}

#[test]
fn fields_are_those_of_the_packets() {
    let fabric = fabric();
    let dctcp = Tcp { control: Control::Dctcp { gain: 1.0 / 16.0 }, ecn: true, ..tcp() };
    let settings = settings(vec![Transport::Tcp(dctcp)], &[4, 5]);
    let captures = captures(&fabric, &[flow(0, 2, 400_000), flow(1, 2, 400_000)], &settings);
    assert!(captures.iter().any(|capture| capture.packet.marks & marks::EXPERIENCED != 0));
    assert!(captures.iter().any(|capture| capture.packet.marks & marks::ECHO != 0));
    let fields = [
        "frame.time_epoch",
        "frame.interface_name",
        "frame.len",
        "ip.src",
        "tcp.len",
        "ip.dsfield.ecn",
        "tcp.flags.ece",
        "ip.checksum.status",
        "tcp.nxtseq",
        "tcp.ack",
    ];
    let Some(rows) = tshark(&fabric, &captures, &fields) else { return };
    assert_eq!(rows.len(), captures.len());
    for (row, capture) in rows.iter().zip(&captures) {
        let packet = capture.packet;
        let forth = matches!(packet.kind, Kind::Data | Kind::Syn);
        let next = if forth { packet.seq + u64::from(packet.payload_bytes) + 1 } else { 1 };
        let ack = match packet.kind {
            Kind::Syn => 0,
            Kind::Ack => packet.seq + 1,
            _ => 1,
        };
        let ecn = ["0", "2", "3", "3"][usize::from(packet.marks & 3)];
        let expected = [
            format!("{}.{:09}", capture.time_ps / PS_PER_S, capture.time_ps % PS_PER_S / 1000),
            if capture.port == 4 { "host2>leaf1" } else { "leaf1>host2" }.to_owned(),
            (packet.frame_bytes - 4).to_string(),
            format!("10.0.0.{}", capture.src + 1),
            packet.payload_bytes.to_string(),
            ecn.to_owned(),
            u8::from(packet.marks & marks::ECHO != 0).to_string(),
            // Good.
            "1".to_owned(),
            next.to_string(),
            ack.to_string(),
        ];
        assert_eq!(row[..], expected);
    }
}
