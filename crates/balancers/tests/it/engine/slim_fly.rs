//! Detours of a Slim Fly over any router, against what its graph gives: Hoffman and Singleton's, whose distances are known.

use super::setup::*;
use anabranch_balancers::{Balancing, Granularity, Settings, registry};
use anabranch_fabric::topology::{LinkSettings, SlimFly};
use anabranch_fabric::{Buffer, Fabric, Marking, Rate};
use anabranch_sim::Outcome;
use anabranch_traffic::sizes::Sizes;
use anabranch_traffic::workload::{Amount, Arrivals, Poisson};
use anabranch_traffic::{Flow, Pattern, Workload, merged_flows};

const Q: u32 = 5;
const LINK_BPS: u64 = 10_000_000_000;
const PAYLOAD_BYTES: u64 = 1448;

fn slim_fly(hosts_per_router: u32, packets: u32) -> Fabric {
    let link = LinkSettings {
        rate: Rate::from_bps(LINK_BPS).unwrap(),
        delay_ps: PS_PER_US,
        buffer: Buffer { bytes: u32::MAX, packets },
        marking: Marking::Off,
    };
    SlimFly { q: Q, hosts_per_router, host_link: link, router_link: link }.build().unwrap()
}

fn run_at(fabric: &Fabric, flows: &[Flow], name: &str, bps: u64) -> Outcome {
    let balancing =
        Balancing { granularity: Granularity::Packet, ..registry::find(name).unwrap().balancing() };
    run(fabric, flows, &Settings { balancing, ..settings(udp(bps)) })
}

/// Frames that crossed each port between routers.
fn frames(fabric: &Fabric, outcome: &Outcome) -> Vec<u64> {
    let mut frames = vec![0; fabric.ports().len()];
    for record in &outcome.ports {
        frames[record.port as usize] += record.sent_packets;
    }
    let between = fabric.ports().iter().map(|port| port.from >= fabric.hosts() && port.to >= fabric.hosts());
    frames.into_iter().zip(between).filter(|&(_, between)| between).map(|(frames, _)| frames).collect()
}

/// Of 49 other routers 7 are one link away and 42 two: 13 / 7 on average. A detour is two such ways, but for those whose first half
/// passes the destination and ends there: of the 48 routers that may be drawn, the 6 others beside a destination that is next
/// to the source, whose frames cross one link instead of three.
#[test]
fn a_detour_is_twice_as_long_but_where_it_meets_its_end() {
    let fabric = slim_fly(1, u32::MAX);
    let poisson = Workload::Poisson(Poisson {
        pattern: Pattern::RandomPairs,
        sizes: Sizes::Fixed(PAYLOAD_BYTES),
        arrivals: Arrivals::PerSecond(4e6),
        amount: Amount::Count(20_000),
        start_ps: 0,
        transport: 0,
    });
    let flows = merged_flows(&[poisson], &fabric, 1).unwrap();
    let hops = |name| {
        let outcome = run_at(&fabric, &flows, name, LINK_BPS);
        assert_eq!(outcome.totals.delivered_packets, 20_000, "{name}");
        frames(&fabric, &outcome).iter().sum::<u64>() as f64 / 20_000.0
    };
    let mean = 13.0 / 7.0;
    // A standard deviation of the mean is 0.35 / sqrt(20,000), and of detours about twice that.
    assert!((hops("ecmp") - mean).abs() < 0.01, "{}", hops("ecmp"));
    let detour = 2.0 * mean - 2.0 / (7.0 * 8.0);
    assert!((hops("valiant") - detour).abs() < 0.02, "{} {detour}", hops("valiant"));
}

/// All four hosts of each router send to those of a neighbour: one link for four, straight, and 1/4 of their rates. Detours
/// have all seven links.
#[test]
fn traffic_to_a_neighbour_needs_detours() {
    let fabric = slim_fly(4, 100);
    let neighbour = |router: u32| {
        let (row, column) = (router / Q, router % Q);
        row * Q + (column + if row < Q { 1 } else { 2 }) % Q
    };
    let pair = |host: u32| flow(host, 4 * neighbour(host / 4) + host % 4, 2000 * PAYLOAD_BYTES, 0);
    let flows: Vec<Flow> = (0..200).map(pair).collect();
    let slow = run_at(&fabric, &flows, "ecmp", LINK_BPS / 10);
    assert_eq!(frames(&fabric, &slow).into_iter().max(), Some(4 * 2000));
    let accepted = |name| {
        let outcome = run_at(&fabric, &flows, name, LINK_BPS * 2 / 5);
        outcome.totals.delivered_packets as f64 / outcome.totals.sent_packets as f64
    };
    // The link is busy while hosts send, and what waits then arrives too: 100 of 8000 frames.
    let straight = accepted("ecmp");
    assert!((straight - 0.25 / 0.4 - 100.0 / 8000.0).abs() < 0.002, "{straight}");
    for name in ["ugal-g", "ugal-l"] {
        assert!(accepted(name) > 0.99, "{name} {}", accepted(name));
    }
}
