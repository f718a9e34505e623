//! The fabric of Luopan's Fig. 1a: three leaves, four spines, and no link from the first leaf to the first spine.

use crate::engine::setup::*;
use anabranch_balancers::luopan::parameters::{Cells, Luopan, Metric, Probing};
use anabranch_balancers::{Balancing, Granularity, Scheme, Settings, Table};
use anabranch_fabric::{Buffer, Change, Fabric, What};
use anabranch_sim::transport::{Control, Reorder, Tcp, Transport};
use anabranch_traffic::Flow;
use anabranch_traffic::random::Stream;

const LEAVES: u32 = 3;
const SPINES: u32 = 4;
const HOSTS: u32 = 8;
/// Runs to average over: a share differs by one percent from run to run.
const SEEDS: u64 = 8;

fn fabric() -> Fabric {
    // 4 us a link: 32 us there and back, and 5 us for a full frame and its acknowledgement, of the stated "about 40".
    let buffer = Buffer { bytes: 300_000, ..Buffer::UNLIMITED };
    leaf_spine(LEAVES, SPINES, HOSTS, Link { delay_ps: 4 * PS_PER_US, buffer, ..TEN_GIG })
}

/// TCP behind a hold against reordering that lasts longer than queues of 300 KB can differ, and the failure before anything
/// begins: the setting of `studies/luopan`.
fn settings_of(balancing: Balancing) -> Settings {
    let reorder = Reorder::Hold { timeout_ps: 1000 * PS_PER_US };
    let tcp = Tcp { reorder, ..Tcp::plain(Control::NewReno) };
    let down = Change { at_ps: 0, what: What::PortDown(uplink(LEAVES, SPINES, HOSTS, 0, 0)) };
    Settings { balancing, changes: vec![down], end_ps: 60_000 * PS_PER_US, ..settings(Transport::Tcp(tcp)) }
}

/// Four endless flows from each host of the first two leaves to those of the third.
fn flows(seed: u64) -> Vec<Flow> {
    let mut stream = Stream::new(seed, "asymmetry");
    (0..2 * HOSTS)
        .flat_map(|src| (0..4).map(move |_| src))
        .map(|src| {
            let dst = 2 * HOSTS + stream.below(HOSTS.into()) as u32;
            flow(src, dst, 1 << 30, stream.below(100) * PS_PER_US)
        })
        .collect()
}

/// Shares of the second leaf's uplinks and the bytes of all of them, over some seeds.
fn mean_shares(balancing: &Balancing) -> ([f64; 4], u64) {
    let fabric = fabric();
    let (mut shares, mut bytes) = ([0.0; 4], 0);
    for seed in 1..=SEEDS {
        let settings = Settings { seed, ..settings_of(balancing.clone()) };
        let outcome = run(&fabric, &flows(seed), &settings);
        let sent = [0, 1, 2, 3]
            .map(|spine| outcome.ports[uplink(LEAVES, SPINES, HOSTS, 1, spine) as usize].sent_bytes);
        let sum: u64 = sent.iter().sum();
        bytes += sum;
        for (share, sent) in shares.iter_mut().zip(sent) {
            *share += 100.0 * sent as f64 / sum as f64 / SEEDS as f64;
        }
    }
    (shares, bytes)
}

fn by_scheme(scheme: Scheme) -> Balancing {
    Balancing { scheme, ..Balancing::ECMP }
}

fn by_table(table: Table) -> Balancing {
    Balancing { granularity: Granularity::Flowcell { bytes: 65_536 }, table, ..Balancing::ECMP }
}

/// Luopan with probes that overtake, as `studies/luopan` has it.
fn express() -> Luopan {
    Luopan { probing: Probing::Express, ..Luopan::default() }
}

/// Table 1: 42.8, 18.7, 19.1, 19.4 % where the ideal is 40, 20, 20, 20 %; 22.5 to 27.0 % for the others.
#[test]
fn luopan_fills_the_path_that_only_one_leaf_has() {
    let ([first, others @ ..], bytes) = mean_shares(&by_scheme(Scheme::new(express())));
    assert!((38.0..=46.0).contains(&first), "{first}");
    assert!(others.iter().all(|share| (17.0..=21.0).contains(share)), "{others:?}");
    for table in [Table::Uniform, Table::ShortestQueue { samples: u16::MAX, memory: 0 }] {
        let (shares, fewer) = mean_shares(&by_table(table));
        assert!(shares.iter().all(|share| (22.0..=28.0).contains(share)), "{table:?}: {shares:?}");
        assert!(bytes as f64 > 1.1 * fewer as f64, "{table:?}: {fewer} bytes, Luopan {bytes}");
    }
}

#[test]
fn who_knows_all_queues_fills_it_more() {
    let ([luopan, ..], _) = mean_shares(&by_scheme(Scheme::new(Luopan::default())));
    let ([first, others @ ..], _) = mean_shares(&by_scheme(Scheme::new(Cells::default())));
    // Fair shares of 32 flows a leaf would be 20 Gb/s each: 10 of 20 on the first path.
    assert!(first > luopan && first < 60.0, "{first} {luopan}");
    assert!(others.iter().all(|share| *share < 20.0), "{others:?}");
}

#[test]
fn more_samples_come_closer_to_knowing_all() {
    let sampled = |samples| {
        let mut luopan = Luopan::default();
        luopan.sampling.samples = samples;
        mean_shares(&by_scheme(Scheme::new(luopan))).0[0]
    };
    let (one, two, four) = (sampled(1), sampled(2), sampled(4));
    assert!(one + 3.0 < two && two + 1.0 < four, "{one} {two} {four}");
}

/// Samples are at most T old where they are there at once; a round trip of two hops older where probes overtake; older yet
/// where they wait behind what they measure.
#[test]
fn the_age_of_samples_is_the_way_of_the_probes() {
    let flows = flows(1);
    let mean_age_us = |probing| {
        let luopan = Luopan { probing, ..Luopan::default() };
        let outcome = run(&fabric(), &flows, &settings_of(by_scheme(Scheme::new(luopan))));
        let count =
            |name: &str| outcome.counts.iter().find(|(what, _)| what.starts_with(name)).unwrap().1 as f64;
        let (sampled, random) = (count("flowcells placed by samples"), count("flowcells placed at random"));
        assert!(sampled > 9.0 * random, "{probing:?}: {sampled} {random}");
        count("microseconds of age") / sampled
    };
    let [instant, express, packets] = [Probing::Instant, Probing::Express, Probing::Packets].map(mean_age_us);
    // A round trip of 16 us, and half of T, for cells come at any time.
    assert!(instant < 40.0 && (16.0 + 15.0..16.0 + 25.0).contains(&express), "{instant} {express}");
    assert!(packets > express + 20.0, "{packets} {express}");
}

#[test]
fn seven_bits_are_enough() {
    let luopan = Luopan { metric: Metric::SevenBits, ..express() };
    let ([first, ..], _) = mean_shares(&by_scheme(Scheme::new(luopan)));
    assert!((38.0..=46.0).contains(&first), "{first}");
}
