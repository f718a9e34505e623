//! The planned schemes, DBB, SAPS and Wino, on fabrics of unequal links that fail and come back: whatever happens, packets
//! are accounted for, and flows end.

use super::setup::*;
use anabranch_balancers::dbb::parameters::{Dbb, PairBandwidth};
use anabranch_balancers::dbb::pick as dbb;
use anabranch_balancers::saps::virtual_topology::Saps;
use anabranch_balancers::wino::parameters::{SliceBandwidth, Wino};
use anabranch_balancers::wino::pick as wino;
use anabranch_balancers::{Balancing, Scheme};
use anabranch_fabric::{Buffer, Change, Rate, What};
use anabranch_plan::SliceScope;
use anabranch_sim::transport::{Control, Tcp, Transport};
use proptest::prelude::*;

const GBPS: u64 = 1_000_000_000;

fn scheme() -> impl Strategy<Value = Scheme> {
    let counter = prop_oneof![Just(dbb::Counter::Shared), Just(dbb::Counter::Independent)];
    let bandwidth = prop_oneof![Just(PairBandwidth::Full), Just(PairBandwidth::Shared)];
    let dbb = (counter, bandwidth).prop_map(|(counter, bandwidth)| {
        let switches = dbb::Parameters { counter, ..dbb::Parameters::default() };
        Scheme::new(Dbb { switches, bandwidth, ..Dbb::default() })
    });
    let meter = prop_oneof![Just(wino::Meter::Police), Just(wino::Meter::Shape), Just(wino::Meter::Off)];
    let scope = prop_oneof![Just(SliceScope::Pair), Just(SliceScope::Network)];
    let share = prop_oneof![Just(SliceBandwidth::Full), Just(SliceBandwidth::Active)];
    let wino =
        (meter, scope, share, 0u64..400_000).prop_map(|(meter, scope, bandwidth, install_delay_ns)| {
            let switches = wino::Parameters { meter, ..wino::Parameters::default() };
            Scheme::new(Wino {
                switches,
                scope,
                bandwidth,
                install_delay_ns,
                poll_ns: 300_000,
                ..Wino::default()
            })
        });
    let saps = (0u64..200_000).prop_map(|threshold_bytes| {
        let mut saps = Saps::default();
        saps.hosts.threshold_bytes = threshold_bytes;
        Scheme::new(saps)
    });
    prop_oneof![dbb, wino, saps]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn failures_lose_nothing_unaccounted_and_flows_end(
        scheme in scheme(),
        leaves in 2u32..5,
        spines in 1u32..5,
        rates in prop::collection::vec(prop_oneof![Just(10u64), Just(10), Just(5), Just(1), 1..10u64], 16),
        failures in prop::collection::vec((any::<u32>(), 0u64..2000), 0..4),
        pairs in prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..400_000, 0u64..1000), 1..12),
        routing_delay_us in 0u64..500,
        seed in any::<u64>(),
    ) {
        let fabric = leaf_spine(leaves, spines, 2, Link { buffer: Buffer { bytes: u32::MAX, packets: 100 }, ..TEN_GIG });
        let mut settings = settings(Transport::Tcp(Tcp::plain(Control::NewReno)));
        settings.seed = seed;
        settings.balancing = Balancing { scheme, ..Balancing::ECMP };
        settings.routing_delay_ps = routing_delay_us * PS_PER_US;
        let links: Vec<u32> = (0..leaves * spines).map(|link| uplink(leaves, spines, 2, 0, 0) + 2 * link).collect();
        for (&port, gbps) in links.iter().zip(rates) {
            let what = |port| What::PortRate(port, Rate::from_bps(gbps * GBPS).unwrap());
            settings.changes.extend([port, port + 1].map(|port| Change { at_ps: 0, what: what(port) }));
        }
        for (link, at_us) in failures {
            let port = links[link as usize % links.len()] + (link >> 31);
            settings.changes.push(Change { at_ps: at_us * PS_PER_US, what: What::PortDown(port) });
            settings.changes.push(Change { at_ps: (at_us + 1000) * PS_PER_US, what: What::PortUp(port) });
        }
        settings.changes.sort_by_key(|change| change.at_ps);
        settings.end_ps = 20_000_000 * PS_PER_US;
        let hosts = 2 * leaves;
        let flows: Vec<_> = pairs
            .iter()
            .map(|&(src, step, size, at_us)| {
                let src = src % hosts;
                flow(src, (src + 1 + step % (hosts - 1)) % hosts, size, at_us * PS_PER_US)
            })
            .collect();
        let totals = run(&fabric, &flows, &settings).totals;
        prop_assert_eq!(totals.flows_finished, flows.len() as u64);
        prop_assert_eq!(
            totals.sent_packets,
            totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left
        );
    }
}
