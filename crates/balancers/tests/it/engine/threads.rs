//! One simulation on several threads: the same bits for any cut of the fabric.

use super::partitions::{fat_tree, leaf_spine};
use super::setup::*;
use anabranch_balancers::{Settings, Table, Task, registry};
use anabranch_fabric::topology::{LeafSpine, LinkSettings};
use anabranch_fabric::{Change, Fabric, Rate, What};
use anabranch_sim::transport::roce::{Completion, Roce, Semantics};
use anabranch_sim::transport::{Control, QueuePairs, Tcp, Transport};
use anabranch_sim::{CapturedPacket, Carrier, Kind, Nic, Observe, Outcome, Partition, Progress, Totals};
use anabranch_traffic::random::Stream;
use anabranch_traffic::{Flow, Start};
use std::collections::HashMap;

/// Long links: a window, and what is on its way, last for 10 us.
pub(super) fn long_links() -> Fabric {
    let long = LinkSettings { delay_ps: 10 * PS_PER_US, ..LinkSettings::default() };
    LeafSpine {
        leaves: 4,
        spines: 3,
        hosts_per_leaf: 3,
        host_link: long,
        uplink: long,
        ..LeafSpine::default()
    }
    .build()
    .unwrap()
}

/// Two bursts with a silence between them.
pub(super) fn bursts(fabric: &Fabric) -> Vec<Flow> {
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
pub(super) fn changes(fabric: &Fabric) -> Vec<Change> {
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

pub(super) fn settings_of(table: Table, changes: Vec<Change>, seed: u64) -> Settings {
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

pub(super) fn by_lot(fabric: &Fabric, seed: u64, parts: u64) -> Partition {
    let mut stream = Stream::new(seed, "parts");
    let switches = fabric.nodes().len() - fabric.hosts() as usize;
    let mut draw = |nodes| (0..nodes).map(|_| stream.below(parts) as u32).collect();
    Partition::new(draw(switches), draw(fabric.hosts() as usize))
}

/// Outcome with windows of the first flows, of one thread or of parts; every second seed has records of single packets too.
pub(super) fn outcome(
    fabric: &Fabric,
    flows: &[Flow],
    settings: &Settings,
    parts: Option<&Partition>,
) -> Outcome {
    let (flows, progress) = (flows.to_vec(), Progress::default());
    let mut settings = settings.clone();
    settings.observe.window_flows = (0..flows.len().min(9) as u32).collect();
    if settings.seed.is_multiple_of(2) {
        settings.observe.events_max = 150;
        settings.observe.capture_ports = (0..fabric.ports().len() as u32).collect();
        settings.observe.capture_packets_max = 100;
    }
    let task = Task::new(fabric, &flows, &settings, &progress).unwrap();
    parts.map_or(task, |parts| task.on_threads(parts).unwrap()).simulate().unwrap()
}

/// Captured packets, whose connections and queue pairs have numbers in the order in which they appear: parts name them in
/// their own way.
fn told(captures: &[CapturedPacket]) -> Vec<String> {
    let mut numbers = HashMap::new();
    let mut number = |name: u32| {
        let next = numbers.len() as u32;
        *numbers.entry(name).or_insert(next)
    };
    let told = |capture: &CapturedPacket| {
        let CapturedPacket { mut packet, mut carrier, .. } = *capture;
        if !packet.kind.is_probe() && packet.kind != Kind::Pause {
            packet.connection = number(packet.connection);
        }
        if let Carrier::Roce(position, _) | Carrier::Uec(position) = &mut carrier {
            position.queue_pair = number(position.queue_pair);
        }
        format!("{:?}", CapturedPacket { packet, carrier, ..*capture })
    };
    captures.iter().map(told).collect()
}

/// Both outcomes are equal to the bit.
pub(super) fn compare(whole: &Outcome, parts: &Outcome, what: &str) {
    same("flow", &whole.flows, &parts.flows, what);
    same("port", &whole.ports, &parts.ports, what);
    same("sample", &whole.queues, &parts.queues, what);
    same("window", &whole.windows, &parts.windows, what);
    same("event", &whole.events, &parts.events, what);
    same("captured packet", &told(&whole.captures), &told(&parts.captures), what);
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
    let (flat, tiers) = (leaf_spine(), fat_tree());
    let drill = Table::ShortestQueue { samples: 2, memory: 1 };
    let runs = [
        (&flat, Table::Uniform, true),
        (&flat, Table::Turns { block: false }, true),
        (&flat, drill, false),
        (&tiers, Table::Uniform, true),
    ];
    for (seed, (fabric, table, changed)) in (0..).zip(runs) {
        let flows = bursts(fabric);
        let settings = settings_of(table, if changed { changes(fabric) } else { Vec::new() }, seed);
        let whole = outcome(fabric, &flows, &settings, None);
        let Totals { dropped_packets, marked_packets, lost_packets, .. } = whole.totals;
        assert!(dropped_packets > 100 && marked_packets > 100 && (lost_packets > 100) == changed);
        let by_leaves = [2, 3].map(|parts| Partition::by_leaves(fabric, parts));
        let by_lot = [2, 5].map(|parts| by_lot(fabric, seed, parts));
        for (number, cut) in by_leaves.iter().chain(&by_lot).enumerate() {
            let parts = outcome(fabric, &flows, &settings, Some(cut));
            compare(&whole, &parts, &format!("{table:?}, cut {number}, changes: {changed}"));
        }
    }
}

/// A run ends with the event by which its last flow finishes, or when time is over, in whichever part that is.
#[test]
fn parts_end_with_the_whole() {
    let fabric = leaf_spine();
    let last = fabric.hosts() - 1;
    let flows = [flow(0, last, 400_000, 0), flow(last, 0, 900_000, 7_000), flow(1, last, 1, 2 * PS_PER_US)];
    for end_ps in [40_000 * PS_PER_US, 300 * PS_PER_US + 1] {
        let mut settings = settings_of(Table::Uniform, Vec::new(), 1);
        settings.end_ps = end_ps;
        for count in 0..=flows.len() {
            let whole = outcome(&fabric, &flows[..count], &settings, None);
            let cut = Partition::by_leaves(&fabric, 4);
            compare(
                &whole,
                &outcome(&fabric, &flows[..count], &settings, Some(&cut)),
                &format!("{count} flows"),
            );
        }
    }
}

/// Its bound on the end of a run is that of present rates: they rise here before the last flow ends.
#[test]
fn parts_end_with_the_whole_behind_a_link_that_gets_faster() {
    let fabric = long_links();
    let last = fabric.hosts() - 1;
    let downlink = fabric.ports()[fabric.ports_of(last)[0] as usize].reverse;
    let rate = |at_us: u64, bps| {
        let what = What::PortRate(downlink, Rate::from_bps(bps).unwrap());
        Change { at_ps: at_us * PS_PER_US, what }
    };
    let changes = vec![rate(0, 1_000_000_000), rate(1000, 10_000_000_000)];
    for size_bytes in [300_000, 400_000, 410_000] {
        let flows = [flow(0, last, size_bytes, 0), flow(1, 2, 900, 0)];
        let mut settings = settings_of(Table::Uniform, changes.clone(), 1);
        settings.observe = Observe::default();
        let whole = outcome(&fabric, &flows, &settings, None);
        assert!(whole.totals.end_ps > 1000 * PS_PER_US && whole.totals.end_ps < 2500 * PS_PER_US);
        for cut in [Partition::by_leaves(&fabric, 2), by_lot(&fabric, 1, 5)] {
            compare(&whole, &outcome(&fabric, &flows, &settings, Some(&cut)), &format!("{size_bytes} bytes"));
        }
    }
}

/// Short flows.
pub(super) fn short(fabric: &Fabric) -> Vec<Flow> {
    let mut stream = Stream::new(3, "late");
    let hosts = u64::from(fabric.hosts());
    let draw = |_| {
        let (src, more, at_ps) =
            (stream.below(hosts), 1 + stream.below(hosts - 1), stream.below(2000 * PS_PER_US));
        flow(src as u32, ((src + more) % hosts) as u32, 1 + stream.below(6000), at_ps)
    };
    let mut flows: Vec<Flow> = (0..1500).map(draw).collect();
    flows.sort_by_key(|flow| if let Start::At(at_ps) = flow.start { at_ps } else { 0 });
    flows
}

/// A round trip takes 80 us, and a segment is sent again after 15 and 45 us: the second time it arrives just after its
/// connection has closed.
#[test]
fn a_connection_closes_for_both_parts_at_once() {
    let fabric = long_links();
    let flows = short(&fabric);
    for seed in [1, 3] {
        let mut settings = settings_of(Table::Turns { block: false }, Vec::new(), seed);
        let Transport::Tcp(tcp) = &mut settings.transports[0] else { unreachable!("TCP") };
        (tcp.rto_min_ps, tcp.rto_initial_ps) = (15 * PS_PER_US, 15 * PS_PER_US);
        let whole = outcome(&fabric, &flows, &settings, None);
        assert!(whole.flows.iter().map(|record| record.retransmitted_packets).sum::<u64>() > 1000);
        for cut in [Partition::by_leaves(&fabric, 2), by_lot(&fabric, seed, 4)] {
            compare(&whole, &outcome(&fabric, &flows, &settings, Some(&cut)), &format!("seed {seed}"));
        }
    }
}

#[test]
fn what_takes_one_thread_says_so() {
    let fabric = leaf_spine();
    let cut = Partition::by_leaves(&fabric, 2);
    let plain = settings_of(Table::Uniform, Vec::new(), 1);
    let reason = |settings: &Settings, flows: Vec<Flow>| {
        let progress = Progress::default();
        let task = Task::new(&fabric, &flows, settings, &progress).unwrap();
        assert_eq!(task.one_thread(&cut).is_some(), task.on_threads(&cut).is_err());
        task.one_thread(&cut)
    };
    let one = || vec![flow(0, 4, 1000, 0)];
    assert_eq!(reason(&plain, one()), None);
    let last = fabric.hosts() - 1;
    let after = |src, start| Flow { start, ..flow(src, 1, 1000, 0) };
    let waits = |src, start| reason(&plain, vec![flow(0, last, 1000, 0), after(src, start)]);
    assert_eq!(waits(last, Start::After { flow: 0, delay_ps: 0 }), None);
    assert_eq!(waits(0, Start::After { flow: 0, delay_ps: 0 }), None);
    let over = |transport| reason(&Settings { transports: vec![transport], ..plain.clone() }, one());
    assert!(over(udp(10_000_000_000)).is_some_and(|what| what.contains("other than TCP")));
    let roce = Roce::plain();
    assert_eq!(over(Transport::Roce(roce.clone())), None);
    let late = Roce { completion: Completion::Acknowledged, ..roce };
    assert_eq!(over(Transport::Roce(late.clone())), None);
    let others = [
        (Roce { semantics: Semantics::SEND, ..roce }, "need a receive"),
        (Roce { queue_pairs: QueuePairs { count: 2, ..QueuePairs::ONE }, ..late }, "over several"),
    ];
    for (roce, expected) in others {
        assert!(over(Transport::Roce(roce)).is_some_and(|what| what.contains(expected)), "{expected}");
    }
    let mut other = Settings { transports: vec![Transport::Roce(late)], ..plain.clone() };
    let relayed = vec![flow(0, last, 1000, 0), after(last, Start::After { flow: 0, delay_ps: 0 })];
    assert!(reason(&other, relayed).is_some_and(|what| what.contains("wait for others")));
    other = plain;
    other.balancing = registry::all().find(|one| one.name == "omniscient").unwrap().balancing();
    assert!(reason(&other, one()).is_some_and(|what| what.contains("read other parts")));
}

/// Who has asked for records of ports before a run gets those of the first interval that ends in all parts.
#[test]
fn a_reader_gets_whole_intervals_while_threads_run() {
    let fabric = long_links();
    let flows = bursts(&fabric);
    let settings = settings_of(Table::Uniform, changes(&fabric), 1);
    let progress = Progress::default();
    let whole = outcome(&fabric, &flows, &settings, None);
    assert!(progress.take_ports().is_empty());
    let task = Task::new(&fabric, &flows, &settings, &progress).unwrap();
    task.on_threads(&Partition::by_leaves(&fabric, 2)).unwrap().simulate().unwrap();
    let taken = progress.take_ports();
    assert_eq!(taken.len(), fabric.ports().len());
    assert!(taken == whole.ports[..taken.len()]);
}

/// A run ends with an interval, in whose last picosecond a host sends into its dead link: what is lost then is counted, by
/// the part of that host.
#[test]
fn the_last_instant_of_an_interval_counts() {
    let fabric = long_links();
    let (end_us, last) = (600, fabric.hosts() - 1);
    let dead = fabric.ports_of(last)[0];
    let flows = [flow(0, last - 1, 100_000, 0), flow(last, 0, 5_000, end_us * PS_PER_US)];
    let down = Change { at_ps: PS_PER_US, what: What::PortDown(dead) };
    let mut settings = settings_of(Table::Uniform, vec![down], 1);
    settings.end_ps = end_us * PS_PER_US;
    let whole = outcome(&fabric, &flows, &settings, None);
    let ports = fabric.ports().len();
    assert_eq!(whole.ports.len(), 2 * ports, "two intervals of 300 us");
    assert!(whole.ports[ports + dead as usize].lost_packets > 0, "the flow begins at the end");
    let parts = outcome(&fabric, &flows, &settings, Some(&Partition::by_leaves(&fabric, 2)));
    compare(&whole, &parts, "the last instant");
}
