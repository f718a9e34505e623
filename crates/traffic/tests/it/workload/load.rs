//! Loads: the rates that follow from them, and the load that every tier is offered.

use super::setup::{PS_PER_S, at_ps, fat_tree, leaf_spine, load, poisson};
use anabranch_fabric::capacity::Reference;
use anabranch_fabric::topology::LeafSpine;
use anabranch_fabric::{Fabric, Tier};
use anabranch_traffic::load::Load;
use anabranch_traffic::sizes::{Convention, Published, Sizes};
use anabranch_traffic::workload::{Amount, Arrivals, Poisson};
use anabranch_traffic::{Flow, FlowSource, Pattern, Ports, Start, Workload, offered};

const LONG: Amount = Amount::Count(200_000);

fn tier_load(fabric: &Fabric, flows: &[Flow], from: Tier, to: Tier) -> f64 {
    let rows = offered(fabric, flows, flows.outline().arrival_window_ps().unwrap());
    rows.iter().find(|row| (row.from, row.to) == (from, to)).unwrap().load
}

/// Checks lambda = load * capacity / (8 * mean), the rule of TrafficGenerator and of the ns-3 simulations that follow
/// it.
#[test]
fn rates_are_those_of_the_literature() {
    let fabric = leaf_spine();
    let web_search = Sizes::Cdf(Published::named("web-search").unwrap().cdf(Convention::Linear));
    let inter_rack =
        |sizes| Poisson { sizes, ..poisson(Pattern::InterRack, load(0.6, Reference::Uplink), LONG) };
    // 16 uplinks of 10 Gbit/s: 0.6 * 160e9 / (8 * 1,711,250) = 7,012.4 flows a second.
    let per_s = inter_rack(web_search.clone()).flows_per_s(&fabric, 1).unwrap();
    assert!((per_s - 0.6 * 160e9 / (8.0 * 1_711_250.0)).abs() < 1e-6, "{per_s}");
    // Per host as in that literature: load * host rate / over-subscription / (8 * mean), over-subscription 2.
    assert!((per_s / 32.0 - 0.6 * 10e9 / 2.0 / (8.0 * 1_711_250.0)).abs() < 1e-6);
    // 24 of 31 destinations are in another rack.
    let random = Poisson { pattern: Pattern::RandomPairs, ..inter_rack(web_search) };
    assert!((random.flows_per_s(&fabric, 1).unwrap() / per_s - 31.0 / 24.0).abs() < 1e-12);
    // 32 host links.
    let host = Poisson { arrivals: load(0.5, Reference::Host), ..random.clone() };
    assert!((host.flows_per_s(&fabric, 1).unwrap() - 0.5 * 320e9 / (8.0 * 1_711_250.0)).abs() < 1e-6);
    // Either half can send 80 Gbit/s to the other; 16 of 31 destinations are there.
    let bisection = Poisson { arrivals: load(0.5, Reference::Bisection), ..random.clone() };
    let expected = 0.5 * 160e9 / (8.0 * 1_711_250.0) * 31.0 / 16.0;
    assert!((bisection.flows_per_s(&fabric, 1).unwrap() - expected).abs() < 1e-6);
    // What is left after a failure, given by hand.
    let left = Load { fraction: 0.6, reference: Reference::Uplink, capacity_bps: Some(140e9) };
    let degraded = Poisson { arrivals: Arrivals::Load(left), ..random };
    let expected = 0.6 * 140e9 / (8.0 * 1_711_250.0) * 31.0 / 24.0;
    assert!((degraded.flows_per_s(&fabric, 1).unwrap() - expected).abs() < 1e-6);
}

/// Checks that the reference tier is offered the load that was asked for, with every pattern.
#[test]
fn the_reference_is_offered_what_was_asked() {
    let (flat, deep) = (leaf_spine(), fat_tree());
    // Two racks of two leaves and eight hosts: 320 Gbit/s of hosts, 160 of uplinks.
    let dual = LeafSpine { links_per_host: 2, ..LeafSpine::default() }.build().unwrap();
    for (fabric, pattern, reference, from, to, expected) in [
        (&flat, Pattern::RandomPairs, Reference::Uplink, Tier::Leaf, Tier::Spine, 0.6),
        (&flat, Pattern::InterRack, Reference::Uplink, Tier::Spine, Tier::Leaf, 0.6),
        (&flat, Pattern::InterRack, Reference::Uplink, Tier::Host, Tier::Leaf, 0.3),
        (&flat, Pattern::RandomPairs, Reference::Host, Tier::Leaf, Tier::Host, 0.6),
        // Two of four leaves send.
        (&flat, Pattern::LeftToRight, Reference::Uplink, Tier::Leaf, Tier::Spine, 0.3),
        (&flat, Pattern::LeftToRight, Reference::Bisection, Tier::Leaf, Tier::Spine, 0.3),
        (&deep, Pattern::InterPod, Reference::Uplink, Tier::Aggregation, Tier::Spine, 0.6),
        (&deep, Pattern::InterPod, Reference::Uplink, Tier::Spine, Tier::Aggregation, 0.6),
        // Only one of four pods receives, at a load of 0.6 on its own entrance.
        (&deep, Pattern::IntoPod(2), Reference::Uplink, Tier::Aggregation, Tier::Leaf, 0.15),
        // 12 of 14 destinations out of the rack are out of the pod.
        (&deep, Pattern::InterRack, Reference::Uplink, Tier::Aggregation, Tier::Spine, 0.6 * 12.0 / 14.0),
        (&dual, Pattern::InterRack, Reference::Uplink, Tier::Leaf, Tier::Spine, 0.6),
        (&dual, Pattern::RandomPairs, Reference::Uplink, Tier::Spine, Tier::Leaf, 0.6),
        (&dual, Pattern::LeftToRight, Reference::Uplink, Tier::Leaf, Tier::Spine, 0.3),
        (&dual, Pattern::InterRack, Reference::Uplink, Tier::Host, Tier::Nic, 0.3),
        (&dual, Pattern::RandomPairs, Reference::Host, Tier::Leaf, Tier::Nic, 0.6),
        (&deep, Pattern::Stride(4), Reference::Uplink, Tier::Aggregation, Tier::Spine, 0.6),
    ] {
        let flows =
            Workload::Poisson(poisson(pattern.clone(), load(0.6, reference), LONG)).flows(fabric, 3).unwrap();
        let got = tier_load(fabric, &flows, from, to);
        // The number of arrivals in a given time varies by 1 / sqrt(200,000) = 0.2%.
        assert!((got / expected - 1.0).abs() < 0.01, "{pattern:?} {from:?} {to:?}: {got} for {expected}");
    }
}

/// Follows one flow on a fat-tree, port by port: it passes each tier once, and splits over two and four ports.
#[test]
fn one_flow_is_offered_to_each_tier_once() {
    let fabric = fat_tree();
    let flow = |src, dst, size_bytes, at_ps| Flow {
        src,
        dst,
        size_bytes,
        start: Start::At(at_ps),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    };
    // Within a second 125 MB: 1 Gbit/s of 10 across the fabric. The second flow stays in its rack.
    let flows = [flow(0, 15, 125_000_000, 0), flow(2, 3, 125_000_000, PS_PER_S)];
    assert_eq!(flows.outline().arrival_window_ps(), Some(PS_PER_S));
    let rows = offered(&fabric, &flows, PS_PER_S);
    let tiers: Vec<_> = rows.iter().map(|row| (row.from, row.to)).collect();
    use Tier::{Aggregation, Host, Leaf, Spine};
    let up = [(Host, Leaf), (Leaf, Aggregation), (Aggregation, Spine)];
    assert_eq!(tiers, [up[0], up[1], up[2], (Spine, Aggregation), (Aggregation, Leaf), (Leaf, Host)]);
    for row in &rows {
        let hosts = row.from == Host || row.to == Host;
        let flows_here = if hosts { 2.0 } else { 1.0 };
        assert_eq!((row.ports, row.capacity_bps), (16, 160e9));
        assert!((row.payload_bps - flows_here * 1e9).abs() < 1.0, "{row:?}");
        assert!((row.load - flows_here / 160.0).abs() < 1e-12);
        let share = match (row.from, row.to) {
            (Leaf, Aggregation) | (Aggregation, Leaf) => 0.5,
            (Aggregation, Spine) | (Spine, Aggregation) => 0.25,
            _ => 1.0,
        };
        assert!((row.load_busiest - 0.1 * share).abs() < 1e-12, "{row:?}");
    }
}

/// Checks that arrivals of all hosts together are a Poisson process: gaps are exponential, and the variance of counts
/// is their mean.
#[test]
fn arrivals_are_poisson() {
    let fabric = leaf_spine();
    let workload = poisson(Pattern::RandomPairs, Arrivals::PerSecond(1e6), LONG);
    let flows = Workload::Poisson(workload).flows(&fabric, 5).unwrap();
    let mut gaps: Vec<f64> =
        flows.windows(2).map(|pair| (at_ps(&pair[1]) - at_ps(&pair[0])) as f64).collect();
    let n = gaps.len() as f64;
    gaps.sort_by(f64::total_cmp);
    let distance = gaps
        .iter()
        .enumerate()
        .map(|(i, gap)| (1.0 - (-gap / 1e6).exp() - (i as f64 + 0.5) / n).abs())
        .fold(0.0, f64::max);
    // Whole nanoseconds blur a mean gap of 1,000 by 1/1000.
    assert!(distance < 1.63 / n.sqrt() + 1e-3, "Kolmogorov-Smirnov {distance}");
    let mut counts = vec![0.0f64; 2000];
    let until = 190_000 * 1_000_000;
    for flow in flows.iter().filter(|flow| at_ps(flow) < until) {
        counts[(at_ps(flow) / (until / 2000)) as usize] += 1.0;
    }
    let mean = counts.iter().sum::<f64>() / 2000.0;
    let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 2000.0;
    // Deviation of the ratio: sqrt(2 / 2000) = 3.2%.
    assert!((variance / mean - 1.0).abs() < 0.13, "{variance} {mean}");
}

#[test]
fn arrivals_end_by_number_or_by_time() {
    let fabric = leaf_spine();
    let flows = |amount| {
        let workload =
            Poisson { start_ps: 7_000, ..poisson(Pattern::InterRack, Arrivals::PerSecond(1e5), amount) };
        Workload::Poisson(workload).flows(&fabric, 1).unwrap()
    };
    assert_eq!(flows(Amount::Count(1234)).len(), 1234);
    let by_time = flows(Amount::Duration(PS_PER_S / 10));
    assert!(by_time.len().abs_diff(10_000) < 400, "{}", by_time.len());
    assert!(by_time.iter().all(|flow| (7_000..7_000 + PS_PER_S / 10).contains(&at_ps(flow))));
    assert!(by_time.is_sorted_by_key(at_ps));
    assert!(by_time.iter().all(|flow| at_ps(flow).is_multiple_of(1000)), "whole nanoseconds");
    // A longer list begins as the shorter one.
    assert_eq!(flows(Amount::Count(500)), by_time[..500]);
}

/// Adds a rack at the same rate per host: the old hosts send at the same times and the same sizes.
#[test]
fn a_new_host_shifts_nobodys_numbers() {
    let sent = |leaves: u32| {
        let fabric = anabranch_fabric::topology::LeafSpine { leaves, ..Default::default() }.build().unwrap();
        let per_s = Arrivals::PerSecond(1000.0 * f64::from(fabric.hosts()));
        let sizes = Sizes::Uniform(1, 1_000_000);
        let workload =
            Poisson { sizes, ..poisson(Pattern::InterRack, per_s, Amount::Duration(PS_PER_S / 10)) };
        let mut flows = Workload::Poisson(workload).flows(&fabric, 9).unwrap();
        flows.retain(|flow| flow.src < 32);
        flows.into_iter().map(|flow| (flow.src, flow.start, flow.size_bytes)).collect::<Vec<_>>()
    };
    assert_eq!(sent(4), sent(5));
    assert!(sent(4).len() > 3000);
}

#[test]
fn loads_that_make_no_sense_are_refused() {
    let fabric = leaf_spine();
    let error = |pattern, arrivals| {
        let workload = Workload::Poisson(poisson(pattern, arrivals, Amount::Count(10)));
        workload.flows(&fabric, 1).unwrap_err().to_string()
    };
    assert!(error(Pattern::RandomPairs, load(0.0, Reference::Uplink)).contains("load: 0;"));
    assert!(error(Pattern::RandomPairs, load(f64::NAN, Reference::Uplink)).contains("load: NaN;"));
    assert!(error(Pattern::RandomPairs, Arrivals::PerSecond(-1.0)).contains("-1 arrivals"));
    let inside = error(Pattern::Pairs(vec![(0, 1)]), load(0.5, Reference::Uplink));
    assert!(
        inside.contains("no flow of this pattern passes") && inside.contains("reference host"),
        "{inside}"
    );
    let endless = poisson(Pattern::RandomPairs, Arrivals::PerSecond(1e9), Amount::Duration(3600 * PS_PER_S));
    assert!(Workload::Poisson(endless).flows(&fabric, 1).unwrap_err().to_string().contains("2,147,483,647"));
}
