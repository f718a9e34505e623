//! The transport of Ultra Ethernet in the engine: one flow to the picosecond, losses, spraying, sharing.

use super::setup::*;
use anabranch_balancers::{Balancing, Granularity, Settings};
use anabranch_fabric::topology::{Clos, LinkSettings};
use anabranch_fabric::{Buffer, Change, Fabric, Marking, Rate, What};
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::roce::Completion;
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::{Framing, Nic};

/// The frames of `uet-htsim`: 4150 bytes with 64 of headers.
const FRAMING: Framing =
    Framing { payload_bytes_max: 4086, header_bytes: 64, frame_bytes_min: 64, gap_bytes: 0, whole_ns: false };

fn over(uec: Uec) -> Settings {
    let nic = Nic { jitter: false, ..Nic::FAIR };
    Settings { framing: FRAMING, nic, ..settings(Transport::Uec(uec)) }
}

fn acknowledged() -> Uec {
    Uec { completion: Completion::Acknowledged, ..Uec::DEFAULT }
}

/// 16 hosts in three tiers, 100 Gbit/s, 1 us a link.
fn fat_tree(marking: Marking) -> Fabric {
    let rate = Rate::from_bps(100_000_000_000).unwrap();
    let link = LinkSettings { rate, delay_ps: PS_PER_US, buffer: Buffer::UNLIMITED, marking };
    Clos {
        pods: 4,
        leaves_per_pod: 2,
        aggregations_per_pod: 2,
        cores_per_aggregation: 2,
        hosts_per_leaf: 2,
        host_link: link.clone(),
        uplink: link.clone(),
        core_link: link,
    }
    .build()
    .unwrap()
}

/// `uet-htsim` prints 176.2 us for 2 MB: 489 full frames of 332 ns on the first link, five more times one, 160.8 ns of the
/// last frame, which is short, 12 us of propagation, and six times 5.12 ns of the acknowledgement.
#[test]
fn one_flow_of_2_mb_takes_176_1995_us() {
    let outcome = run(&fat_tree(Marking::Off), &[flow(0, 15, 2_000_000, 0)], &over(acknowledged()));
    let [record] = &outcome.flows[..] else { panic!("one flow") };
    assert_eq!(record.fct_ps, 489 * 332_000 + 5 * 332_000 + 160_800 + 12 * PS_PER_US + 6 * 5_120);
    assert_eq!(record.fct_ps, 176_199_520);
    assert_eq!((record.sent_packets, record.retransmitted_packets), (490, 0));
}

/// By the form above, without the acknowledgement.
#[test]
fn messages_of_any_size_arrive_whole() {
    let fabric = fat_tree(Marking::Off);
    for size in [1, 4085, 4086, 4087, 8172, 100_000] {
        let outcome = run(&fabric, &[flow(3, 9, size, 0)], &over(Uec::DEFAULT));
        let record = &outcome.flows[0];
        assert_eq!((record.received_bytes, record.sent_bytes), (size, size));
        let packets = size.div_ceil(4086);
        let last_bytes = size - (packets - 1) * 4086 + 64;
        // All but the last packet on the first link; the last behind a full one on each link, if there is one.
        let before_ps = if packets > 1 { (packets - 1 + 5) * 332_000 } else { 5 * last_bytes * 80 };
        assert_eq!(record.fct_ps, before_ps + last_bytes * 80 + 6 * PS_PER_US, "{size}");
    }
}

/// One packet in a hundred is lost on the link into a host: timeouts repair it, and nothing else is sent again.
#[test]
fn losses_are_repaired() {
    let fabric = fat_tree(Marking::Off);
    let into = fabric.ports()[fabric.ports_of(15)[0] as usize].reverse;
    let change = Change { at_ps: 0, what: What::PortLoss(into, 0.01) };
    let settings = Settings { changes: vec![change], ..over(acknowledged()) };
    let outcome = run(&fabric, &[flow(0, 15, 10_000_000, 0)], &settings);
    let record = &outcome.flows[0];
    assert_eq!(record.received_bytes, 10_000_000);
    assert!(record.lost_packets > 5);
    assert_eq!(record.retransmitted_packets, record.lost_packets);
    assert_eq!(u64::from(record.timeouts), record.lost_packets);
}

/// Spraying over four paths reorders, and costs nothing: a permutation takes what one flow takes, and little more.
#[test]
fn reordering_costs_nothing() {
    let fabric = fat_tree(Marking::Off);
    let flows: Vec<_> = (0..16).map(|host| flow(host, (host + 4) % 16, 2_000_000, 0)).collect();
    let balancing = Balancing { granularity: Granularity::Packet, ..Balancing::ECMP };
    let outcome = run(&fabric, &flows, &Settings { balancing, ..over(acknowledged()) });
    let reordered: u64 = outcome.flows.iter().map(|record| record.reordered_packets).sum();
    assert!(reordered > 500, "{reordered}");
    for record in &outcome.flows {
        assert_eq!(record.retransmitted_packets, 0);
        assert!(record.fct_ps < 240 * PS_PER_US, "{record:?}");
    }
}

/// Three flows into one host share its link, by marks and delay alone.
#[test]
fn an_incast_shares_the_link() {
    let marking = Marking::Ramp { low_bytes: 37_350, high_bytes: 145_250, probability: 1.0 };
    let flows = [flow(0, 15, 4_000_000, 0), flow(4, 15, 4_000_000, 0), flow(8, 15, 4_000_000, 0)];
    let outcome = run(&fat_tree(marking), &flows, &over(acknowledged()));
    let ideal_ps = 3 * 979 * 332_000;
    for record in &outcome.flows {
        assert_eq!(record.retransmitted_packets, 0);
        assert!(record.fct_ps < ideal_ps * 11 / 10, "{record:?} {ideal_ps}");
        assert!(record.fct_ps > ideal_ps * 8 / 10, "{record:?} {ideal_ps}");
    }
}
