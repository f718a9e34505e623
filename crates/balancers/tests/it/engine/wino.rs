//! Wino: what each path carries, what meters let through, and what happens until new slices are installed.

use super::setup::*;
use anabranch_balancers::wino::parameters::{SliceBandwidth, Wino};
use anabranch_balancers::wino::pick::{Meter, Parameters, RoundRobin};
use anabranch_balancers::{Balancing, Scheme, Settings};
use anabranch_fabric::{Change, Rate, What};
use anabranch_plan::SliceRule;
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;

const GBPS: u64 = 1_000_000_000;
const MBPS: u64 = 1_000_000;

fn with(wino: Wino, transport: Transport) -> Settings {
    let mut settings = settings(transport);
    settings.balancing = Balancing { scheme: Scheme::new(wino), ..Balancing::ECMP };
    settings
}

/// Rules are there at once.
fn prompt() -> Wino {
    Wino { install_delay_ns: 0, ..Wino::default() }
}

/// The links of leaf 0 to the spines, in both directions, at these rates from the start.
fn slow(leaves: u32, hosts_per_leaf: u32, rates_bps: &[u64]) -> Vec<Change> {
    let spines = rates_bps.len() as u32;
    (0..)
        .zip(rates_bps)
        .flat_map(|(spine, &bps)| {
            let port = uplink(leaves, spines, hosts_per_leaf, 0, spine);
            [port, port + 1]
                .map(|port| Change { at_ps: 0, what: What::PortRate(port, Rate::from_bps(bps).unwrap()) })
        })
        .collect()
}

/// Frames that leaf 0 sent to each spine.
fn uplinks(outcome: &Outcome, leaves: u32, spines: u32, hosts_per_leaf: u32) -> Vec<u64> {
    let sent = |port: u32| {
        outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_packets).sum()
    };
    (0..spines).map(|spine| sent(uplink(leaves, spines, hosts_per_leaf, 0, spine))).collect()
}

/// A stream of so many full frames from host 0 to the first host of leaf 1.
fn stream(hosts_per_leaf: u32, frames: u64) -> Flow {
    flow(0, hosts_per_leaf, frames * 1448, PS_PER_US)
}

#[test]
fn a_flow_takes_slices_in_turn() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let one = SliceRule { slice_max_bps: Some(GBPS), ..SliceRule::default() };
    for (gbps, slices, frames) in [
        ([10, 5], SliceRule::default(), [2, 1]),
        ([10, 5], one, [10, 5]),
        ([10, 1], SliceRule::default(), [10, 1]),
        ([9, 4], SliceRule::default(), [9, 4]),
        ([10, 10], one, [1, 1]),
    ] {
        let cycle: u64 = frames.iter().sum();
        let mut settings = with(Wino { slices, ..prompt() }, udp(10 * GBPS));
        settings.changes = slow(2, 1, &gbps.map(|gbps| gbps * GBPS));
        let outcome = run(&fabric, &[stream(1, 100 * cycle)], &settings);
        assert_eq!(uplinks(&outcome, 2, 2, 1), frames.map(|count| 100 * count), "{gbps:?} {slices:?}");
        assert_eq!(outcome.totals.flows_finished, 1);
        // No path gets more than its rate, so none has a queue.
        let backlog = outcome.ports.iter().map(|record| record.backlog_max_bytes).max().unwrap();
        assert!(backlog < 6 * 1518, "{backlog}");
    }
}

/// The paper's Fig. 1: links of 1 Gbit/s, of which traffic to elsewhere (leaf 2) takes so many Mbit/s for 40 ms; after 20 ms
/// 10 ms of a full link from host 0 to leaf 1. Yields the frames in slices over each uplink, and what became of all.
fn beside_north_south_traffic(wino: Wino, mbps: [u64; 3]) -> (Vec<u64>, Outcome) {
    let (leaves, spines, hosts) = (3, 3, 4);
    let fabric = leaf_spine(leaves, spines, hosts, Link { rate_bps: GBPS, ..TEN_GIG });
    let mut settings = with(wino, udp(GBPS));
    settings.transports.extend(mbps.map(|mbps| udp(mbps * MBPS)));
    // 40 ms of frames of 1538 bytes.
    let frames = mbps.map(|mbps| mbps * 40_000 / (8 * 1538));
    let north_south = (1..).zip(frames).map(|(host, frames): (u32, u64)| Flow {
        path: Some(host - 1),
        transport: host as u8,
        ..flow(host, 2 * hosts + host, frames * 1448, 0)
    });
    let east_west = Flow { start: anabranch_traffic::Start::At(20_000 * PS_PER_US), ..stream(hosts, 800) };
    let flows: Vec<Flow> = north_south.chain([east_west]).collect();
    let outcome = run(&fabric, &flows, &settings);
    let carried = uplinks(&outcome, leaves, spines, hosts);
    (carried.iter().zip(frames).map(|(all, foreign)| all - foreign).collect(), outcome)
}

/// A poll lasts for 400 frames of 1538 bytes at 400 Mbit/s.
fn polling() -> Wino {
    Wino { poll_ns: 12_304_000, ..prompt() }
}

#[test]
fn slices_leave_room_for_the_north_south_traffic_that_was_measured() {
    let (sliced, outcome) = beside_north_south_traffic(polling(), [400, 800, 800]);
    assert_eq!(sliced, [480, 160, 160]);
    assert_eq!(outcome.totals.dropped_packets, 0);
    // Every uplink is full, none is overloaded.
    let backlog = outcome.ports.iter().map(|record| record.backlog_max_bytes).max().unwrap();
    assert!(backlog < 8 * 1518, "{backlog}");
}

#[test]
fn noise_in_a_measurement_makes_no_more_slices() {
    let (sliced, outcome) = beside_north_south_traffic(polling(), [399, 801, 800]);
    // Slices of 199 Mbit/s: three, one and one. They lack half a percent, which a burst of 1 ms holds for 10 ms.
    assert_eq!(sliced, [480, 160, 160]);
    assert_eq!(outcome.totals.dropped_packets, 0);
    // Algorithm 1 as it is written makes 62, of buckets of two frames, and they drop.
    let slices = SliceRule { pick: anabranch_plan::SlicePick::Literal, ..SliceRule::default() };
    let (sliced, _) = beside_north_south_traffic(Wino { slices, ..polling() }, [399, 801, 800]);
    assert_ne!(sliced, [480, 160, 160]);
}

/// Two hosts that offer 20 Gbit/s for 10 ms to paths of 10 and 5.
fn overload(meter: Meter) -> Outcome {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let switches = Parameters { meter, ..Parameters::default() };
    let mut settings = with(Wino { switches, ..prompt() }, udp(10 * GBPS));
    settings.changes = slow(2, 2, &[10 * GBPS, 5 * GBPS]);
    let frames = 10_000_000 / 1230;
    let second = flow(1, 3, frames * 1448, PS_PER_US);
    run(&fabric, &[stream(2, frames), second], &settings)
}

#[test]
fn meters_drop_or_delay_what_exceeds_their_slices() {
    let backlog =
        |outcome: &Outcome| outcome.ports.iter().map(|record| record.backlog_max_bytes).max().unwrap();
    let off = overload(Meter::Off);
    // 5 Gbit/s too much for 10 ms.
    assert_eq!(off.totals.dropped_packets, 0);
    assert!(backlog(&off) > 1_500_000, "{}", backlog(&off));
    let policed = overload(Meter::Police);
    // A quarter, less three bursts of 1 ms at 5 Gbit/s: 1219 frames.
    let offered = policed.totals.sent_packets;
    let expected = offered / 4 - 3 * 406;
    assert!(
        policed.totals.dropped_packets.abs_diff(expected) < 20,
        "{} {expected}",
        policed.totals.dropped_packets
    );
    // The burst is what waits before the links.
    assert!(backlog(&policed) < 1_300_000, "{}", backlog(&policed));
    let shaped = overload(Meter::Shape);
    // 1 ms of traffic may wait before each slice, too.
    let expected = offered / 4 - 6 * 406;
    assert!(
        shaped.totals.dropped_packets.abs_diff(expected) < 20,
        "{} {expected}",
        shaped.totals.dropped_packets
    );
    assert_eq!(shaped.totals.packets_left, 0);
}

#[test]
fn slices_of_dead_paths_swallow_packets_until_new_ones_are_installed() {
    let fabric = leaf_spine(2, 4, 1, TEN_GIG);
    // 5000 frames, one every 2 us. Spine 0's link dies at 2 ms, at either end.
    let near = uplink(2, 4, 1, 0, 0);
    for port in [near, uplink(2, 4, 1, 1, 0) + 1] {
        let wino = Wino { install_delay_ns: 600_000, poll_ns: 1_000_000, ..Wino::default() };
        let mut settings = with(wino, udp(6_152_000_000));
        settings.changes = vec![Change { at_ps: 2000 * PS_PER_US, what: What::PortDown(port) }];
        settings.routing_delay_ps = 400 * PS_PER_US;
        let outcome = run(&fabric, &[stream(1, 5000)], &settings);
        // 1000 us hold 500 frames, a quarter of them in the slice.
        let totals = &outcome.totals;
        let gone = totals.lost_packets + totals.dropped_packets;
        assert!((124..=127).contains(&gone), "{gone}");
        assert_eq!(totals.sent_packets, totals.delivered_packets + gone);
        assert_eq!(totals.packets_left, 0);
    }
}

#[test]
fn hosts_may_take_turns_instead_of_flows() {
    let fabric = leaf_spine(2, 4, 1, TEN_GIG);
    let flows: Vec<Flow> = (0..400).map(|i| flow(0, 1, 1000, i * 2 * PS_PER_US)).collect();
    let carried = |round_robin| {
        let switches = Parameters { round_robin, ..Parameters::default() };
        let outcome = run(&fabric, &flows, &with(Wino { switches, ..prompt() }, udp(10 * GBPS)));
        uplinks(&outcome, 2, 4, 1)
    };
    assert_eq!(carried(RoundRobin::Host), [100; 4]);
    let flows = carried(RoundRobin::Flow);
    assert!(flows != [100; 4] && flows.iter().all(|frames| (70..130).contains(frames)), "{flows:?}");
}

#[test]
fn active_pairs_may_share_a_link() {
    // Leaf 0 sends 10 Gbit/s to each of two leaves by uplinks of 10 and 5.
    let fabric = leaf_spine(3, 2, 2, TEN_GIG);
    let frames = 20_000_000 / 1230;
    let flows = [stream(2, frames), flow(1, 4, frames * 1448, PS_PER_US)];
    let dropped = |bandwidth| {
        let mut settings = with(Wino { bandwidth, poll_ns: 2_000_000, ..prompt() }, udp(10 * GBPS));
        settings.changes = slow(3, 2, &[10 * GBPS, 5 * GBPS]);
        let totals = run(&fabric, &flows, &settings).totals;
        totals.dropped_packets as f64 / totals.sent_packets as f64
    };
    assert!(dropped(SliceBandwidth::Full) < 1e-9, "slices of 15 Gbit/s for each");
    // From the first poll on, slices of 7.5 Gbit/s for each: a quarter of 18 ms is dropped, less a burst of 1 ms.
    let share = dropped(SliceBandwidth::Active);
    assert!((share - (0.25 * 18.0 - 0.75) / 20.0).abs() < 0.01, "{share}");
}

#[test]
fn tcp_gets_the_sum_of_unequal_paths_and_survives_the_loss_of_one() {
    let fabric = leaf_spine(
        2,
        2,
        2,
        Link { buffer: anabranch_fabric::Buffer { bytes: 1_500_000, packets: 1000 }, ..TEN_GIG },
    );
    let tcp =
        Transport::Tcp(Tcp { window_max_bytes: 1_000_000, ..Tcp::plain(Control::Cubic { hystart: false }) });
    let size = 30_000_000;
    let flows = [flow(0, 2, size, PS_PER_US), flow(1, 3, size, PS_PER_US)];
    let mut settings = with(prompt(), tcp);
    settings.changes = slow(2, 2, &[10 * GBPS, 5 * GBPS]);
    let outcome = run(&fabric, &flows, &settings);
    let gbps: f64 = outcome.flows.iter().map(|flow| 8e3 * size as f64 / flow.fct_ps as f64).sum();
    assert!(gbps > 11.0, "{gbps}");

    let dead = uplink(2, 2, 2, 0, 0);
    settings.changes.push(Change { at_ps: 5000 * PS_PER_US, what: What::PortDown(dead) });
    settings.routing_delay_ps = 1000 * PS_PER_US;
    let outcome = run(&fabric, &flows, &settings);
    assert_eq!(outcome.totals.flows_finished, 2);
}

#[test]
fn a_path_below_one_slice_is_left_out_and_counted() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let slices = SliceRule { slice_min_bps: 6 * GBPS, ..SliceRule::default() };
    let mut settings = with(Wino { slices, ..prompt() }, udp(5 * GBPS));
    settings.changes = slow(2, 1, &[10 * GBPS, 4 * GBPS]);
    let outcome = run(&fabric, &[stream(1, 100)], &settings);
    assert_eq!(uplinks(&outcome, 2, 2, 1), [100, 0]);
    let left_out = outcome.counts.iter().find(|(what, _)| what.starts_with("paths left out"));
    assert_eq!(left_out.map(|&(_, count)| count), Some(2), "there and back: {:?}", outcome.counts);
}

/// Without meters nothing is dropped by meters: what slices of a dead path swallow is lost. Spine 0 sends what is for
/// leaf 1 back, and leaf 0 has no path for it.
#[test]
fn what_a_dead_path_swallows_is_not_dropped_by_meters() {
    let fabric = leaf_spine(3, 2, 1, TEN_GIG);
    let switches = Parameters { meter: Meter::Off, ..Parameters::default() };
    let wino = Wino { switches, install_delay_ns: 500_000, ..Wino::default() };
    let mut settings = with(wino, udp(5 * GBPS));
    let port = uplink(3, 2, 1, 1, 0);
    settings.changes =
        [port, port + 1].map(|port| Change { at_ps: 100 * PS_PER_US, what: What::PortDown(port) }).into();
    let outcome = run(&fabric, &[stream(1, 1000)], &settings);
    let totals = outcome.totals;
    assert!(totals.lost_packets > 50, "{totals:?}");
    assert_eq!(totals.dropped_packets, 0, "{totals:?}");
    let count = |what: &str| outcome.counts.iter().find(|(name, _)| *name == what).map(|&(_, count)| count);
    assert_eq!(count("packets dropped by meters"), None);
    let at_the_port: u64 = outcome.ports.iter().map(|record| record.lost_packets).sum();
    assert_eq!(count("packets without a path to their destination"), Some(totals.lost_packets - at_the_port));
}
