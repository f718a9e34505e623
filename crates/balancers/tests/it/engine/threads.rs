//! One simulation on several threads: the same bits for any cut of the fabric.

use super::setup::*;
use anabranch_balancers::{Settings, Table, Task};
use anabranch_fabric::topology::{FatTree, LeafSpine, LinkSettings};
use anabranch_fabric::{Buffer, Change, Fabric, Marking, Rate, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Nic, Observe, Outcome, Partition, Progress, Totals};
use anabranch_traffic::Flow;
use anabranch_traffic::random::Stream;

/// Small buffers: drops, marks and timeouts.
fn link() -> LinkSettings {
    LinkSettings {
        buffer: Buffer { bytes: 60_000, packets: 40 },
        marking: Marking::Step { bytes: u32::MAX, packets: 15 },
        ..LinkSettings::default()
    }
}

fn leaf_spine() -> Fabric {
    let (host_link, uplink) = (link(), link());
    LeafSpine { leaves: 4, spines: 3, hosts_per_leaf: 3, host_link, uplink, ..LeafSpine::default() }
        .build()
        .unwrap()
}

fn fat_tree() -> Fabric {
    FatTree { k: 4, host_link: link(), uplink: link(), ..FatTree::default() }.build().unwrap()
}

/// Two bursts with a silence between them.
fn bursts(fabric: &Fabric) -> Vec<Flow> {
    let (mut stream, hosts) = (Stream::new(7, "bursts"), fabric.hosts());
    let mut flows = Vec::new();
    for burst_us in [0, 14_000] {
        for _ in 0..96 {
            let src = stream.below(hosts.into()) as u32;
            let dst = (src + 1 + stream.below(u64::from(hosts) - 1) as u32) % hosts;
            let start_us = burst_us + stream.below(600);
            flows.push(flow(src, dst, 1 + stream.below(250_000), start_us * PS_PER_US));
        }
    }
    flows
}

/// A link between switches dies and comes back, another gets slower and a third loses frames; a switch dies.
fn changes(fabric: &Fabric) -> Vec<Change> {
    let at = |at_us: u64, what| Change { at_ps: at_us * PS_PER_US, what };
    let slow = Rate::from_bps(4_000_000_000).unwrap();
    let (hosts, nodes) = (fabric.hosts(), fabric.nodes().len() as u32);
    let between: Vec<u32> = (0..)
        .zip(fabric.ports())
        .filter(|(_, port)| port.from >= hosts && port.from < port.to)
        .map(|(port, _)| port)
        .collect();
    let (dying, slowing, losing) = (between[0], between[between.len() / 2], between[between.len() - 1]);
    let both = |port: u32| [port, fabric.ports()[port as usize].reverse];
    let mut changes = vec![at(100, What::PortLoss(losing, 0.02)), at(14_500, What::PortLoss(losing, 0.0))];
    for port in both(dying) {
        changes.extend([at(250, What::PortDown(port)), at(14_300, What::PortUp(port))]);
    }
    changes.extend(both(slowing).map(|port| at(350, What::PortRate(port, slow))));
    changes.extend([at(400, What::NodeDown(nodes - 1)), at(900, What::NodeUp(nodes - 1))]);
    changes.push(at(500, What::NodeBlackhole(nodes - 2, 0.01)));
    changes.sort_by_key(|change| change.at_ps);
    changes
}

fn settings_of(table: Table, changes: Vec<Change>, seed: u64) -> Settings {
    let tcp = Tcp {
        rto_min_ps: 300 * PS_PER_US,
        rto_initial_ps: 300 * PS_PER_US,
        handshake: seed.is_multiple_of(2),
        ack_every: 1 + (seed % 3) as u32,
        ..Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 })
    };
    let mut settings = settings(udp(10_000_000_000));
    settings.seed = seed;
    settings.balancing.table = table;
    settings.transports = vec![Transport::Tcp(tcp)];
    settings.nic = Nic { jitter: seed.is_multiple_of(3), ..settings.nic };
    settings.changes = changes;
    settings.routing_delay_ps = 150 * PS_PER_US;
    settings.observe = Observe {
        interval_ps: 300 * PS_PER_US,
        queue_ports: vec![0, 20, 30],
        queue_sample_ps: 70 * PS_PER_US,
        omit_ps: 200 * PS_PER_US,
        ..Observe::default()
    };
    settings.end_ps = 40_000 * PS_PER_US;
    settings
}

fn by_lot(fabric: &Fabric, seed: u64, parts: u64) -> Partition {
    let mut stream = Stream::new(seed, "parts");
    let switches = fabric.nodes().len() - fabric.hosts() as usize;
    let mut draw = |nodes| (0..nodes).map(|_| stream.below(parts) as u32).collect();
    Partition::new(draw(switches), draw(fabric.hosts() as usize))
}

fn outcome(fabric: &Fabric, flows: &[Flow], settings: &Settings, parts: Option<&Partition>) -> Outcome {
    let (flows, progress) = (flows.to_vec(), Progress::default());
    let task = Task::new(fabric, &flows, settings, &progress).unwrap();
    parts.map_or(task, |parts| task.on_threads(parts).unwrap()).simulate().unwrap()
}

/// Both outcomes are equal to the bit.
fn compare(whole: &Outcome, parts: &Outcome, what: &str) {
    same("flow", &whole.flows, &parts.flows, what);
    same("port", &whole.ports, &parts.ports, what);
    same("sample", &whole.queues, &parts.queues, what);
    assert_eq!(whole.counts, parts.counts, "{what}");
    let totals = Totals { packets_peak: whole.totals.packets_peak, ..parts.totals };
    assert_eq!(whole.totals, totals, "{what}");
}

fn same<T: PartialEq + std::fmt::Debug>(row: &str, whole: &[T], parts: &[T], what: &str) {
    assert_eq!(whole.len(), parts.len(), "{row}s, {what}");
    for (number, (one, other)) in whole.iter().zip(parts).enumerate() {
        assert_eq!(one, other, "{row} {number}, {what}");
    }
}

#[test]
fn any_cut_has_the_same_bits() {
    for fabric in [leaf_spine(), fat_tree()] {
        let flows = bursts(&fabric);
        let tables =
            [Table::Uniform, Table::Turns { block: false }, Table::ShortestQueue { samples: 2, memory: 1 }];
        for (seed, table) in (0..).zip(tables) {
            for changes in [Vec::new(), changes(&fabric)] {
                let settings = settings_of(table, changes, seed);
                let whole = outcome(&fabric, &flows, &settings, None);
                assert!(whole.totals.dropped_packets > 100 && whole.totals.marked_packets > 100);
                let cuts = [1, 2, 3, 4].map(|parts| Partition::by_leaves(&fabric, parts));
                let drawn = [2, 3, 5].map(|parts| by_lot(&fabric, seed, parts));
                for (number, cut) in cuts.iter().chain(&drawn).enumerate() {
                    let parts = outcome(&fabric, &flows, &settings, Some(cut));
                    compare(
                        &whole,
                        &parts,
                        &format!("{table:?} cut {number}, {} changes", settings.changes.len()),
                    );
                }
            }
        }
    }
}
