//! SAPS: long flows in the strongest topology, short ones by bandwidth, each sprayed over its own.

use super::setup::*;
use anabranch_balancers::saps::virtual_topology::Saps;
use anabranch_balancers::{Balancing, Scheme, Settings};
use anabranch_fabric::{Change, Rate, What};
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;

const MBPS: u64 = 1_000_000;

/// The paper's Fig. 1: leaf 0's links to three spines have 600, 200 and 200 Mbit/s.
fn settings_600_200_200(transport: Transport) -> Settings {
    let mut settings = settings(transport);
    settings.balancing = Balancing { scheme: Scheme::new(Saps::default()), ..Balancing::ECMP };
    for (spine, mbps) in [(0, 600), (1, 200), (2, 200)] {
        let rate = Rate::from_bps(mbps * MBPS).unwrap();
        let port = uplink(2, 3, 1, 0, spine);
        settings
            .changes
            .extend([port, port + 1].map(|port| Change { at_ps: 0, what: What::PortRate(port, rate) }));
    }
    settings
}

/// Frames that leaf 0 sent to each spine.
fn uplinks(outcome: &Outcome) -> [u64; 3] {
    [0, 1, 2].map(|spine| {
        let port = uplink(2, 3, 1, 0, spine);
        outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_packets).sum()
    })
}

#[test]
fn long_flows_take_the_strongest_topology() {
    let fabric = leaf_spine(2, 3, 1, TEN_GIG);
    let outcome = run(&fabric, &[flow(0, 1, 1448 * 70, PS_PER_US)], &settings_600_200_200(udp(100 * MBPS)));
    assert_eq!(uplinks(&outcome), [70, 0, 0]);
}

#[test]
fn short_flows_draw_by_bandwidth_and_are_sprayed() {
    let fabric = leaf_spine(2, 3, 1, TEN_GIG);
    // 500 flows of four frames, each alone.
    let flows: Vec<Flow> = (0..500).map(|i| flow(0, 1, 1448 * 4, (1 + i * 200) * PS_PER_US)).collect();
    let outcome = run(&fabric, &flows, &settings_600_200_200(udp(1000 * MBPS)));
    let [first, second, third] = uplinks(&outcome);
    assert_eq!(first % 4, 0, "a flow stays in its topology");
    assert_eq!(second, third, "and takes its two paths in turn");
    // 300 flows expected in the first, standard deviation 11.
    assert!((265..335).contains(&(first / 4)), "{first}");
}

#[test]
fn topologies_follow_the_links() {
    let fabric = leaf_spine(2, 3, 1, TEN_GIG);
    let mut settings = settings_600_200_200(Transport::Tcp(Tcp::plain(Control::NewReno)));
    // Without the strong path the other two are the strongest topology.
    let dead = uplink(2, 3, 1, 1, 0) + 1;
    settings.changes.push(Change { at_ps: 2000 * PS_PER_US, what: What::PortDown(dead) });
    settings.routing_delay_ps = 500 * PS_PER_US;
    let outcome = run(&fabric, &[flow(0, 1, 1_000_000, 1000 * PS_PER_US)], &settings);
    assert_eq!(outcome.totals.flows_finished, 1);
    let [first, second, third] = uplinks(&outcome);
    // What stood in the strong path's queues when routing learned was turned back and went by the leaf's own table.
    assert!(first > 0 && second > 250 && second.abs_diff(third) < 60, "{first} {second} {third}");
    let totals = outcome.totals;
    assert_eq!(
        totals.sent_packets,
        totals.delivered_packets + totals.lost_packets + totals.dropped_packets + totals.packets_left
    );
}
