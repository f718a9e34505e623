//! The header decoder against the `etherparse` crate, on built packets and on randomly damaged ones.

use super::bytes::*;
use anabranch_split::{FiveTuple, protocol};
use anabranch_traffic::trace::Encapsulation;
use etherparse::{
    Icmpv4Type, IpFragOffset, IpHeaders, IpNumber, Ipv4Header, Ipv4Options, Ipv6Extensions,
    Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, Ipv6RoutingExtensions, NetSlice, PacketBuilder,
    SlicedPacket, TransportSlice, VlanId,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Description {
    v6: bool,
    addresses: ([u8; 16], [u8; 16]),
    ports: (u16, u16),
    /// Protocol: TCP, UDP, or ICMP.
    protocol: u8,
    vlans: usize,
    options: usize,
    /// Extension headers: hop-by-hop, routing, destination options, final destination options, atomic fragment.
    extensions: [bool; 5],
    payload: Vec<u8>,
}

fn descriptions() -> impl Strategy<Value = Description> {
    let protocols = prop::sample::select(vec![protocol::TCP, protocol::UDP, protocol::ICMP]);
    (
        any::<bool>(),
        any::<([u8; 16], [u8; 16])>(),
        any::<(u16, u16)>(),
        protocols,
        0usize..3,
        0usize..11,
        any::<[bool; 5]>(),
        prop::collection::vec(any::<u8>(), 0..100),
    )
        .prop_map(|(v6, addresses, ports, protocol, vlans, options, extensions, payload)| Description {
            v6,
            addresses,
            ports,
            protocol,
            vlans,
            options,
            extensions,
            payload,
        })
}

fn front(address: [u8; 16]) -> [u8; 4] {
    [address[0], address[1], address[2], address[3]]
}

fn ip_headers(d: &Description) -> IpHeaders {
    if !d.v6 {
        let mut header =
            Ipv4Header::new(0, 64, IpNumber(d.protocol), front(d.addresses.0), front(d.addresses.1)).unwrap();
        header.options = Ipv4Options::try_from(&vec![1; 4 * d.options][..]).unwrap();
        return IpHeaders::Ipv4(header, Default::default());
    }
    let header =
        Ipv6Header { source: d.addresses.0, destination: d.addresses.1, hop_limit: 64, ..Default::default() };
    let raw = |present: bool| {
        present.then(|| Ipv6RawExtHeader::new_raw(IpNumber(0), &vec![0; 6 + 8 * d.options]).unwrap())
    };
    let [hop_by_hop, routing, destination, last_destination, atomic] = d.extensions;
    let extensions = Ipv6Extensions {
        hop_by_hop_options: raw(hop_by_hop),
        destination_options: raw(destination),
        routing: raw(routing).map(|routing| Ipv6RoutingExtensions {
            routing,
            final_destination_options: raw(last_destination),
        }),
        fragment: atomic
            .then(|| Ipv6FragmentHeader::new(IpNumber(0), IpFragOffset::try_new(0).unwrap(), false, 7)),
        auth: None,
    };
    IpHeaders::Ipv6(header, extensions)
}

fn build(d: &Description) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let id = |n| VlanId::try_new(n).unwrap();
    let ip = match d.vlans {
        0 => ethernet.ip(ip_headers(d)),
        1 => ethernet.single_vlan(id(5)).ip(ip_headers(d)),
        _ => ethernet.double_vlan(id(5), id(6)).ip(ip_headers(d)),
    };
    let mut bytes = Vec::new();
    match d.protocol {
        protocol::TCP => ip.tcp(d.ports.0, d.ports.1, 1, 1000).write(&mut bytes, &d.payload),
        protocol::UDP => ip.udp(d.ports.0, d.ports.1).write(&mut bytes, &d.payload),
        _ if d.v6 => ip.icmpv6_echo_request(1, 2).write(&mut bytes, &d.payload),
        _ => ip
            .icmpv4(Icmpv4Type::TimestampRequest(etherparse::icmpv4::TimestampMessage {
                id: 1,
                seq: 2,
                originate_timestamp: 0,
                receive_timestamp: 0,
                transmit_timestamp: 0,
            }))
            .write(&mut bytes, &[]),
    }
    .unwrap();
    bytes
}

/// Tuple of the packet that the builder was asked for.
fn wanted(d: &Description) -> FiveTuple {
    let (source, destination) = if d.protocol == protocol::ICMP { (0, 0) } else { d.ports };
    if d.v6 {
        let protocol = if d.protocol == protocol::ICMP { protocol::ICMPV6 } else { d.protocol };
        FiveTuple::v6(d.addresses.0, d.addresses.1, protocol, source, destination)
    } else {
        FiveTuple::v4(front(d.addresses.0), front(d.addresses.1), d.protocol, source, destination)
    }
}

/// Tuple that etherparse reads, if it accepts the packet and the packet is no fragment.
fn by_etherparse(bytes: &[u8]) -> Option<FiveTuple> {
    let packet = SlicedPacket::from_ethernet(bytes).ok()?;
    let (mut tuple, payload) = match packet.net? {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            (FiveTuple::v4(header.source(), header.destination(), 0, 0, 0), ip.payload().clone())
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            (FiveTuple::v6(header.source(), header.destination(), 0, 0, 0), ip.payload().clone())
        }
        NetSlice::Arp(_) => return None,
    };
    if payload.fragmented {
        return None;
    }
    tuple.protocol = payload.ip_number.0;
    let (source, destination) = match packet.transport {
        Some(TransportSlice::Tcp(tcp)) => (tcp.source_port(), tcp.destination_port()),
        Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port()),
        Some(_) => (0, 0),
        None => return None,
    };
    tuple.source_port = source.to_be_bytes();
    tuple.destination_port = destination.to_be_bytes();
    Some(tuple)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn packets_that_etherparse_builds(description in descriptions()) {
        let packet = build(&description);
        let outcome = read(&pcap_of(1, &[packet]), Encapsulation::Outer);
        prop_assert_eq!(outcome.counts.ip_packets, 1);
        prop_assert_eq!(outcome.records[0].tuple, wanted(&description));
    }

    /// Damages bytes of the headers: if etherparse still accepts the packet, both must read it alike.
    #[test]
    fn damaged_packets_that_etherparse_accepts(
        description in descriptions(),
        damage in prop::collection::vec((0usize..90, any::<u8>()), 1..4),
    ) {
        let mut packet = build(&description);
        for (at, byte) in damage {
            if let Some(place) = packet.get_mut(at) {
                *place = byte;
            }
        }
        if let Some(tuple) = by_etherparse(&packet) {
            let outcome = read(&pcap_of(1, &[packet]), Encapsulation::Outer);
            prop_assert_eq!(outcome.records.first().map(|record| record.tuple), Some(tuple));
        }
    }
}
