//! Links and switches that die in mid-run: every flow ends, no packet is lost unaccounted, same arguments same bits.

use crate::engine::setup::*;
use anabranch_balancers::luopan::parameters::{Cells, Luopan};
use anabranch_balancers::random_path::RandomPaths;
use anabranch_balancers::tdlb::parameters::Tdlb;
use anabranch_balancers::tdlb::pick as tdlb;
use anabranch_balancers::tdlb::pick::Detect;
use anabranch_balancers::{Balancing, Scheme, Settings};
use anabranch_fabric::{Buffer, Change, Fabric, What};
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;
use anabranch_traffic::random::Stream;
use proptest::prelude::*;

const LEAVES: u32 = 3;
const SPINES: u32 = 4;
const HOSTS: u32 = 4;

fn fabric() -> Fabric {
    let buffer = Buffer { bytes: 100_000, ..Buffer::UNLIMITED };
    leaf_spine(LEAVES, SPINES, HOSTS, Link { buffer, ..TEN_GIG })
}

fn schemes() -> [Scheme; 5] {
    let rules = tdlb::Parameters { detect: Detect::Both, ..tdlb::Parameters::default() };
    let threshold_bytes = Some(20_000);
    [
        Scheme::new(Luopan::default()),
        Scheme::new(Cells::default()),
        Scheme::new(RandomPaths::default()),
        Scheme::new(Tdlb::default()),
        Scheme::new(Tdlb { rules, threshold_bytes, skew_ns: 1_000_000, ..Tdlb::default() }),
    ]
}

fn flows(seed: u64, count: u64) -> Vec<Flow> {
    let mut stream = Stream::new(seed, "failing");
    let hosts = u64::from(LEAVES * HOSTS);
    (0..count)
        .map(|_| {
            let src = stream.below(hosts);
            let dst = (src + 1 + stream.below(hosts - 1)) % hosts;
            flow(src as u32, dst as u32, 1 + stream.below(600_000), stream.below(3_000) * PS_PER_US)
        })
        .collect()
}

fn settings_of(scheme: Scheme, changes: Vec<Change>, routing_delay_us: u64) -> Settings {
    Settings {
        balancing: Balancing { scheme, ..Balancing::ECMP },
        changes,
        routing_delay_ps: routing_delay_us * PS_PER_US,
        switch_hashes: Vec::new(),
        end_ps: 2_000_000 * PS_PER_US,
        ..settings(Transport::Tcp(Tcp::plain(Control::NewReno)))
    }
}

fn assert_accounted(outcome: &Outcome) {
    let totals = &outcome.totals;
    assert_eq!(
        totals.sent_packets,
        totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left,
        "{totals:?}"
    );
}

fn change(at_us: u64, what: What) -> Change {
    Change { at_ps: at_us * PS_PER_US, what }
}

#[test]
fn every_flow_survives_a_dead_uplink_a_dead_downlink_and_a_dead_spine() {
    let own = uplink(LEAVES, SPINES, HOSTS, 0, 1);
    let remote = uplink(LEAVES, SPINES, HOSTS, 2, 2) + 1;
    let spine = LEAVES * HOSTS + LEAVES;
    for changes in [
        vec![change(500, What::PortDown(own))],
        vec![change(500, What::PortDown(remote)), change(2_000, What::PortUp(remote))],
        vec![change(500, What::NodeDown(spine)), change(1_500, What::NodeUp(spine))],
    ] {
        for scheme in schemes() {
            let settings = settings_of(scheme, changes.clone(), 300);
            let outcome = run(&fabric(), &flows(1, 200), &settings);
            assert_eq!(outcome.totals.flows_finished, 200, "{:?}", settings.balancing.scheme);
            assert_accounted(&outcome);
        }
    }
}

#[test]
fn nothing_is_sent_on_a_dead_path_once_routing_knows() {
    let remote = uplink(LEAVES, SPINES, HOSTS, 2, 2) + 1;
    for scheme in schemes() {
        let settings = Settings {
            end_ps: 3_000 * PS_PER_US,
            ..settings_of(scheme, vec![change(500, What::PortDown(remote))], 0)
        };
        // Leaf 0 to leaf 2 alone, one after the other: TDLB's new flows take the path that is fastest at the time.
        let flows: Vec<Flow> = (0..16)
            .map(|i| flow(i % HOSTS, 2 * HOSTS + i / 4, 1 << 30, u64::from(i) * 25 * PS_PER_US))
            .collect();
        let mut observed = settings.clone();
        observed.observe.interval_ps = 1_000 * PS_PER_US;
        let outcome = run(&fabric(), &flows, &observed);
        let ports = fabric().ports().len();
        let sent = |interval: usize, spine| {
            let port = &outcome.ports[interval * ports + uplink(LEAVES, SPINES, HOSTS, 0, spine) as usize];
            // Without TDLB's probes to leaf 1, which go on: no other frame is that short.
            port.sent_bytes - 64 * port.sent_packets
        };
        assert!(sent(0, 2) > 100_000, "{:?}", observed.balancing.scheme);
        assert_eq!(sent(1, 2) + sent(2, 2), 0, "{:?}", observed.balancing.scheme);
        assert!([0, 1, 3].iter().all(|&spine| sent(2, spine) > 100_000), "{:?}", observed.balancing.scheme);
        assert_accounted(&outcome);
    }
}

#[test]
fn a_dead_end_is_no_endless_run() {
    // All uplinks of leaf 0 die: datagrams are lost, and the run ends by itself though leaves probe.
    let changes =
        (0..SPINES).map(|s| change(100, What::PortDown(uplink(LEAVES, SPINES, HOSTS, 0, s)))).collect();
    let flows: Vec<Flow> = (0..300).map(|i| flow(0, 2 * HOSTS, 1000, i * PS_PER_US)).collect();
    for scheme in schemes() {
        let settings = Settings {
            transports: vec![udp(10_000_000_000)],
            end_ps: u64::MAX,
            ..settings_of(scheme, Vec::clone(&changes), 0)
        };
        let outcome = run(&fabric(), &flows, &settings);
        assert!((90..110).contains(&outcome.totals.flows_finished), "{:?}", outcome.totals);
        assert!(outcome.totals.end_ps < 20_000 * PS_PER_US, "{:?}", outcome.totals);
        assert_eq!(outcome.totals.packets_left, 0);
        assert_accounted(&outcome);
    }
}

#[test]
fn the_same_run_twice_and_another_seed() {
    let digest = |scheme: &Scheme, seed| {
        let changes = vec![change(700, What::PortDown(uplink(LEAVES, SPINES, HOSTS, 1, 0)))];
        let settings = Settings { seed, ..settings_of(scheme.clone(), changes, 100) };
        let outcome = run(&fabric(), &flows(2, 150), &settings);
        format!("{:?}{:?}{:?}", outcome.flows, outcome.ports, outcome.totals)
    };
    for scheme in schemes() {
        let first = digest(&scheme, 1);
        assert_eq!(first, digest(&scheme, 1));
        assert_ne!(first, digest(&scheme, 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any links that die and come back, any seed: all flows end once everything is whole again.
    #[test]
    fn flows_end_whatever_dies_and_returns(
        seed in 0u64..1000,
        which in 0usize..5,
        delay_us in 0u64..500,
        failures in prop::collection::vec((0u32..LEAVES * SPINES, 0u64..3_000, 1u64..3_000), 1..8),
    ) {
        let scheme = schemes()[which].clone();
        let mut changes: Vec<Change> = failures
            .iter()
            .flat_map(|&(link, at_us, length_us)| {
                let port = uplink(LEAVES, SPINES, HOSTS, link / SPINES, link % SPINES);
                [change(at_us, What::PortDown(port)), change(at_us + length_us, What::PortUp(port))]
            })
            .collect();
        changes.sort_by_key(|change| change.at_ps);
        let mut settings = settings_of(scheme, changes, delay_us);
        settings.seed = seed;
        let outcome = run(&fabric(), &flows(seed, 60), &settings);
        prop_assert_eq!(outcome.totals.flows_finished, 60);
        assert_accounted(&outcome);
    }
}
