//! DBB: links carry what was planned, and TCP does not mistake what is left of reordering for loss.

use super::setup::*;
use anabranch_balancers::dbb::parameters::{Dbb, PairBandwidth};
use anabranch_balancers::dbb::pick::{Counter, Parameters};
use anabranch_balancers::{Balancing, Granularity, Scheme, Settings};
use anabranch_fabric::topology::Clos;
use anabranch_fabric::{Change, Fabric, Node, Rate, Tier, What};
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;

fn with(scheme: Scheme, transport: Transport) -> Settings {
    let mut settings = settings(transport);
    settings.balancing = Balancing { scheme, ..Balancing::ECMP };
    settings
}

fn counting(counter: Counter) -> Scheme {
    Scheme::new(Dbb { switches: Parameters { counter, ..Parameters::default() }, ..Dbb::default() })
}

/// Two leaves of four hosts, two switches, two more, two leaves of two hosts, each stage fully meshed with the next: eight
/// switches, twelve hosts and four links between any two stages, as the paper says of its Fig. 6, an image. Ports as
/// in [`leaf_spine`]: first the hosts' links, then the stages'.
fn four_stages(link: Link) -> Fabric {
    let leaf_of = [12, 12, 12, 12, 13, 13, 13, 13, 18, 18, 19, 19];
    let meshes = [(12, 14), (14, 16), (16, 18)];
    let mesh = |(near, far)| [(near, far), (near, far + 1), (near + 1, far), (near + 1, far + 1)];
    let links: Vec<(u32, u32)> = (0..).zip(leaf_of).chain(meshes.into_iter().flat_map(mesh)).collect();
    let tiers = [(Tier::Leaf, 2), (Tier::Aggregation, 4), (Tier::Leaf, 2)];
    let tier = [(Tier::Host, 12)]
        .into_iter()
        .chain(tiers)
        .flat_map(|(tier, count)| std::iter::repeat_n(tier, count));
    let nodes = (0..).zip(tier).map(|(i, tier)| Node { name: format!("node{i}"), tier, pod: None }).collect();
    fabric(nodes, &links, link)
}

/// The paper's four pairs, h1 to h9, h3 to h11, h6 to h10, h8 to h12.
fn four_pairs(size_bytes: u64) -> Vec<Flow> {
    [(1, 9), (3, 11), (6, 10), (8, 12)].map(|(from, to)| flow(from - 1, to - 1, size_bytes, 0)).into()
}

/// Payload that all flows together deliver, in Gbit/s.
fn goodput_gbps(outcome: &Outcome, size_bytes: u64) -> f64 {
    outcome.flows.iter().map(|flow| 8.0 * size_bytes as f64 / (flow.fct_ps as f64 / 1e3)).sum()
}

#[test]
fn four_pairs_at_40_gbps_reorder_too_little_for_tcp_to_notice() {
    let link = Link { buffer: anabranch_fabric::Buffer { bytes: 1_000_000, packets: u32::MAX }, ..TEN_GIG };
    let fabric = four_stages(link);
    let size = 60_000_000;
    let tcp =
        Transport::Tcp(Tcp { window_max_bytes: 500_000, ..Tcp::plain(Control::Cubic { hystart: false }) });
    let goodput = |settings: &Settings| goodput_gbps(&run(&fabric, &four_pairs(size), settings), size);
    let shared = goodput(&with(counting(Counter::Shared), tcp.clone()));
    let independent = goodput(&with(counting(Counter::Independent), tcp.clone()));
    let mut spraying = settings(tcp);
    spraying.balancing = Balancing { granularity: Granularity::Packet, ..Balancing::ECMP };
    let random = goodput(&spraying);
    assert!((36.0..37.7).contains(&shared), "{shared}");
    assert!((36.0..37.7).contains(&independent), "{independent}");
    // The paper's testbed: 15.77.
    assert!(random < 28.0, "{random}");
}

/// A leaf with one next hop has no choice to make, and its packets have a list of turns at the next switch all the same.
#[test]
fn a_leaf_with_one_uplink_is_a_source_too() {
    let shape = Clos { aggregations_per_pod: 1, cores_per_aggregation: 3, ..Clos::default() };
    let fabric = shape.build().unwrap();
    let last = fabric.hosts() - 1;
    let settings = with(counting(Counter::Shared), Transport::Tcp(Tcp::plain(Control::NewReno)));
    let outcome = run(&fabric, &[flow(0, last, 300_000, 0), flow(last, 1, 300_000, 0)], &settings);
    assert_eq!((outcome.totals.flows_finished, outcome.totals.lost_packets), (2, 0), "{:?}", outcome.totals);
}

/// Frames that left by a port.
fn sent(outcome: &Outcome, port: u32) -> u64 {
    outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_packets).sum()
}

/// The paper's Fig. 5 between two hosts: switches S1 to S6 are nodes 2 to 7, links in the order of its bandwidths.
pub(super) fn figure_5() -> (Fabric, Vec<Change>) {
    let links = [(0, 2), (1, 7), (2, 3), (2, 4), (3, 5), (3, 6), (4, 5), (4, 6), (5, 7), (6, 7)];
    let tier = |node| match node {
        0 | 1 => Tier::Host,
        2 | 7 => Tier::Leaf,
        _ => Tier::Aggregation,
    };
    let nodes = (0..8).map(|i| Node { name: format!("node{i}"), tier: tier(i), pod: None }).collect();
    let rates = (4..).step_by(2).zip([2u64, 8, 1, 1, 3, 5, 4, 6]);
    let slow = |(port, gbps)| Change {
        at_ps: 0,
        what: What::PortRate(port, Rate::from_bps(gbps * 1_000_000_000).unwrap()),
    };
    (fabric(nodes, &links, TEN_GIG), rates.map(slow).collect())
}

#[test]
fn links_carry_what_table_4_says() {
    let (fabric, changes) = figure_5();
    for counter in [Counter::Shared, Counter::Independent] {
        let mut settings = with(counting(counter), udp(10_000_000_000));
        settings.changes.clone_from(&changes);
        let outcome = run(&fabric, &[flow(0, 1, 1000 * 1448, 0)], &settings);
        let carried: Vec<u64> = (4..20).step_by(2).map(|port| sent(&outcome, port)).collect();
        assert_eq!(carried, [200, 800, 100, 100, 300, 500, 400, 600], "{counter:?}");
        // Offered what the fabric can just carry, no queue holds more than a few frames.
        let backlog = outcome.ports.iter().map(|record| record.backlog_max_bytes).max().unwrap();
        assert!(backlog < 6 * 1518, "{backlog}");
    }
}

#[test]
fn short_flows_with_counters_of_their_own_begin_anywhere() {
    // 400 flows of one frame each: a shared counter sends them in turn, counters of their own each to a random entry.
    let fabric = leaf_spine(2, 4, 1, TEN_GIG);
    let flows: Vec<Flow> = (0..400).map(|i| flow(0, 1, 1000, i * 2 * PS_PER_US)).collect();
    let carried = |counter| {
        let outcome = run(&fabric, &flows, &with(counting(counter), udp(10_000_000_000)));
        [0, 1, 2, 3].map(|spine| sent(&outcome, uplink(2, 4, 1, 0, spine)))
    };
    assert_eq!(carried(Counter::Shared), [100; 4]);
    let independent = carried(Counter::Independent);
    assert!(
        independent != [100; 4] && independent.iter().all(|frames| (70..130).contains(frames)),
        "{independent:?}"
    );
}

#[test]
fn pairs_plan_with_a_links_whole_bandwidth_or_their_part_of_it() {
    // Spine 1 has no link to leaf 2: those of spine 0 are used by twice as many pairs.
    let links = [(0, 3), (1, 4), (2, 5), (3, 6), (3, 7), (4, 6), (4, 7), (5, 6)];
    let tiers = [Tier::Host, Tier::Leaf, Tier::Spine];
    let node = |i: usize| Node { name: format!("node{i}"), tier: tiers[(i / 3).min(2)], pod: None };
    let fabric = fabric((0..8).map(node).collect(), &links, TEN_GIG);
    let carried = |bandwidth| {
        let settings = with(Scheme::new(Dbb { bandwidth, ..Dbb::default() }), udp(10_000_000_000));
        let outcome = run(&fabric, &[flow(0, 1, 300 * 1448, 0)], &settings);
        [6, 8].map(|port| sent(&outcome, port))
    };
    assert_eq!(carried(PairBandwidth::Full), [150, 150]);
    assert_eq!(carried(PairBandwidth::Shared), [100, 200]);
}

#[test]
fn a_dead_link_is_planned_around_once_routing_knows() {
    let fabric = leaf_spine(2, 4, 1, TEN_GIG);
    // Spine 0's link down to leaf 1, from 1 ms on. One datagram every 2 us for 4 ms.
    let dead = uplink(2, 4, 1, 1, 0) + 1;
    let flows: Vec<Flow> = (0..2000).map(|i| flow(0, 1, 1000, i * 2 * PS_PER_US)).collect();
    let finished = |port, routing_delay_us| {
        let mut settings = with(counting(Counter::Shared), udp(10_000_000_000));
        settings.changes = vec![
            Change { at_ps: 1000 * PS_PER_US, what: What::PortDown(port) },
            Change { at_ps: 3000 * PS_PER_US, what: What::PortUp(port) },
        ];
        settings.routing_delay_ps = routing_delay_us * PS_PER_US;
        let outcome = run(&fabric, &flows, &settings);
        let totals = outcome.totals;
        assert_eq!(
            totals.sent_packets,
            totals.delivered_packets + totals.lost_packets + totals.dropped_packets
        );
        totals.flows_finished
    };
    // 1000 us hold 500 datagrams, a quarter of them due on the dead way; the switch at the port goes on as well.
    for port in [dead, uplink(2, 4, 1, 0, 0)] {
        let lost = 2000 - finished(port, 1000);
        assert!((125..=127).contains(&lost), "{lost}");
        assert!(finished(port, 0) >= 1998);
    }
}

#[test]
fn tcp_survives_a_failure_on_three_tiers() {
    let fabric = anabranch_fabric::topology::FatTree { k: 4, ..Default::default() }.build().unwrap();
    let flows: Vec<Flow> = (0..8).map(|i| flow(i, 15 - i, 3_000_000, 0)).collect();
    let core = fabric.nodes().iter().position(|node| node.tier == Tier::Spine).unwrap() as u32;
    for counter in [Counter::Shared, Counter::Independent] {
        let mut settings = with(counting(counter), Transport::Tcp(Tcp::plain(Control::NewReno)));
        settings.changes = vec![Change { at_ps: 500 * PS_PER_US, what: What::NodeDown(core) }];
        settings.routing_delay_ps = 200 * PS_PER_US;
        let outcome = run(&fabric, &flows, &settings);
        assert_eq!(outcome.totals.flows_finished, 8, "{counter:?}");
        assert!(outcome.totals.lost_packets > 0);
    }
}
