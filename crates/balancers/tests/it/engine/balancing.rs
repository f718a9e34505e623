//! Tables at every granularity: what stays together, who gets what, and that dead ports are left.

use super::setup::*;
use anabranch_balancers::ideal::Ideal;
use anabranch_balancers::{Balancing, Granularity, Scheme, Settings, Table};
use anabranch_fabric::{Change, What};
use anabranch_plan::Weighing;
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;
use std::sync::LazyLock;

const SPINES: u32 = 4;
const HOSTS_PER_LEAF: u32 = 4;

const FLOWLETS: Granularity = Granularity::Flowlet { gap_ns: 5_000 };
const CELLS: Granularity = Granularity::Flowcell { bytes: 65_536 };
const DRILL: Table = Table::ShortestQueue { samples: 2, memory: 1 };
const ALL_QUEUES: Table = Table::ShortestQueue { samples: u16::MAX, memory: 0 };

/// A table at a granularity, or a scheme over them.
static EVERY: LazyLock<[(Granularity, Table, Scheme); 16]> = LazyLock::new(|| {
    [
        (Granularity::Flow, Table::Uniform, Scheme::TABLES),
        (Granularity::Flow, Table::Valo, Scheme::TABLES),
        (Granularity::Flow, Table::Intervals, Scheme::TABLES),
        (Granularity::Flow, Table::WcmpScoring { entries: 16 }, Scheme::TABLES),
        (Granularity::Flow, Table::Turns { block: true }, Scheme::TABLES),
        (Granularity::Flow, Table::Deficit, Scheme::TABLES),
        (Granularity::Flow, DRILL, Scheme::TABLES),
        (Granularity::Flow, Table::Uniform, Scheme::new(Ideal)),
        (FLOWLETS, Table::Uniform, Scheme::TABLES),
        (FLOWLETS, Table::MinMove, Scheme::TABLES),
        (FLOWLETS, Table::Deficit, Scheme::TABLES),
        (CELLS, Table::Uniform, Scheme::TABLES),
        (CELLS, Table::Turns { block: false }, Scheme::TABLES),
        (CELLS, ALL_QUEUES, Scheme::TABLES),
        (Granularity::Packet, Table::Deficit, Scheme::TABLES),
        (Granularity::Packet, DRILL, Scheme::TABLES),
    ]
});

fn with(granularity: Granularity, table: Table, transport: Transport) -> Settings {
    let mut settings = settings(transport);
    settings.balancing = Balancing { granularity, table, ..Balancing::ECMP };
    settings
}

fn tcp() -> Transport {
    // Reordering is not to be taken for loss here.
    Transport::Tcp(Tcp { dup_ack_threshold: 1000, ..Tcp::plain(Control::NewReno) })
}

/// Frames that leaf 0 sent to each spine.
fn uplinks(outcome: &Outcome) -> Vec<u64> {
    let sent = |port: u32| {
        outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_packets).sum()
    };
    (0..SPINES).map(|spine| sent(uplink(2, SPINES, HOSTS_PER_LEAF, 0, spine))).collect()
}

#[test]
fn a_flowlet_ends_with_a_pause_and_not_before() {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    // A frame of 1538 bytes with its gap every 12.304 us.
    let flows = [flow(0, 4, 1_000_000, 0)];
    for (gap_ns, together) in [(12_400, true), (12_200, false)] {
        let granularity = Granularity::Flowlet { gap_ns };
        let outcome = run(&fabric, &flows, &with(granularity, Table::Uniform, udp(1_000_000_000)));
        let used = uplinks(&outcome).into_iter().filter(|&frames| frames > 0).count();
        assert_eq!(used, if together { 1 } else { 4 }, "gap {gap_ns} ns: {:?}", uplinks(&outcome));
        assert_eq!(outcome.flows[0].paths, used as u16);
    }
}

#[test]
fn flowcells_take_turns_whole() {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    // Eight cells: each begins with the first segment whose first byte lies in it.
    let flows = [flow(0, 4, 8 * 65_536, 0)];
    let outcome = run(&fabric, &flows, &with(CELLS, Table::Turns { block: false }, udp(5_000_000_000)));
    let first_of = |cell: u64| (cell * 65_536).div_ceil(1448);
    let frames = |cell: u64| first_of(cell + 1) - first_of(cell);
    let expected: Vec<u64> = (0..4).map(|spine| frames(spine) + frames(spine + 4)).collect();
    assert_eq!(uplinks(&outcome), expected);
}

#[test]
fn turns_and_deficits_share_flows_by_weight() {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    // Single frames, far apart: frames count flows.
    let flows: Vec<Flow> =
        (0..90).map(|i| flow(i % 4, 4 + i % 3, 1000, u64::from(i) * 100 * PS_PER_US)).collect();
    let leaf = 8;
    let weights = (0..SPINES).map(|spine| (leaf, 10 + spine, u64::from(4 - spine))).collect();
    let weighing = Weighing::Given(weights);
    for table in [Table::Turns { block: true }, Table::Turns { block: false }, Table::Deficit] {
        let mut settings = with(Granularity::Flow, table, udp(1_000_000_000));
        settings.balancing.weighing = weighing.clone();
        assert_eq!(uplinks(&run(&fabric, &flows, &settings)), [36, 27, 18, 9], "{table:?}");
    }
    let mut settings = settings(udp(1_000_000_000));
    settings.balancing = Balancing { scheme: Scheme::new(Ideal), weighing, ..Balancing::ECMP };
    assert_eq!(uplinks(&run(&fabric, &flows, &settings)), [36, 27, 18, 9]);
}

#[test]
fn shortest_queues_are_shorter_than_random_ones() {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    let flows: Vec<Flow> = (0..4).map(|i| flow(i, 4 + i, 4_000_000, 0)).collect();
    let longest = |table| {
        let outcome = run(&fabric, &flows, &with(Granularity::Packet, table, udp(9_000_000_000)));
        let ports = (0..SPINES).map(|spine| uplink(2, SPINES, HOSTS_PER_LEAF, 0, spine));
        let all: Vec<u32> = ports.collect();
        let records = outcome.ports.iter().filter(|record| all.contains(&record.port));
        records.map(|record| record.backlog_max_bytes).max().unwrap()
    };
    let (random, two, all) = (longest(Table::Uniform), longest(DRILL), longest(ALL_QUEUES));
    // Four frames in four queues: whoever sees all of them never waits behind more than one.
    assert!(all <= 2 * 1518, "{all}");
    assert!(two < random / 3, "{two} and {random}");
}

#[test]
fn whatever_decides_leaves_dead_ports_and_comes_back() {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    let flows: Vec<Flow> =
        (0..40).map(|i| flow(i % 4, 4 + (i + i / 4) % 4, 300_000, u64::from(i) * 20 * PS_PER_US)).collect();
    let dead = uplink(2, SPINES, HOSTS_PER_LEAF, 0, 1);
    for (granularity, table, scheme) in EVERY.clone() {
        let mut settings = with(granularity, table, tcp());
        settings.balancing.scheme = scheme;
        settings.balancing.weighing = Weighing::Capacity;
        settings.routing_delay_ps = 50 * PS_PER_US;
        settings.observe.interval_ps = 100 * PS_PER_US;
        settings.changes = vec![
            Change { at_ps: 300 * PS_PER_US, what: What::PortDown(dead) },
            Change { at_ps: 700 * PS_PER_US, what: What::PortUp(dead) },
        ];
        let outcome = run(&fabric, &flows, &settings);
        let name = format!("{:?}", settings.balancing);
        assert_eq!(outcome.totals.flows_finished, flows.len() as u64, "{name}");
        let totals = outcome.totals;
        let gone =
            totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left;
        assert_eq!(totals.sent_packets, gone, "{name}");
        let sent = |from_us: u64, to_us: u64| -> u64 {
            let within = from_us * PS_PER_US..to_us * PS_PER_US;
            let inside = |record: &&anabranch_sim::PortRecord| {
                record.port == dead && within.contains(&record.start_ps)
            };
            outcome.ports.iter().filter(inside).map(|record| record.sent_packets).sum()
        };
        assert_eq!(sent(300, 700), 0, "{name}");
        assert!(sent(0, 300) > 0 && sent(700, 2000) > 0, "{name}: {} and {}", sent(0, 300), sent(700, 2000));
        let again = run(&fabric, &flows, &settings);
        assert_eq!(
            (again.flows, again.ports, again.totals),
            (outcome.flows, outcome.ports, totals),
            "{name}"
        );
    }
}
