//! Three tiers: the numbering of paths, and ten failed links between aggregation and core (Luopan, section 4.7).

use crate::engine::setup::{PS_PER_US, flow, run, settings};
use anabranch_balancers::luopan::parameters::{Cells, Luopan};
use anabranch_balancers::{Balancing, Granularity, Scheme, Settings, Table};
use anabranch_fabric::paths::{path, path_counts};
use anabranch_fabric::topology::{FatTree, LinkSettings};
use anabranch_fabric::{Buffer, Change, Fabric, LinkState, NextHops, Tier, What};
use anabranch_sim::transport::{Control, Reorder, Tcp, Transport};
use anabranch_traffic::Flow;
use anabranch_traffic::random::Stream;

fn fabric(hosts_per_leaf: u32) -> Fabric {
    let link = LinkSettings {
        delay_ps: 3 * PS_PER_US,
        buffer: Buffer { bytes: 300_000, ..Buffer::UNLIMITED },
        ..LinkSettings::default()
    };
    FatTree { k: 6, hosts_per_leaf, host_link: link, uplink: link, ..FatTree::default() }.build().unwrap()
}

/// Fig. 4: from (aggregation 2, core 4), counted from one, the next paths in turn are (2, 5) and (2, 6).
#[test]
fn consecutive_paths_share_the_link_to_an_aggregation() {
    let fabric = fabric(0);
    let hops = NextHops::shortest(&fabric, &LinkState::of(&fabric));
    let (from, to) = (hops.leaves[0], hops.leaves.len() as u32 - 1);
    let counts = path_counts(&fabric, &hops, to);
    let ways: Vec<(String, String, u32)> = (0..9)
        .map(|index| {
            let ports = path(&fabric, &hops, &counts, from, to, index).unwrap().ports;
            let name = |port: u32| {
                let node = &fabric.nodes()[fabric.ports()[port as usize].to as usize];
                assert!(matches!(node.tier, Tier::Aggregation | Tier::Spine), "{node:?}");
                node.name.clone()
            };
            (name(ports[0]), name(ports[1]), ports[0])
        })
        .collect();
    let names = |index: usize| (ways[index].0.as_str(), ways[index].1.as_str());
    // Aggregations 0 to 2 are those of the first pod; cores 3 to 5 are the second aggregation's.
    assert_eq!(names(3), ("agg0.1", "core3"));
    assert_eq!(names(4), ("agg0.1", "core4"));
    assert_eq!(names(5), ("agg0.1", "core5"));
    assert!(ways[3..6].iter().all(|way| way.2 == ways[3].2), "one link from leaf to aggregation");
    assert_ne!(ways[6].2, ways[3].2);
}

/// Flows of 1 MB and of 20 KB between pods.
fn flows(fabric: &Fabric, seed: u64) -> Vec<Flow> {
    let mut stream = Stream::new(seed, "pods");
    let hosts = u64::from(fabric.hosts());
    let per_pod = hosts / 6;
    let mut at_ps = 0.0;
    (0..FLOWS)
        .map(|index| {
            at_ps += stream.exponential(MEAN_GAP_PS);
            let src = stream.below(hosts);
            let dst = (src / per_pod * per_pod + per_pod + stream.below(hosts - per_pod)) % hosts;
            let size = if index % 2 == 0 { 1_000_000 } else { 20_000 };
            flow(src as u32, dst as u32, size, at_ps as u64)
        })
        .collect()
}

const FLOWS: u64 = 2_500;
/// 510 KB each: 0.5 of 18 leaves with three uplinks of 10 Gb/s.
const MEAN_GAP_PS: f64 = 510_000.0 * 8.0 / (0.5 * 18.0 * 30e9) * 1e12;

/// Mean FCT of the large flows in microseconds, with ten random links between aggregation and core down.
fn mean_fct_us(balancing: Balancing, failed: usize) -> f64 {
    let fabric = fabric(6);
    let tcp = Tcp { reorder: Reorder::Hold { timeout_ps: 1000 * PS_PER_US }, ..Tcp::plain(Control::NewReno) };
    let mut links: Vec<u32> = (0..fabric.ports().len() as u32)
        .filter(|&port| {
            let port = &fabric.ports()[port as usize];
            let tier = |node: u32| fabric.nodes()[node as usize].tier;
            tier(port.from) == Tier::Aggregation && tier(port.to) == Tier::Spine
        })
        .collect();
    assert_eq!(links.len(), 54);
    let mut stream = Stream::new(19, "failures");
    let changes = (0..failed)
        .map(|_| Change {
            at_ps: 0,
            what: What::PortDown(links.swap_remove(stream.below(links.len() as u64) as usize)),
        })
        .collect();
    let settings = Settings { balancing, changes, ..settings(Transport::Tcp(tcp)) };
    let outcome = run(&fabric, &flows(&fabric, 1), &settings);
    assert_eq!(outcome.totals.flows_finished, FLOWS);
    let large = outcome.flows.iter().step_by(2);
    large.map(|flow| flow.fct_ps as f64 / 1e6).sum::<f64>() / (FLOWS / 2) as f64
}

fn cells(table: Table) -> Balancing {
    Balancing { granularity: Granularity::Flowcell { bytes: 65_536 }, table, ..Balancing::ECMP }
}

/// Section 4.7 and Fig. 19: Local Sampling, as good as Luopan while nothing is broken, becomes the worst. A leaf whose
/// aggregation lost links to the core sees an empty queue to it and sends more.
#[test]
fn ten_failed_links_ruin_local_sampling_but_not_luopan() {
    let luopan = || Balancing { scheme: Scheme::new(Luopan::default()), ..Balancing::ECMP };
    let local = || cells(Table::ShortestQueue { samples: u16::MAX, memory: 0 });
    let (luopan_whole, local_whole) = (mean_fct_us(luopan(), 0), mean_fct_us(local(), 0));
    assert!(local_whole < 1.2 * luopan_whole, "{local_whole} {luopan_whole}");
    let (luopan, local) = (mean_fct_us(luopan(), 10), mean_fct_us(local(), 10));
    let random = mean_fct_us(cells(Table::Uniform), 10);
    assert!(luopan < 0.7 * local && luopan < 0.7 * random, "{luopan} {local} {random}");
    assert!(local > 3.0 * local_whole && luopan < 2.0 * luopan_whole, "{local} {luopan}");
    let omniscient = Balancing { scheme: Scheme::new(Cells::default()), ..Balancing::ECMP };
    let ideal = mean_fct_us(omniscient, 10);
    assert!(ideal < luopan, "{ideal} {luopan}");
}
