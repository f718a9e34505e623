//! Headers: every link type, tag, extension header, tunnel and fragment, and packets cut short.

use super::bytes::*;
use anabranch_split::{FiveTuple, protocol};
use anabranch_traffic::Headers;
use anabranch_traffic::trace::{Encapsulation, TraceCounts};
use protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};

fn v4(protocol: u8, source_port: u16, destination_port: u16) -> FiveTuple {
    FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], protocol, source_port, destination_port)
}

fn v6(protocol: u8, source_port: u16, destination_port: u16) -> FiveTuple {
    FiveTuple::v6(V6_SOURCE, V6_DESTINATION, protocol, source_port, destination_port)
}

fn tuples(outcome: &Outcome) -> Vec<FiveTuple> {
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.records.iter().map(|record| record.tuple).collect()
}

fn outer(link: u32, packets: &[Vec<u8>]) -> Outcome {
    read(&pcap_of(link, packets), Encapsulation::Outer)
}

fn inner(packets: &[Vec<u8>]) -> Outcome {
    read(&pcap_of(1, packets), Encapsulation::Inner)
}

/// Extension header of eight bytes.
fn extension(next: u8, rest: &[u8]) -> Vec<u8> {
    [&[next, 0, 1, 4, 0, 0, 0, 0][..], rest].concat()
}

fn v6_fragment(next: u8, offset: u16, more: bool, id: u32, rest: &[u8]) -> Vec<u8> {
    let word = (offset << 3 | u16::from(more)).to_be_bytes();
    ipv6(44, &[&[next, 0][..], &word, &id.to_be_bytes(), rest].concat())
}

#[test]
fn every_link_type() {
    let (four, six) = (ipv4(TCP, &ports(1, 2)), ipv6(UDP, &ports(3, 4)));
    let both = [v4(TCP, 1, 2), v6(UDP, 3, 4)];
    let with =
        |four_head: &[u8], six_head: &[u8]| vec![[four_head, &four].concat(), [six_head, &six].concat()];
    for link in [12, 14, 101] {
        assert_eq!(tuples(&outer(link, &[four.clone(), six.clone()])), both, "{link}");
    }
    assert_eq!(tuples(&outer(228, std::slice::from_ref(&four))), both[..1]);
    assert_eq!(tuples(&outer(229, std::slice::from_ref(&six))), both[1..]);

    let mac = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    let ethernet = with(&[&mac[..], &[8, 0]].concat(), &[&mac[..], &[0x86, 0xdd]].concat());
    assert_eq!(tuples(&outer(1, &ethernet)), both);
    // Packet type, ARPHRD_ETHER, address length, address, protocol.
    let cooked = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let cooked = with(&[&cooked[..], &[8, 0]].concat(), &[&cooked[..], &[0x86, 0xdd]].concat());
    assert_eq!(tuples(&outer(113, &cooked)), both);
    // Reserved, interface 2, ARPHRD_ETHER, packet type, address length, address.
    let cooked = [0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let cooked = with(&[&[8, 0], &cooked[..]].concat(), &[&[0x86, 0xdd], &cooked[..]].concat());
    assert_eq!(tuples(&outer(276, &cooked)), both);
    for link in [0, 108] {
        for af_inet6 in [10, 24, 28, 30] {
            assert_eq!(tuples(&outer(link, &with(&[2, 0, 0, 0], &[af_inet6, 0, 0, 0]))), both);
            assert_eq!(tuples(&outer(link, &with(&[0, 0, 0, 2], &[0, 0, 0, af_inet6]))), both);
        }
    }
}

#[test]
fn tags_and_labels() {
    let four = ipv4(TCP, &ports(1, 2));
    let six = ipv6(TCP, &ports(1, 2));
    let label = |bottom: u8, rest: &[u8]| [&[0, 1, 0x20 | bottom, 64][..], rest].concat();
    let tagged = [
        ethernet(0x8100, &tag(0x0800, &four)),
        ethernet(0x88a8, &tag(0x8100, &tag(0x0800, &four))),
        ethernet(0x9100, &tag(0x8100, &tag(0x86dd, &six))),
        ethernet(0x8847, &label(0, &label(1, &four))),
        ethernet(0x8848, &label(1, &six)),
        ethernet(0x8100, &tag(0x8847, &label(1, &four))),
    ];
    let (four, six) = (v4(TCP, 1, 2), v6(TCP, 1, 2));
    assert_eq!(tuples(&outer(1, &tagged)), [four, four, six, four, six, four]);

    let endless_tags = ethernet(0x8100, &tag(0x8100, &[]).repeat(100));
    let endless_labels = ethernet(0x8847, &label(0, &[]).repeat(100));
    assert_eq!(outer(1, &[endless_tags, endless_labels]).counts.malformed, 2);
    let pseudowire = ethernet(0x8847, &label(1, &[0; 60]));
    assert_eq!(outer(1, &[pseudowire]).counts.non_ip, 1);
}

#[test]
fn protocols_with_ports_and_without() {
    for protocol in [TCP, UDP, SCTP] {
        let packets = [
            ethernet(0x0800, &ipv4(protocol, &ports(7, 8))),
            ethernet(0x86dd, &ipv6(protocol, &ports(7, 8))),
        ];
        assert_eq!(tuples(&outer(1, &packets)), [v4(protocol, 7, 8), v6(protocol, 7, 8)]);
    }
    // ICMP, IGMP, GRE, ESP, ICMPv6, no next header, OSPF: even with an empty body.
    for protocol in [ICMP, 2, 47, 50, ICMPV6, 59, 89] {
        for body in [&[9; 20][..], &[]] {
            let packets = [ethernet(0x0800, &ipv4(protocol, body)), ethernet(0x86dd, &ipv6(protocol, body))];
            assert_eq!(tuples(&outer(1, &packets)), [v4(protocol, 0, 0), v6(protocol, 0, 0)]);
        }
    }
}

#[test]
fn ipv4_options_padding_and_offloaded_lengths() {
    let mut options = ipv4(TCP, &[&[1; 8][..], &ports(1, 2)].concat());
    options[0] = 0x47;
    let mut offloaded = ipv4(TCP, &ports(1, 2));
    offloaded[2..4].fill(0);
    let authenticated = ipv4(51, &[&[TCP, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1][..], &ports(1, 2)].concat());
    for packet in [options, offloaded, authenticated] {
        assert_eq!(tuples(&outer(1, &[ethernet(0x0800, &packet)])), [v4(TCP, 1, 2)]);
    }
    // The frame has bytes, but they are padding: the packet ends before its ports.
    let padded = ethernet(0x0800, &[ipv4(TCP, &[0; 2]), vec![0xff; 24]].concat());
    assert_eq!(outer(1, &[padded]).counts.malformed, 1);
}

#[test]
fn ipv6_extension_headers() {
    let tcp = ports(1, 2);
    let authentication = [&[TCP, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1][..], &tcp].concat();
    let long_options = [&[TCP, 2][..], &[0; 22], &tcp].concat();
    let atomic_fragment = [&[TCP, 0, 0, 0, 0, 0, 0, 1][..], &tcp].concat();
    for packet in [
        ipv6(0, &extension(TCP, &tcp)),
        ipv6(0, &extension(60, &extension(43, &extension(51, &authentication)))),
        ipv6(43, &long_options),
        ipv6(44, &atomic_fragment),
    ] {
        let outcome = outer(1, &[ethernet(0x86dd, &packet)]);
        assert_eq!(tuples(&outcome), [v6(TCP, 1, 2)]);
        assert_eq!(outcome.counts.fragments, 0);
    }
    let mut jumbo = ipv6(0, &extension(TCP, &tcp));
    jumbo[4..6].fill(0);
    assert_eq!(tuples(&outer(101, &[jumbo])), [v6(TCP, 1, 2)]);
    let endless = ipv6(60, &extension(60, &[]).repeat(100));
    assert_eq!(outer(101, &[endless]).counts.malformed, 1);
}

#[test]
fn later_fragments_have_the_ports_of_the_first() {
    let first = |id, port| ipv4_fragment(UDP, id, 0x2000, &ports(port, 53));
    let later = |id, flags_offset| ipv4_fragment(UDP, id, flags_offset, b"12345678");
    let packets = [
        later(7, 3), // before its first
        first(7, 1000),
        first(8, 2000),
        later(7, 0x2003),
        later(8, 3),
        later(9, 3),    // its first is missing
        first(7, 3000), // the id again, for another packet
        later(7, 3),
        ipv4_fragment(TCP, 8, 3, b"12345678"), // another protocol is another packet
        later(8, 0x1000),                      // 32,768 bytes on
    ];
    let outcome = outer(101, &packets);
    let ports = [0, 1000, 2000, 1000, 2000, 0, 3000, 3000].map(|p| v4(UDP, p, if p == 0 { 0 } else { 53 }));
    assert_eq!(tuples(&outcome), [&ports[..], &[v4(TCP, 0, 0), v4(UDP, 2000, 53)]].concat());
    assert_eq!((outcome.counts.fragments, outcome.counts.fragments_without_first), (10, 3));
}

#[test]
fn ipv6_fragments_are_matched_by_id_and_get_the_protocol_of_the_first() {
    let packets = [
        // Options before UDP, in the fragmentable part: the later fragment says "options" and holds none.
        v6_fragment(60, 0, true, 70_000, &extension(UDP, &ports(1, 2))),
        v6_fragment(60, 3, false, 70_000, b"12345678"),
        v6_fragment(60, 3, false, 70_001, b"12345678"),
    ];
    let outcome = outer(101, &packets);
    assert_eq!(tuples(&outcome), [v6(UDP, 1, 2), v6(UDP, 1, 2), v6(60, 0, 0)]);
    assert_eq!((outcome.counts.fragments, outcome.counts.fragments_without_first), (3, 1));
}

#[test]
fn a_first_fragment_is_forgotten_after_65536_others() {
    let first = |source: u32, id: u16| {
        let mut packet = ipv4_fragment(UDP, id, 0x2000, &ports(1, 2));
        packet[12..16].copy_from_slice(&source.to_be_bytes());
        packet
    };
    let mut later = ipv4_fragment(UDP, 1, 3, b"12345678");
    later[12..16].copy_from_slice(&0u32.to_be_bytes());
    let mut packets = vec![first(0, 1)];
    packets.extend((1..65_536).map(|source| first(source, 1)));
    packets.push(later.clone());
    packets.push(first(70_000, 1));
    packets.push(later);
    assert_eq!(outer(101, &packets).counts.fragments_without_first, 1);
}

#[test]
fn tunnels_inner_and_outer() {
    let (four, six) = (ipv4(TCP, &ports(1, 2)), ipv6(SCTP, &ports(3, 4)));
    let vxlan = |rest: &[u8]| ethernet(0x0800, &ipv4(UDP, &vxlan(rest)));
    let geneve = |kind, rest: &[u8]| ethernet(0x86dd, &ipv6(UDP, &geneve(kind, rest)));
    let packets = [
        vxlan(&ethernet(0x0800, &four)),
        vxlan(&ethernet(0x8100, &tag(0x86dd, &six))),
        geneve(0x6558, &ethernet(0x0800, &four)),
        geneve(0x0800, &four),
        geneve(0x86dd, &six),
        vxlan(&vxlan(&ethernet(0x0800, &four))),
        ethernet(0x0800, &four),
    ];
    let outcome = inner(&packets);
    let (four, six) = (v4(TCP, 1, 2), v6(SCTP, 3, 4));
    assert_eq!(tuples(&outcome), [four, six, four, four, six, four, four]);
    assert_eq!(outcome.counts.tunnelled, 6);

    let outcome = outer(1, &packets);
    let (vxlan, geneve) = (v4(UDP, 50_000, 4789), v6(UDP, 50_001, 6081));
    assert_eq!(tuples(&outcome), [vxlan, vxlan, geneve, geneve, geneve, vxlan, four]);
    assert_eq!((outcome.counts.tunnelled, outcome.counts.tunnels), (0, 6));
}

/// GRE header with checksum, key and sequence number as the flags say, four bytes each.
fn gre(flags: u8, carried: u16, payload: &[u8]) -> Vec<u8> {
    let fields = vec![9; 4 * (flags & 0xb0).count_ones() as usize];
    [&[flags, 0][..], &carried.to_be_bytes(), &fields, payload].concat()
}

const GRE: u8 = 47;

#[test]
fn vxlan_on_linux_s_own_port_and_gre() {
    let (four, six) = (ipv4(TCP, &ports(1, 2)), ipv6(SCTP, &ports(3, 4)));
    let old_port = udp(50_000, 8472, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &ethernet(0x0800, &four)].concat());
    let carriers = [
        (UDP, old_port),
        (GRE, gre(0, 0x0800, &four)),
        (GRE, gre(0xb0, 0x86dd, &six)),
        (GRE, gre(0x20, 0x6558, &ethernet(0x0800, &four))),
    ];
    let packets = carriers.map(|(protocol, payload)| ethernet(0x0800, &ipv4(protocol, &payload)));
    let outcome = inner(&packets);
    assert_eq!(tuples(&outcome), [v4(TCP, 1, 2), v4(TCP, 1, 2), v6(SCTP, 3, 4), v4(TCP, 1, 2)]);
    assert_eq!((outcome.counts.tunnelled, outcome.counts.tunnels), (4, 0));
    let outcome = outer(1, &packets);
    assert_eq!(tuples(&outcome), [v4(UDP, 50_000, 8472), v4(GRE, 0, 0), v4(GRE, 0, 0), v4(GRE, 0, 0)]);
    assert_eq!((outcome.counts.tunnelled, outcome.counts.tunnels), (0, 4));

    // PPTP's version, source routes, and what is no IP inside.
    let pptp = [&[0x20, 0x81, 0x88, 0x0b][..], &[9; 40]].concat();
    let routed = gre(0x40, 0x0800, &four);
    let packets = [pptp, routed, gre(0, 0x0806, &[0; 28])].map(|gre| ethernet(0x0800, &ipv4(GRE, &gre)));
    let outcome = inner(&packets);
    assert_eq!(tuples(&outcome), [v4(GRE, 0, 0); 2]);
    assert_eq!((outcome.counts.non_ip, outcome.counts.tunnels), (1, 2));
}

#[test]
fn what_is_no_tunnel_stays_outer_and_what_is_no_ip_inside_is_counted() {
    let four = ethernet(0x0800, &ipv4(TCP, &ports(1, 2)));
    let no_flag = udp(9, 4789, &[&[0; 8][..], &four].concat());
    let control = udp(9, 6081, &[&[0, 0x80, 0x65, 0x58, 0, 0, 0, 0][..], &four].concat());
    let version_1 = udp(9, 6081, &[&[0x40, 0, 0x65, 0x58, 0, 0, 0, 0][..], &four].concat());
    let other_way = udp(4789, 9, &[&[8, 0, 0, 0, 0, 0, 0, 0][..], &four].concat());
    let packets = [no_flag, control, version_1, other_way].map(|udp| ethernet(0x0800, &ipv4(UDP, &udp)));
    assert_eq!(
        tuples(&inner(&packets)),
        [v4(UDP, 9, 4789), v4(UDP, 9, 6081), v4(UDP, 9, 6081), v4(UDP, 4789, 9)]
    );
    let arp = ethernet(0x0806, &[0; 28]);
    let packets = [vxlan(&arp), geneve(0x6558, &arp), geneve(0x1234, &arp), vxlan(&arp[..9])]
        .map(|udp| ethernet(0x0800, &ipv4(UDP, &udp)));
    let counts = inner(&packets).counts;
    assert_eq!((counts.non_ip, counts.malformed), (3, 1));
}

#[test]
fn fragments_of_a_tunnel_packet_belong_to_the_connection_inside() {
    let inside = ethernet(0x0800, &ipv4(TCP, &ports(1, 2)));
    let packets = [ipv4_fragment(UDP, 5, 0x2000, &vxlan(&inside)), ipv4_fragment(UDP, 5, 9, &[0; 64])]
        .map(|packet| ethernet(0x0800, &packet));
    assert_eq!(tuples(&inner(&packets)), [v4(TCP, 1, 2); 2]);
    assert_eq!(tuples(&outer(1, &packets)), [v4(UDP, 50_000, 4789); 2]);
}

#[test]
fn every_snap_length_gives_the_tuple_or_counts_the_packet() {
    let extended =
        ipv6(0, &extension(51, &[&[UDP, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1][..], &ports(3, 4)].concat()));
    let cases = [
        (ethernet(0x8100, &tag(0x0800, &ipv4(TCP, &ports(1, 2)))), 42, Encapsulation::Outer),
        (ethernet(0x86dd, &extended), 78, Encapsulation::Outer),
        (
            ethernet(0x0800, &ipv4(UDP, &vxlan(&ethernet(0x86dd, &ipv6(TCP, &ports(5, 6)))))),
            108,
            Encapsulation::Inner,
        ),
        (ethernet(0x0800, &ipv4(ICMP, &[0; 16])), 34, Encapsulation::Outer),
    ];
    for (packet, enough, encapsulation) in cases {
        let original = packet.len() as u32;
        for snap in 0..packet.len() {
            let file = pcap(Order::Big, MICROSECONDS, 1, &[(0, 0, original, packet[..snap].to_vec())]);
            let counts = read(&file, encapsulation).counts;
            let wanted = TraceCounts {
                packets: 1,
                ip_packets: u64::from(snap >= enough),
                truncated_headers: u64::from(snap < enough),
                tunnelled: u64::from(snap >= enough && encapsulation == Encapsulation::Inner),
                authenticated: u64::from(
                    snap >= enough && packet[14..].starts_with(&[0x60]) && packet[54] == 51,
                ),
                ..TraceCounts::default()
            };
            assert_eq!(counts, wanted, "snap length {snap}");
            // The same bytes as a whole packet are no cut, but nonsense.
            let counts = read(&pcap_of(1, &[packet[..snap].to_vec()]), encapsulation).counts;
            assert_eq!((counts.malformed, counts.truncated_headers), (u64::from(snap < enough), 0));
        }
    }
}

#[test]
fn contradictions_are_malformed() {
    let mut short_header = ipv4(TCP, &ports(1, 2));
    short_header[0] = 0x44;
    let mut wrong_version = ipv4(TCP, &ports(1, 2));
    wrong_version[0] = 0x65;
    let mut total_below_header = ipv4(TCP, &ports(1, 2));
    total_below_header[3] = 19;
    let four = [short_header, wrong_version, total_below_header].map(|packet| ethernet(0x0800, &packet));
    assert_eq!(outer(1, &four).counts.malformed, 3);
    assert_eq!(outer(1, &[ethernet(0x86dd, &ipv4(TCP, &ports(1, 2)))]).counts.malformed, 1);
    assert_eq!(outer(101, &[vec![0x50; 40], vec![]]).counts.malformed, 2);
    let other = [ethernet(0x0806, &[0; 28]), ethernet(46, &[0xaa; 46])];
    assert_eq!(outer(1, &other).counts.non_ip, 2);
    assert_eq!(outer(0, &[vec![7, 0, 0, 0, 1, 2]]).counts.non_ip, 1);
}

#[test]
fn headers_because_of_which_a_switch_reads_less_are_told_and_counted() {
    let whole = ipv4(TCP, &ports(1, 2));
    let hidden = ipv4(51, &[&[TCP, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1][..], &ports(3, 4)].concat());
    let label = [0, 0, 0x11, 64];
    let packets = [
        (ethernet(0x0800, &whole), Headers::default()),
        (ethernet(0x8100, &tag(0x0800, &whole)), Headers::default()),
        (ethernet(0x88a8, &tag(0x8100, &tag(0x0800, &whole))), Headers::STACKED_TAGS),
        (ethernet(0x9100, &tag(0x0800, &whole)), Headers::STACKED_TAGS | Headers::ODD_TAGS),
        (
            ethernet(0x88a8, &tag(0x8100, &tag(0x8100, &tag(0x0800, &whole)))),
            Headers::STACKED_TAGS | Headers::ODD_TAGS,
        ),
        (ethernet(0x8847, &[&label[..], &whole].concat()), Headers::MPLS),
        (ethernet(0x0800, &hidden), Headers::AUTHENTICATED),
        (ethernet(0x0800, &ipv4_fragment(UDP, 7, 0x2000, &ports(5, 6))), Headers::FIRST_FRAGMENT),
        (ethernet(0x0800, &ipv4_fragment(UDP, 7, 3, b"12345678")), Headers::LATER_FRAGMENT),
        (
            ethernet(0x86dd, &v6_fragment(51, 0, true, 8, &[&[UDP, 1][..], &[0; 10], &ports(7, 8)].concat())),
            Headers::FIRST_FRAGMENT | Headers::AUTHENTICATED,
        ),
        (
            ethernet(0x86dd, &v6_fragment(60, 3, false, 8, b"12345678")),
            Headers::LATER_FRAGMENT | Headers::EXTENSIONS,
        ),
        (ethernet(0x86dd, &v6_fragment(UDP, 0, false, 9, &ports(7, 8))), Headers::EXTENSIONS),
        (ethernet(0x86dd, &ipv6(60, &extension(UDP, &ports(7, 8)))), Headers::EXTENSIONS),
    ];
    let outcome = outer(1, &packets.clone().map(|(packet, _)| packet));
    let told: Vec<_> = outcome.records.iter().map(|record| record.headers).collect();
    assert_eq!(told, packets.map(|(_, headers)| headers));
    let counts = outcome.counts;
    assert_eq!(
        (counts.later_fragments, counts.authenticated, counts.stacked_tags, counts.mpls),
        (2, 2, 3, 1)
    );
}
