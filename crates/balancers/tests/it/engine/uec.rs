//! The transport of Ultra Ethernet in the engine: one flow to the picosecond, losses, trimming, spraying, sharing.

mod credits;
mod timeouts;

use super::setup::*;
use anabranch_balancers::{Balancing, Granularity, Settings};
use anabranch_fabric::topology::{Clos, LinkSettings};
use anabranch_fabric::{Buffer, Change, Fabric, MarkAt, Marking, Rate, SwitchSettings, What};
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::roce::Completion;
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::{EventKind, Framing, Nic, Observe, PortRecord};

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

/// Marks of `uet-htsim`: from 0.2 to 0.8 of what a link carries in a round trip.
const MARKING: Marking = Marking::Ramp { low_bytes: 37_350, high_bytes: 145_250, probability: 1.0 };

/// What a link carries in a round trip, which is the room of a port there.
const BDP_BYTES: u32 = 178_450;

/// 16 hosts in three tiers, 100 Gbit/s, 1 us a link.
fn fat_tree(marking: Marking) -> Fabric {
    fat_tree_of(Buffer::UNLIMITED, marking)
}

fn fat_tree_of(buffer: Buffer, marking: Marking) -> Fabric {
    let rate = Rate::from_bps(100_000_000_000).unwrap();
    let link = LinkSettings { rate, delay_ps: PS_PER_US, buffer, marking };
    Clos {
        pods: 4,
        leaves_per_pod: 2,
        aggregations_per_pod: 2,
        cores_per_aggregation: 2,
        hosts_per_leaf: 2,
        links_per_host: 1,
        host_link: link,
        uplink: link,
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
    let flows = [flow(0, 15, 4_000_000, 0), flow(4, 15, 4_000_000, 0), flow(8, 15, 4_000_000, 0)];
    let outcome = run(&fat_tree(MARKING), &flows, &over(acknowledged()));
    let ideal_ps = 3 * 979 * 332_000;
    for record in &outcome.flows {
        assert_eq!(record.retransmitted_packets, 0);
        assert!(record.fct_ps < ideal_ps * 11 / 10, "{record:?} {ideal_ps}");
        assert!(record.fct_ps > ideal_ps * 8 / 10, "{record:?} {ideal_ps}");
    }
}

/// Two flows at once are three windows of a round trip, one of which is on the links. NSCC takes the rest down until the
/// queue waits for its target, three quarters of a round trip, with the link busy all the while, and each flow has half.
#[test]
fn two_flows_share_a_link_at_the_target_delay() {
    let fabric = fat_tree(MARKING);
    let flows = [flow(0, 15, 20_000_000, 0), flow(4, 15, 20_000_000, 0)];
    let observe = Observe { interval_ps: 100 * PS_PER_US, ..Observe::default() };
    let outcome = run(&fabric, &flows, &Settings { observe, ..over(acknowledged()) });
    let mut queue_bytes = 0;
    for (index, port) in fabric.ports().iter().enumerate() {
        let settled = |record: &&PortRecord| {
            record.port as usize == index && (1_000 * PS_PER_US..3_000 * PS_PER_US).contains(&record.start_ps)
        };
        let of =
            |count: fn(&PortRecord) -> u128| outcome.ports.iter().filter(settled).map(count).sum::<u128>();
        let length_ps = of(|record| record.length_ps.into());
        assert_eq!(length_ps, 2_000 * u128::from(PS_PER_US));
        if port.from >= 16 {
            queue_bytes = queue_bytes.max(of(|record| record.backlog_byte_ps) / length_ps);
        }
        if port.to == 15 {
            let busy_ps = of(|record| record.busy_ps.into());
            assert!(busy_ps > length_ps * 99 / 100, "{busy_ps} of {length_ps}");
        }
    }
    let target_bytes = u128::from(BDP_BYTES) * 3 / 4;
    assert!(queue_bytes.abs_diff(target_bytes) < target_bytes / 10, "{queue_bytes} and {target_bytes}");
    for record in &outcome.flows {
        let both_ps = 2 * 4_895 * 332_000;
        assert!(record.fct_ps.abs_diff(both_ps) < both_ps / 20, "{record:?}");
    }
}

/// Seven hosts send to one whose ports trim. Whatever is cut is asked for at once, so nothing waits for a timeout; every
/// packet is sent once more for each time that it was cut, and every byte arrives once.
#[test]
fn trimmed_packets_are_sent_again_at_once() {
    let mut switches = SwitchSettings { mark_at: MarkAt::Dequeue, ..SwitchSettings::default() };
    switches.classes[2].trim = true;
    let mut fabric = fat_tree_of(Buffer { bytes: BDP_BYTES, packets: u32::MAX }, MARKING);
    fabric.set_switches(Some(switches));
    let size = 1_000_003;
    let flows: Vec<_> = (1..8).map(|host| flow(host, 0, size, 0)).collect();
    let observe = Observe { events_max: 1_000_000, ..Observe::default() };
    let outcome = run(&fabric, &flows, &Settings { observe, ..over(acknowledged()) });
    let trimmed: u64 = outcome.ports.iter().map(|record| record.trimmed_packets).sum();
    let dropped = outcome.events.iter().filter(|event| event.what == EventKind::Dropped).count() as u64;
    assert!(trimmed > 200, "{trimmed}");
    assert_eq!(dropped, trimmed);
    assert_eq!(outcome.totals.dropped_packets, trimmed);
    assert_eq!(outcome.flows.iter().map(|record| record.dropped_packets).sum::<u64>(), trimmed);
    for record in &outcome.flows {
        assert_eq!((record.received_bytes, record.delivered_bytes, record.timeouts), (size, size, 0));
        assert_eq!(record.retransmitted_packets, record.dropped_packets);
        assert_eq!(record.sent_packets, size.div_ceil(4086) + record.retransmitted_packets);
    }
    let last_ps = outcome.flows.iter().map(|record| record.fct_ps).max().unwrap();
    assert!(last_ps < 7 * 245 * 332_000 * 6 / 5, "{last_ps}");
}
