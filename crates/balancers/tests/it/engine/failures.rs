//! Failures: who knows when, and what is lost meanwhile.

use super::setup::*;
use anabranch_balancers::{Granularity, Settings, Table};
use anabranch_fabric::{Change, Rate, What};
use anabranch_sim::transport::{Control, Tcp, Transport};

const LEAVES: u32 = 2;
const SPINES: u32 = 2;

/// One datagram every 2 us from host 0 to host 1, for 2 ms.
fn stream() -> Vec<anabranch_traffic::Flow> {
    (0..1000).map(|i| flow(0, 1, 1000, i * 2 * PS_PER_US)).collect()
}

fn changed(changes: Vec<Change>, routing_delay_us: u64) -> Settings {
    let mut settings = settings(udp(10_000_000_000));
    settings.changes = changes;
    settings.routing_delay_ps = routing_delay_us * PS_PER_US;
    settings
}

fn delivered(settings: &Settings) -> u64 {
    let fabric = leaf_spine(LEAVES, SPINES, 1, TEN_GIG);
    run(&fabric, &stream(), settings).totals.flows_finished
}

#[test]
fn a_leaf_leaves_its_own_dead_uplink_at_once() {
    let port = uplink(LEAVES, SPINES, 1, 0, 0);
    // Only what was on the wire or waiting can be lost.
    let lost =
        1000 - delivered(&changed(vec![Change { at_ps: 1000 * PS_PER_US, what: What::PortDown(port) }], 500));
    assert!(lost <= 2, "{lost}");
}

#[test]
fn others_learn_after_the_routing_delay() {
    // Spine 0's link down to leaf 1 dies: leaf 0 goes on sending half of its packets there until routing tells it.
    let port = uplink(LEAVES, SPINES, 1, 1, 0) + 1;
    let at = |routing_delay_us| {
        1000 - delivered(&changed(
            vec![Change { at_ps: 1000 * PS_PER_US, what: What::PortDown(port) }],
            routing_delay_us,
        ))
    };
    assert!(at(0) <= 3, "{}", at(0));
    // 400 us hold 200 datagrams, each on the dead way with probability 1/2.
    let lost = at(400);
    assert!((70..130).contains(&lost), "{lost}");
    let repaired = delivered(&changed(
        vec![
            Change { at_ps: 500 * PS_PER_US, what: What::PortDown(port) },
            Change { at_ps: 600 * PS_PER_US, what: What::PortUp(port) },
        ],
        10_000,
    ));
    // 100 us hold 50 datagrams.
    assert!((965..990).contains(&repaired), "{repaired}");
}

#[test]
fn a_dead_spine_and_its_return() {
    let spine = LEAVES + LEAVES;
    let settings = changed(
        vec![
            Change { at_ps: 500 * PS_PER_US, what: What::NodeDown(spine) },
            Change { at_ps: 1500 * PS_PER_US, what: What::NodeUp(spine) },
        ],
        0,
    );
    let fabric = leaf_spine(LEAVES, SPINES, 1, TEN_GIG);
    let outcome = run(&fabric, &stream(), &settings);
    assert!(outcome.totals.flows_finished >= 996, "{:?}", outcome.totals);
    let up = |s| outcome.ports[uplink(LEAVES, SPINES, 1, 0, s) as usize].sent_packets;
    // A quarter of the time both, half of it only spine 1, a quarter both again.
    assert!((200..300).contains(&up(0)), "{}", up(0));
    assert_eq!(up(0) + up(1), 1000);
}

#[test]
fn a_slow_link_slows_and_a_lossy_one_loses() {
    let fabric = leaf_spine(2, 1, 1, TEN_GIG);
    let to_receiver = 3;
    let size = 20_000_000;
    let tcp = Transport::Tcp(Tcp::plain(Control::NewReno));
    let fast = run(&fabric, &[flow(0, 1, size, 0)], &settings(tcp.clone())).flows[0].fct_ps;
    let mut slow = settings(tcp);
    let rate = Rate::from_bps(1_000_000_000).unwrap();
    slow.changes = vec![Change { at_ps: 0, what: What::PortRate(to_receiver, rate) }];
    let slowed = run(&fabric, &[flow(0, 1, size, 0)], &slow).flows[0].fct_ps;
    assert!((slowed as f64 / fast as f64 - 10.0).abs() < 0.1, "{slowed} {fast}");

    let lossy = changed(vec![Change { at_ps: 0, what: What::PortLoss(to_receiver, 0.1) }], 0);
    let outcome = run(&fabric, &stream(), &lossy);
    assert_eq!(outcome.totals.lost_packets, 1000 - outcome.totals.flows_finished);
    assert!((70..130).contains(&outcome.totals.lost_packets), "{:?}", outcome.totals);
}

#[test]
fn a_blackhole_swallows_its_fraction_of_flows_and_nobody_is_told() {
    let spine = LEAVES + LEAVES;
    let settings = changed(vec![Change { at_ps: 0, what: What::NodeBlackhole(spine, 0.2) }], 0);
    let lost = 1000 - delivered(&settings);
    // Half of the flows pass that spine, a fifth of them die: 100 expected.
    assert!((60..145).contains(&lost), "{lost}");
}

/// While a spine cannot reach a leaf it has other next hops, more of them: what its table said of those must not be
/// read as if it meant the one it has again after the repair.
#[test]
fn next_hops_that_are_all_others_start_anew() {
    let (leaves, spines, hosts) = (3, 2, 1);
    let fabric = leaf_spine(leaves, spines, hosts, TEN_GIG);
    let mut settings = settings(Transport::Tcp(Tcp::plain(Control::NewReno)));
    let port = uplink(leaves, spines, hosts, 1, 0);
    for port in [port, port + 1] {
        settings.changes.push(Change { at_ps: 100 * PS_PER_US, what: What::PortDown(port) });
        settings.changes.push(Change { at_ps: 300 * PS_PER_US, what: What::PortUp(port) });
    }
    settings.routing_delay_ps = 10 * PS_PER_US;
    let flows: Vec<_> = (0..20).map(|index| flow(index % 3, (index + 1) % 3, 200_000, 0)).collect();
    for table in [Table::Uniform, Table::MinMove, Table::Deficit, Table::Turns { block: true }] {
        settings.balancing.table = table;
        for granularity in [Granularity::Flow, Granularity::Packet] {
            settings.balancing.granularity = granularity;
            let outcome = run(&fabric, &flows, &settings);
            assert_eq!(outcome.totals.flows_finished, 20, "{table:?} {granularity:?}");
        }
    }
}

/// A bottleneck of 1 Mbit/s falls to a tenth while a frame is on the wire: hops stay those of the packets.
#[test]
fn a_rate_that_falls_under_a_frame_counts_it_once() {
    let fabric = leaf_spine(2, 1, 1, TEN_GIG);
    let bottleneck = uplink(2, 1, 1, 0, 0);
    let rate = |at_us, bps| {
        let what = What::PortRate(bottleneck, Rate::from_bps(bps).unwrap());
        Change { at_ps: at_us * PS_PER_US, what }
    };
    for end_us in [5_000, 40_000, 60_000, u64::MAX / PS_PER_US] {
        let mut settings = changed(vec![rate(0, 1_000_000), rate(5_000, 100_000)], 0);
        settings.end_ps = end_us * PS_PER_US;
        let outcome = run(&fabric, &[flow(0, 1, 10 * 1448, 0)], &settings);
        let hops = outcome.totals.packet_hops;
        assert!((1 + 10..=4 * 10).contains(&hops), "{hops}");
        assert_eq!(outcome.ports[bottleneck as usize].sent_packets, if end_us < 1 << 20 { 1 } else { 10 });
    }
}

/// A link is up only if it is up itself and both its nodes are.
#[test]
fn a_node_that_returns_does_not_raise_a_dead_link_nor_a_link_a_dead_node() {
    let (link, spine) = (uplink(LEAVES, SPINES, 1, 0, 0), LEAVES + LEAVES);
    let both = |at_us, what: fn(u32) -> What| {
        [link, link + 1].map(|port| Change { at_ps: at_us * PS_PER_US, what: what(port) })
    };
    let node = |at_us, what: fn(u32) -> What| Change { at_ps: at_us * PS_PER_US, what: what(spine) };
    let fabric = leaf_spine(LEAVES, SPINES, 1, TEN_GIG);
    let sent_by_spine = |changes: Vec<Change>| {
        let outcome = run(&fabric, &stream(), &changed(changes, 0));
        outcome.ports[uplink(LEAVES, SPINES, 1, 1, 0) as usize + 1].sent_packets
    };
    let mut changes = both(100, What::PortDown).to_vec();
    changes.extend([node(200, What::NodeDown), node(300, What::NodeUp)]);
    assert!(sent_by_spine(changes.clone()) <= 50, "the link stays down");
    changes.extend(both(400, What::PortUp));
    assert!(sent_by_spine(changes) > 300, "and comes back");

    let mut changes = vec![node(100, What::NodeDown)];
    changes.extend(both(200, What::PortDown));
    changes.extend(both(300, What::PortUp));
    assert!(sent_by_spine(changes.clone()) <= 50, "the switch stays down");
    changes.push(node(400, What::NodeUp));
    assert!(sent_by_spine(changes) > 300, "and comes back");
}
