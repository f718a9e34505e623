//! Rail-optimised fabrics: rails, spines, and scale-up switches that join the accelerators of one server only.

use anabranch_fabric::capacity::{Reference, bisection_bps, reference_bps};
use anabranch_fabric::paths::path_counts;
use anabranch_fabric::topology::{LinkSettings, RailOptimised};
use anabranch_fabric::{Fabric, LinkState, NextHops, Tier, segments as segments_of};
use proptest::prelude::*;

const TEN: u64 = 10_000_000_000;

/// Links between the leaves of two hosts and number of shortest paths; `None` if nothing joins them.
fn between(fabric: &Fabric, (src, dst): (u32, u32)) -> Option<(u32, u64)> {
    let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
    let destination = hops.destination(fabric.leaf_of(dst)).unwrap();
    let links = hops.distance(fabric.leaf_of(src), destination)?;
    Some((links, path_counts(fabric, &hops, destination)[hops.switch(fabric.leaf_of(src))]))
}

proptest! {
    #[test]
    fn accelerators_meet_at_their_server_at_their_rail_or_over_a_spine(
        segments in 1..3u32, servers_per_segment in 1..4u32, accelerators_per_server in 1..5u32, spines in 1..4u32,
    ) {
        let shape = RailOptimised {
            segments, servers_per_segment, accelerators_per_server, spines, ..RailOptimised::default()
        };
        let fabric = shape.build().unwrap();
        let accelerators = segments * servers_per_segment * accelerators_per_server;
        prop_assert_eq!((fabric.hosts(), fabric.named_hosts()), (2 * accelerators, accelerators));
        let count = |tier| fabric.nodes().iter().filter(|node| node.tier == tier).count() as u32;
        prop_assert_eq!(count(Tier::Leaf), segments * accelerators_per_server);
        prop_assert_eq!(count(Tier::Server), segments * servers_per_segment);
        prop_assert_eq!(
            fabric.ports().len() as u32,
            2 * (2 * accelerators + segments * accelerators_per_server * spines)
        );
        // Each segment has its leaves and the scale-up switches of its servers.
        let sizes: Vec<u32> = segments_of(&fabric).iter().map(|switches| switches.len() as u32).collect();
        prop_assert_eq!(sizes, vec![accelerators_per_server + servers_per_segment; segments as usize]);
        let servers = fabric.servers().unwrap();
        for src in 0..accelerators {
            for dst in (0..accelerators).filter(|&dst| dst != src) {
                // By the numbers alone: server, rail and segment.
                let server = |host: u32| host / accelerators_per_server;
                let rail = |host: u32| (server(host) / servers_per_segment, host % accelerators_per_server);
                let ends = servers.ends(src, dst);
                let expected = if server(src) == server(dst) {
                    prop_assert_eq!(ends, (src + accelerators, dst + accelerators));
                    (0, 1)
                } else {
                    prop_assert_eq!(ends, (src, dst));
                    if rail(src) == rail(dst) { (0, 1) } else { (2, u64::from(spines)) }
                };
                prop_assert_eq!(between(&fabric, ends), Some(expected));
                // Nothing leads from a scale-up port to a network card, not even of the same accelerator.
                prop_assert_eq!(between(&fabric, (src + accelerators, dst)), None);
            }
        }
    }
}

#[test]
fn capacities_are_those_between_servers() {
    let shape = RailOptimised { segments: 2, spines: 3, ..RailOptimised::default() };
    let fabric = shape.build().unwrap();
    // Eight servers of eight accelerators; sixteen leaves under three spines.
    assert_eq!(reference_bps(&fabric, Reference::Host), 64 * TEN);
    assert_eq!(reference_bps(&fabric, Reference::Uplink), 16 * 3 * TEN);
    // The eight leaves of a segment face those of the other.
    assert_eq!(bisection_bps(&fabric), 8 * 3 * TEN);
}

#[test]
fn scale_up_links_have_their_own_settings_and_counts_of_zero_are_refused() {
    let fabric = RailOptimised::default().build().unwrap();
    let scale_up =
        fabric.ports().iter().filter(|port| fabric.nodes()[port.from as usize].tier == Tier::Server);
    let LinkSettings { rate, delay_ps, buffer, .. } = RailOptimised::SCALE_UP;
    assert!(scale_up.clone().count() == 32);
    for port in scale_up {
        assert_eq!((port.rate, port.delay_ps, port.buffer), (rate, delay_ps, buffer));
    }
    assert_eq!(
        RailOptimised { spines: 0, ..RailOptimised::default() }.build().unwrap_err().to_string(),
        "spines: 0; give at least 1"
    );
}
