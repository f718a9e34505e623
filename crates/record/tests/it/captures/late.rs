//! Packets that are under way when their connection has ended, and another one has its slot.

use super::simulated::*;
use anabranch_fabric::topology::LeafSpine;
use anabranch_sim::Kind;
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::transport::{Tcp, Transport};
use anabranch_traffic::{Flow, Start};
use std::collections::HashMap;

/// Bits of a connection's name below its generation: its slot.
const SLOT: u32 = (1 << 24) - 1;

/// Timeouts shorter than a round trip: most is sent again while it waits, and arrives after its flow ended.
fn hasty() -> [Transport; 3] {
    let tcp = Tcp { rto_min_ps: 4 * PS_PER_US, rto_initial_ps: 4 * PS_PER_US, ..tcp() };
    let roce = Roce { rto_ps: 12 * PS_PER_US, ..Roce::plain() };
    [Transport::Tcp(tcp.clone()), Transport::Tcp(Tcp { persistent: true, ..tcp }), Transport::Roce(roce)]
}

/// Short flows between all hosts, all the time.
fn flows() -> Vec<Flow> {
    let pairs = (0..4_u32).flat_map(|src| (0..4).filter(move |&dst| dst != src).map(move |dst| (src, dst)));
    let pairs: Vec<_> = pairs.collect();
    (0..2000_usize)
        .map(|index| {
            let (src, dst) = pairs[index * 7 % pairs.len()];
            Flow { start: Start::At(index as u64 * 2 * PS_PER_US), ..flow(src, dst, 6_000) }
        })
        .collect()
}

#[test]
fn a_late_packet_has_its_own_hosts_and_flow() {
    let mut shape = LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: 2, ..LeafSpine::default() };
    shape.uplink.buffer.bytes = 12_000;
    shape.host_link.buffer.bytes = 12_000;
    let (fabric, flows) = (shape.build().unwrap(), flows());
    let ports: Vec<u32> = (0..fabric.ports().len() as u32).collect();
    for transport in hasty() {
        let keeps = matches!(&transport, Transport::Tcp(tcp) if tcp.persistent);
        let mut captures = captures(&fabric, &flows, &settings(vec![transport], &ports));
        captures.sort_by_key(|capture| capture.time_ps);
        let (mut youngest, mut late) = (HashMap::<u32, u32>::new(), 0);
        for capture in captures.iter().filter(|capture| !capture.packet.kind.is_probe()) {
            let (packet, flow) = (&capture.packet, &flows[capture.flow as usize]);
            assert!([flow.src, flow.dst].contains(&capture.src), "{capture:?} of {flow:?}");
            assert_eq!(capture.src + packet.destination, flow.src + flow.dst, "{capture:?} of {flow:?}");
            if packet.kind == Kind::Data {
                assert_eq!((capture.src, packet.destination), (flow.src, flow.dst), "{capture:?}");
            }
            let name = packet.connection;
            let last = youngest.entry(name & SLOT).or_insert(name);
            late += u32::from(name < *last);
            *last = name.max(*last);
        }
        assert_eq!(late > 5, !keeps, "{late} packets arrive after another has their slot");
    }
}
