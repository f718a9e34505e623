//! Packet worked out by hand, byte by byte.

use super::simulated::*;
use anabranch_fabric::topology::LeafSpine;
use anabranch_record::write_capture;
use anabranch_sim::{CapturedPacket, Carrier, Framing, Kind, Packet, marks};

/// Little-endian words of four bytes.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn one_segment_is_these_bytes() {
    let fabric =
        LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap();
    let packet = Packet {
        seq: 1448,
        stamp_ns: 0x0102_0304,
        destination: 2,
        frame_bytes: 1518,
        payload_bytes: 1448,
        marks: marks::CAPABLE,
        ..data(5)
    };
    let capture = CapturedPacket {
        port: 8,
        time_ps: 0x0001_2345_6789_abcd,
        packet,
        src: 0,
        flow: 0,
        carrier: Carrier::Stream,
        header: None,
    };
    let mut file = Vec::new();
    write_capture("memory", &mut file, &fabric, Framing::ETHERNET, &[capture]).unwrap();

    // draft-ietf-opsawg-pcapng: section 4.1; the options' lengths depend on the version.
    assert_eq!(file[..4], 0x0a0d_0d0a_u32.to_le_bytes());
    let section_bytes = u32::from_le_bytes(file[4..8].try_into().unwrap());
    assert_eq!(file[8..24], words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    let (section, rest) = file.split_at(section_bytes as usize);
    assert_eq!(section[section.len() - 4..], section_bytes.to_le_bytes());
    let application = format!("anabranch {}", env!("CARGO_PKG_VERSION"));
    assert!(section.windows(application.len()).any(|window| window == application.as_bytes()));

    // Section 4.2: Ethernet, at most 94 bytes; name, 10^10 bit/s, 10^-12 s, no FCS.
    let (interface, packet) = rest.split_at(0x44);
    let mut expected = words(&[1, 0x44, 1, 94, 12 << 16 | 2]);
    expected.extend(b"leaf0>spine0");
    expected.extend(words(&[8 << 16 | 8, 0x540b_e400, 2, 1 << 16 | 9, 12, 1 << 16 | 13, 0, 0, 0x44]));
    assert_eq!(interface, expected);

    // Section 4.3: interface 0, time, 66 bytes of 1514.
    let mut expected = words(&[6, 0x64, 0, 0x0001_2345, 0x6789_abcd, 66, 1514]);
    #[rustfmt::skip]
    expected.extend([
        // To host 2, from host 0, IPv4.
        0x02, 0, 0, 0, 0, 2,  0x02, 0, 0, 0, 0, 0,  0x08, 0x00,
        // ECT(0), 1500 bytes, no fragments. 4502 + 05dc + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0003 = dee8.
        0x45, 0x02, 0x05, 0xdc,  0, 0, 0x40, 0,  64, 6, 0x21, 0x17,  10, 0, 0, 1,  10, 0, 0, 3,
        // 49152 to 5001; byte 1448 is number 1449. The pseudo header sums up to 19d2, this up to 16652, and with the
        // carry: 19d2 + c000 + 1389 + 05a9 + 0001 + 8010 + ffff + 0101 + 080a + 0102 + 0304 = 28025.
        0xc0, 0x00, 0x13, 0x89,  0, 0, 0x05, 0xa9,  0, 0, 0, 1,  0x80, 0x10, 0xff, 0xff,  0x7f, 0xd8, 0, 0,
        1, 1, 8, 10,  1, 2, 3, 4,  0, 0, 0, 0,
        // Padding of the block.
        0, 0,
    ]);
    expected.extend(words(&[0x64]));
    assert_eq!(packet, expected);
}

#[test]
fn a_connection_has_one_port() {
    let fabric = fabric();
    let capture = |connection, seq, flow, kind, src, destination| {
        let packet = Packet { seq, destination, kind, ..data(connection) };
        let packet = Packet { frame_bytes: Framing::ETHERNET.frame_bytes(0), ..packet };
        CapturedPacket { port: 0, time_ps: 0, packet, src, flow, carrier: Carrier::Stream, header: None }
    };
    let captures = [
        capture(7, 0, 0, Kind::Syn, 0, 2),
        capture(7, 0, 0, Kind::Data, 0, 2),
        capture(8, 0, 1, Kind::Data, 0, 2),
        capture(8, 0, 1, Kind::Data, 0, 3),
        // Persistent: the next flow goes on where the last ended.
        capture(7, 1000, 2, Kind::Data, 0, 2),
        capture(7, 0, 2, Kind::Ack, 2, 0),
        // A message of a load balancer is of no connection, though its host has the number of one.
        capture(7, 0, 0, Kind::HostProbe, 0, 2),
    ];
    let mut file = Vec::new();
    write_capture("memory", &mut file, &fabric, Framing::ETHERNET, &captures).unwrap();
    let ports: Vec<[u16; 2]> = super::reader::tuples(file)
        .iter()
        .map(|t| [t.source_port, t.destination_port].map(u16::from_be_bytes))
        .collect();
    let server = 5001;
    assert_eq!(
        ports,
        [
            [49152, server],
            [49152, server],
            [49153, server],
            [49152, server],
            [49152, server],
            [server, 49152],
            [49154, server],
        ]
    );
}
