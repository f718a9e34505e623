//! Against ns-3 3.37: the same flows on the same paths of the same fabric, recorded by `vectors/ns3/record.py`.
//!
//! What the figures mean, and why the bounds stand where they stand: `docs/validation/ns3.md`.

use super::recording::{PS_PER_US, Recording, link, mean, settings, tcp};
use anabranch_balancers::simulate;
use anabranch_fabric::Marking;
use anabranch_fabric::topology::LeafSpine;
use anabranch_sim::transport::Control;
use anabranch_sim::{Outcome, Progress};
use anabranch_traffic::{Flow, Ports, Start};

const SEEDS: [u32; 3] = [1, 2, 3];
/// ns-3's PPP, IPv4 and TCP without timestamps.
const HEADER_BYTES: u16 = 2 + 20 + 20;
/// Runs of ours.
const SHAKES: u64 = 8;
const SMALL_BYTES: u64 = 100_000;
const LARGE_BYTES: u64 = 1_000_000;

fn flows(list: &Recording) -> Vec<Flow> {
    let (src, dst): (Vec<u32>, Vec<u32>) = (list.column("src"), list.column("dst"));
    let size_bytes: Vec<u64> = list.column("size_bytes");
    let start_ns: Vec<u64> = list.column("start_ns");
    let path: Vec<u32> = list.column("path");
    (0..src.len())
        .map(|i| Flow {
            src: src[i],
            dst: dst[i],
            size_bytes: size_bytes[i],
            start: Start::At(start_ns[i] * 1000),
            path: Some(path[i]),
            job: None,
            transport: 0,
            ports: Ports::CHOSEN,
        })
        .collect()
}

fn run(flows: &[Flow], control: Control) -> Outcome {
    let marking = Marking::Step { bytes: u32::MAX, packets: 65 };
    let link = link(10_000_000_000, PS_PER_US, 300_000, marking);
    let fabric = LeafSpine { host_link: link, uplink: link, ..LeafSpine::default() }.build().unwrap();
    let settings = settings(tcp(control, 6 << 20, 5_000 * PS_PER_US), HEADER_BYTES);
    simulate(&fabric, flows, &settings, &Progress::default()).unwrap()
}

/// The same flows, each begun by less than a microsecond later: what chance alone does to the figures.
fn shaken(flows: &[Flow], shake: u64) -> Vec<Flow> {
    let mut shaken = flows.to_vec();
    for (index, flow) in (0u64..).zip(&mut shaken) {
        if let Start::At(at_ps) = &mut flow.start {
            *at_ps += (index * 611_953 + 7) * shake % PS_PER_US;
        }
    }
    shaken
}

/// Figures of one load: three seeds together.
#[derive(Clone, Copy)]
struct Figures([f64; 5]);

const NAMES: [&str; 5] =
    ["small flows, mean", "small flows, p99", "large flows, mean", "all flows, mean", "packet-hops"];

impl Figures {
    fn of(sizes: &[u64], fct_ns: &[f64], packet_hops: u64) -> Self {
        let of = |wanted: &dyn Fn(u64) -> bool| -> Vec<f64> {
            fct_ns.iter().zip(sizes).filter(|(_, size)| wanted(**size)).map(|(fct, _)| *fct).collect()
        };
        let small = of(&|size| size < SMALL_BYTES);
        let large = of(&|size| size > LARGE_BYTES);
        Self([mean(&small), p99(&small), mean(&large), mean(fct_ns), packet_hops as f64])
    }
}

fn p99(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() * 99).div_ceil(100) - 1]
}

/// Row of `runs.csv`.
fn row(runs: &Recording, load: &str, seed: u32, name: &str) -> usize {
    let (loads, seeds): (Vec<String>, Vec<u32>) = (runs.column("load"), runs.column("seed"));
    let controls: Vec<String> = runs.column("control");
    (0..loads.len()).find(|&i| loads[i] == load && seeds[i] == seed && controls[i] == name).unwrap()
}

/// Prints each figure and asserts that it lies within its bound, or within three standard deviations of chance: shaken
/// starts move ours, and theirs is a single draw.
fn compare(load: &str, name: &str, control: Control, bounds: [f64; 5]) {
    let runs = Recording::read("ns3/runs.csv");
    let (hops, drops): (Vec<u64>, Vec<u64>) = (runs.column("packet_hops"), runs.column("dropped_packets"));
    let lists = SEEDS.map(|seed| Recording::read(&format!("ns3/load-{load}-seed-{seed}.csv")));
    let rows = SEEDS.map(|seed| row(&runs, load, seed, name));
    let sizes: Vec<u64> = lists.iter().flat_map(|list| list.column::<u64>("size_bytes")).collect();
    let column = format!("{}_fct_ns", name.replace('-', "_"));
    let theirs: Vec<f64> = lists.iter().flat_map(|list| list.column::<f64>(&column)).collect();
    let theirs = Figures::of(&sizes, &theirs, rows.iter().map(|&row| hops[row]).sum());
    let their_drops: u64 = rows.iter().map(|&row| drops[row]).sum();
    let mut our_drops = 0;
    let ours: Vec<Figures> = (0..SHAKES)
        .map(|shake| {
            let (mut fct_ns, mut hops) = (Vec::new(), 0);
            for list in &lists {
                let flows = shaken(&flows(list), shake);
                let outcome = run(&flows, control);
                assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
                fct_ns.extend(outcome.flows.iter().map(|flow| flow.fct_ps as f64 / 1e3));
                hops += outcome.totals.packet_hops;
                our_drops += outcome.totals.dropped_packets;
            }
            Figures::of(&sizes, &fct_ns, hops)
        })
        .collect();
    println!("load {load} {name}: drops {} / {their_drops}", our_drops / SHAKES);
    for (k, what) in NAMES.iter().enumerate() {
        let values: Vec<f64> = ours.iter().map(|figures| figures.0[k] / theirs.0[k]).collect();
        let ratio = mean(&values);
        let variance = values.iter().map(|value| (value - ratio).powi(2)).sum::<f64>() / (SHAKES - 1) as f64;
        // One draw of theirs against the mean of ours.
        let deviation = (variance * (1.0 + 1.0 / SHAKES as f64)).sqrt();
        println!("  {what}: ours over ns-3's {ratio:.3}, chance {deviation:.3}");
        let allowed = bounds[k].max(3.0 * deviation);
        assert!(
            (ratio - 1.0).abs() <= allowed,
            "load {load} {name}, {what}: {ratio} is not 1 within {allowed}"
        );
    }
}

#[test]
fn dctcp() {
    for load in ["0.3", "0.6", "0.8"] {
        // At 0.3 small flows wait at their own host behind large ones; ns-3's own starts, shaken, move that by 4%.
        let small_mean = if load == "0.3" { 0.1 } else { 0.05 };
        let bounds = [small_mean, 0.15, 0.05, 0.05, 0.01];
        compare(load, "dctcp", Control::Dctcp { gain: 1.0 / 16.0 }, bounds);
    }
}

#[test]
fn reno() {
    for load in ["0.3", "0.6", "0.8"] {
        // ns-3.37 sends again what was not lost: 3.44 needs as many packets as we do.
        compare(load, "linux-reno", Control::NewReno, [0.05, 0.15, 0.05, 0.05, 0.035]);
    }
}
