//! Random paths: after a failure all living paths are equally likely, which draws at every switch do not give.

use crate::engine::setup::{PS_PER_US, flow, run, settings, udp};
use anabranch_balancers::random_path::RandomPaths;
use anabranch_balancers::{Balancing, Granularity, Scheme, Settings, Table};
use anabranch_fabric::topology::{FatTree, LinkSettings};
use anabranch_fabric::{Change, Fabric, What};
use anabranch_traffic::Flow;

/// Flows of a single cell from the first leaf to the last, one after the other.
const CELLS: u32 = 24_000;
/// Probability 1e-6 lies above in Pearson's test of nine paths, and in that of eight.
const CRITICAL: [f64; 2] = [42.7, 40.6];

fn fabric() -> Fabric {
    let link = LinkSettings { delay_ps: PS_PER_US, ..LinkSettings::default() };
    FatTree { k: 6, hosts_per_leaf: 1, host_link: link, uplink: link, ..FatTree::default() }.build().unwrap()
}

fn port(fabric: &Fabric, from: &str, to: &str) -> u32 {
    let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
    let is_it = |port: &anabranch_fabric::Port| name(port.from) == from && name(port.to) == to;
    fabric.ports().iter().position(is_it).unwrap() as u32
}

/// Cells over each path from the first pod to the last: a core switch lies on one path only.
fn cells_by_core(balancing: &Balancing, down: Option<(&str, &str)>) -> [f64; 9] {
    let fabric = fabric();
    let flows: Vec<Flow> =
        (0..CELLS).map(|i| flow(0, fabric.hosts() - 1, 1000, u64::from(i) * 2 * PS_PER_US)).collect();
    let changes = down.map(|(from, to)| Change { at_ps: 0, what: What::PortDown(port(&fabric, from, to)) });
    let settings = Settings {
        balancing: balancing.clone(),
        changes: changes.into_iter().collect(),
        ..settings(udp(10_000_000_000))
    };
    let outcome = run(&fabric, &flows, &settings);
    assert_eq!(outcome.totals.flows_finished, u64::from(CELLS));
    std::array::from_fn(|core| {
        let port = port(&fabric, &format!("core{core}"), &format!("agg5.{}", core / 3));
        outcome
            .ports
            .iter()
            .filter(|record| record.port == port)
            .map(|record| record.sent_packets)
            .sum::<u64>() as f64
    })
}

/// Pearson's statistic of paths that should be equally likely.
fn chi_square(cells: &[f64]) -> f64 {
    let expected = f64::from(CELLS) / cells.len() as f64;
    cells.iter().map(|cells| (cells - expected).powi(2) / expected).sum()
}

fn random_path() -> Balancing {
    Balancing { scheme: Scheme::new(RandomPaths::default()), ..Balancing::ECMP }
}

fn flowcell() -> Balancing {
    let granularity = Granularity::Flowcell { bytes: 65_536 };
    Balancing { granularity, table: Table::Uniform, ..Balancing::ECMP }
}

#[test]
fn nothing_tells_the_two_apart_in_a_whole_fabric() {
    for balancing in [random_path(), flowcell()] {
        let cells = cells_by_core(&balancing, None);
        assert!(chi_square(&cells) < CRITICAL[0], "{balancing:?}: {cells:?}");
    }
}

/// One link of the sender's pod to the core, and one of the receiver's.
#[test]
fn every_path_that_is_left_is_equally_likely() {
    for (down, core) in [(("agg0.0", "core0"), 0), (("core4", "agg5.1"), 4)] {
        let left = |cells: [f64; 9]| -> Vec<f64> {
            assert_eq!(cells[core], 0.0, "{down:?}: {cells:?}");
            (0..9).filter(|&other| other != core).map(|other| cells[other]).collect()
        };
        let even = left(cells_by_core(&random_path(), Some(down)));
        assert!(chi_square(&even) < CRITICAL[1], "{down:?}: {even:?}");
        // A third each for the aggregations, of which one has two paths and not three: 1/6 and 1/9 instead of 1/8.
        let uneven = left(cells_by_core(&flowcell(), Some(down)));
        assert!(chi_square(&uneven) > 10.0 * CRITICAL[1], "{down:?}: {uneven:?}");
        let of_aggregation: f64 = (core / 3 * 3..).take(2).map(|path| uneven[path]).sum();
        assert!((of_aggregation / f64::from(CELLS) - 1.0 / 3.0).abs() < 0.016, "{down:?}: {uneven:?}");
    }
}

/// The cells of a flow draw by themselves, and a cell stays together.
#[test]
fn a_flow_of_many_cells_takes_many_paths_and_each_cell_one() {
    let fabric = fabric();
    let paths = |size_bytes| {
        let settings = Settings { balancing: random_path(), ..settings(udp(10_000_000_000)) };
        run(&fabric, &[flow(0, fabric.hosts() - 1, size_bytes, 0)], &settings).flows[0].paths
    };
    assert_eq!(paths(60_000), 1);
    // 200 cells over nine paths: that a path has none happens once in ten thousand million times.
    assert_eq!(paths(200 * 65_536), 9);
}
