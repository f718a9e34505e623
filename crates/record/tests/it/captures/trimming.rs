//! Packets whose payload a switch cut off.

use super::headers::all_kept;
use super::simulated::*;
use super::tshark::tshark;
use anabranch_fabric::topology::LeafSpine;
use anabranch_fabric::{Buffer, Fabric, SwitchSettings};
use anabranch_record::write_capture;
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::{CapturedPacket, Class, Framing, Kind, marks};

/// One switch, whose ports trim beyond some frames.
fn trimming() -> Fabric {
    let mut shape =
        LeafSpine { leaves: 1, spines: 1, hosts_per_leaf: 4, parallel_links: 1, ..LeafSpine::default() };
    shape.host_link.buffer = Buffer { bytes: 15_000, packets: u32::MAX };
    let mut fabric = shape.build().unwrap();
    let mut switches = SwitchSettings::default();
    switches.classes[Class::Data as usize].trim = true;
    fabric.set_switches(Some(switches));
    fabric
}

fn incast(transport: Transport) -> Vec<CapturedPacket> {
    let settings = settings(vec![transport], &[0, 1]);
    let flows: Vec<_> = (1..4).map(|host| flow(host, 0, 100_000)).collect();
    captures(&trimming(), &flows, &settings)
}

/// What a switch that trims leaves as it was: all behind the IP header, the length in UDP's too.
#[test]
fn trimmed_packets_keep_their_headers() {
    for transport in [Transport::Uec(Uec::DEFAULT), Transport::Roce(Roce::plain()), Transport::Tcp(tcp())] {
        let captures = incast(transport.clone());
        let trimmed = |capture: &CapturedPacket| capture.packet.marks & marks::TRIMMED != 0;
        assert!(captures.iter().filter(|capture| trimmed(capture)).count() > 10);
        let mut file = Vec::new();
        write_capture("memory", &mut file, &trimming(), Framing::ETHERNET, &captures).unwrap();
        for (frame, capture) in all_kept(&file).iter().zip(&captures) {
            if !trimmed(capture) {
                continue;
            }
            let untrimmed_bytes = 8 + 12 + capture.packet.payload_bytes;
            assert_eq!(frame.len().min(60), frame.len());
            assert_eq!(frame[16..18], 46_u16.to_be_bytes());
            if matches!(transport, Transport::Uec(_)) {
                assert_eq!(frame[38..40], untrimmed_bytes.to_be_bytes());
            }
        }
        let fields = ["frame.len", "ip.len", "ip.checksum.status"];
        let Some(rows) = tshark(&trimming(), &captures, &fields) else { return };
        for (row, _) in rows.iter().zip(&captures).filter(|(_, capture)| trimmed(capture)) {
            assert_eq!(row[..], ["60", "46", "1"]);
        }
    }
}

#[test]
fn what_was_trimmed_is_asked_for_by_its_number() {
    let captures = incast(Transport::Uec(Uec::DEFAULT));
    let mut file = Vec::new();
    write_capture("memory", &mut file, &trimming(), Framing::ETHERNET, &captures).unwrap();
    let frames = all_kept(&file);
    let with = |kind: Kind, mark: u8| {
        let of = frames.iter().zip(&captures);
        let of = of.filter(move |(_, capture)| {
            capture.packet.kind == kind && (mark == 0 || capture.packet.marks & mark != 0)
        });
        // The sender's host, and the number.
        of.map(|(frame, capture)| {
            let host = if capture.packet.kind == Kind::Nack { frame[33] } else { frame[29] };
            (host, u32::from_be_bytes(frame[46..50].try_into().unwrap()))
        })
        .collect::<Vec<_>>()
    };
    let (trimmed, asked) = (with(Kind::Data, marks::TRIMMED), with(Kind::Nack, 0));
    assert!(asked.len() > 10);
    assert_eq!(trimmed, asked);
    // The only hop is the last.
    let refusals = frames.iter().filter(|frame| frame[42] >> 3 == 10);
    assert!(refusals.clone().all(|frame| frame[44] == 2));
}
