//! Flows and ranks that wait for what is delivered in another part of the fabric: it is announced before it happens.

use super::accelerator_fabrics::rails;
use super::partitions::{fat_tree, leaf_spine, link};
use super::setup::*;
use super::threads::{changes, compare, outcome, settings_of};
use super::threads_of_jobs::{GO_BACK_N, SELECTIVE, roce};
use anabranch_balancers::{Settings, Table, Task};
use anabranch_fabric::Fabric;
use anabranch_fabric::topology::{LeafSpine, LinkSettings};
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{QueuePairMode, QueuePairs, Reorder, Transport};
use anabranch_sim::{Partition, Progress};
use anabranch_traffic::random::Stream;
use anabranch_traffic::workload::{Job, ParameterServer, PlacedWork};
use anabranch_traffic::{Flow, Start, Workload};
use anabranch_work::collective::{Algorithm, Collective, Kind, steps};
use std::sync::Arc;

const COLLECTIVES: [(Kind, Algorithm); 5] = [
    (Kind::AllReduce, Algorithm::Ring),
    (Kind::AllReduce, Algorithm::HalvingDoubling),
    (Kind::AllToAll, Algorithm::Pairwise),
    (Kind::AllToAll, Algorithm::Direct),
    (Kind::Broadcast, Algorithm::Tree),
];

/// Two steps of a collective of all hosts, and the settings that carry it.
fn collective(
    fabric: &Fabric,
    (kind, algorithm, bytes): (Kind, Algorithm, u64),
    (settings, ordered): (Settings, bool),
) -> (Vec<Flow>, Settings) {
    let plain = Collective::new(kind, algorithm, bytes);
    let graph = Arc::new(steps(fabric.named_hosts(), 2, 1_500_000, |_| vec![plain.clone()]).unwrap());
    let hosts = (0..fabric.named_hosts()).rev().collect();
    let work = PlacedWork { graph, hosts, start_ps: 90 * PS_PER_US, ordered };
    let job = Workload::Graph(Job { work: work.clone(), transport: 0 });
    let flows = anabranch_traffic::merged_flows(&[job], fabric, 1).unwrap();
    (flows, Settings { works: vec![work], ..settings })
}

/// Leaves with their hosts in parts by lot, and spines too.
fn leaves_by_lot(fabric: &Fabric, seed: u64, parts: u64) -> Partition {
    let mut stream = Stream::new(seed, "leaves by lot");
    let switches = fabric.nodes().len() - fabric.hosts() as usize;
    let of_switch: Vec<u32> = (0..switches).map(|_| stream.below(parts) as u32).collect();
    let of_host = (0..fabric.hosts()).map(|host| of_switch[(fabric.leaf_of(host) - fabric.hosts()) as usize]);
    let of_host = of_host.collect();
    Partition::new(of_switch, of_host)
}

fn same_bits(fabric: &Fabric, flows: &[Flow], settings: &Settings, what: &str) {
    let whole = outcome(fabric, flows, settings, None);
    assert!(whole.totals.flows_finished > 20, "{what}: {} finished", whole.totals.flows_finished);
    let by_leaves = [2, 3].map(|parts| Partition::by_leaves(fabric, parts));
    for (number, cut) in by_leaves.iter().chain(&[leaves_by_lot(fabric, settings.seed, 4)]).enumerate() {
        let parts = outcome(fabric, flows, settings, Some(cut));
        compare(&whole, &parts, &format!("{what}, cut {number}"));
        assert_eq!(whole.works, parts.works, "{what}, cut {number}");
    }
}

/// Collectives join what each rank sends and receives: a message ends at its receiver, and its sender goes on in the same
/// moment. Links lose frames and die.
#[test]
fn collectives_have_the_same_bits() {
    let (flat, tiers) = (leaf_spine(), fat_tree());
    let tcp = settings_of(Table::Uniform, Vec::new(), 1).transports.remove(0);
    let spray = Table::Turns { block: false };
    let carriers = [
        (&flat, spray, roce(GO_BACK_N, false), true),
        (&flat, Table::Uniform, roce(SELECTIVE, true), true),
        (&tiers, spray, roce(SELECTIVE, false), false),
        (&flat, spray, Transport::Uec(Uec::DEFAULT), true),
        (&flat, Table::Uniform, tcp, false),
    ];
    for (seed, (fabric, table, transport, ordered)) in (0..).zip(carriers) {
        for (kind, algorithm) in COLLECTIVES {
            let settings = settings_of(table, changes(fabric), seed);
            let settings = Settings { transports: vec![transport.clone()], ..settings };
            let (flows, settings) = collective(fabric, (kind, algorithm, 150_000), (settings, ordered));
            same_bits(fabric, &flows, &settings, &format!("run {seed}, {kind:?} by {algorithm:?}"));
        }
    }
}

/// Within a server messages go between scale-up ports; what they let begin is at network cards, in the same segment's part.
#[test]
fn collectives_on_servers_have_the_same_bits() {
    let fabric = rails(2);
    let settings = settings_of(Table::Turns { block: false }, Vec::new(), 4);
    let settings = Settings { transports: vec![roce(GO_BACK_N, false)], ..settings };
    for (kind, algorithm) in COLLECTIVES {
        let (flows, settings) = collective(&fabric, (kind, algorithm, 150_000), (settings.clone(), true));
        let whole = outcome(&fabric, &flows, &settings, None);
        assert_eq!(whole.totals.flows_finished, flows.len() as u64);
        let parts = outcome(&fabric, &flows, &settings, Some(&Partition::by_leaves(&fabric, 2)));
        compare(&whole, &parts, &format!("{kind:?} by {algorithm:?}"));
        assert_eq!(whole.works, parts.works);
    }
}

/// Messages over several queue pairs are delivered with their last part, on kept ones in order.
#[test]
fn parts_of_messages_are_announced_in_their_order() {
    let fabric = leaf_spine();
    for (seed, (mode, persistent)) in (0..).zip([
        (QueuePairMode::Split, false),
        (QueuePairMode::Split, true),
        (QueuePairMode::RoundRobin, true),
    ]) {
        let Transport::Roce(plain) = roce(SELECTIVE, false) else { unreachable!("RoCE") };
        let queue_pairs = QueuePairs { count: 3, mode, persistent, ..QueuePairs::ONE };
        let transport = Transport::Roce(anabranch_sim::transport::roce::Roce { queue_pairs, ..plain });
        let settings = settings_of(Table::Turns { block: false }, changes(&fabric), seed);
        let settings = Settings { transports: vec![transport], ..settings };
        let job = (Kind::AllReduce, Algorithm::HalvingDoubling, 300_000);
        let (flows, settings) = collective(&fabric, job, (settings, true));
        same_bits(&fabric, &flows, &settings, &format!("{mode:?}, kept: {persistent}"));
    }
}

/// Workers push to servers, and pull when all have pushed.
#[test]
fn flows_that_wait_for_jobs_have_the_same_bits() {
    let fabric = leaf_spine();
    let hosts = fabric.hosts();
    let server = ParameterServer {
        workers: (0..hosts - 2).collect(),
        servers: vec![hosts - 2, hosts - 1],
        bytes: 60_000,
        iterations: 3,
        compute_ps: 2_000_000,
        start_ps: 80 * PS_PER_US,
        transport: 0,
    };
    let flows = anabranch_traffic::merged_flows(&[Workload::ParameterServer(server)], &fabric, 1).unwrap();
    for (seed, transport) in (0..).zip([None, Some(roce(GO_BACK_N, true))]) {
        let mut settings = settings_of(Table::Uniform, changes(&fabric), seed);
        settings.transports = transport.map_or(settings.transports, |transport| vec![transport]);
        same_bits(&fabric, &flows, &settings, &format!("run {seed}"));
    }
}

/// Messages of one byte and of many, each begun by the one before it.
fn chain(hosts: u32) -> Vec<Flow> {
    (0..40)
        .map(|index: u32| {
            let start = match index.checked_sub(1) {
                None => Start::At(5),
                Some(flow) => Start::After { flow, delay_ps: u64::from(index % 3) * 777 },
            };
            let (src, dst) = (index * 5 % hosts, (index * 7 + 3) % hosts);
            let dst = if src == dst { (dst + 1) % hosts } else { dst };
            Flow { start, ..flow(src, dst, 1 + 3_000 * u64::from(index % 4), 0) }
        })
        .collect()
}

/// The run ends in the middle of a window, with the last message.
#[test]
fn chains_across_parts_end_with_the_whole() {
    let fabric = leaf_spine();
    for (seed, transport) in (0..).zip([roce(GO_BACK_N, false), roce(SELECTIVE, true)]) {
        let settings = settings_of(Table::Turns { block: false }, Vec::new(), seed);
        let settings = Settings { transports: vec![transport], ..settings };
        same_bits(&fabric, &chain(fabric.hosts()), &settings, &format!("run {seed}"));
    }
}

/// The links to hosts delay less than those that are cut: the parts meet as often as these ask for. A flow that begins late
/// keeps the end of the run, for which they meet more often, away.
#[test]
fn deliveries_by_the_shortest_links_are_announced_in_time() {
    let uplink = LinkSettings { delay_ps: 10 * PS_PER_US, ..link() };
    let fabric = LeafSpine {
        leaves: 4,
        spines: 3,
        hosts_per_leaf: 3,
        host_link: link(),
        uplink,
        ..LeafSpine::default()
    };
    let fabric = fabric.build().unwrap();
    let mut flows = chain(fabric.hosts());
    flows.push(flow(0, 1, 1_000, 5_000 * PS_PER_US));
    let settings = settings_of(Table::Turns { block: false }, Vec::new(), 1);
    let settings = Settings { transports: vec![roce(GO_BACK_N, false)], ..settings };
    same_bits(&fabric, &flows, &settings, "short links to hosts");
}

#[test]
fn what_cannot_be_announced_takes_one_thread() {
    let fabric = leaf_spine();
    let last = fabric.hosts() - 1;
    let after = Flow { start: Start::After { flow: 0, delay_ps: 0 }, ..flow(0, 1, 1000, 0) };
    let flows = vec![flow(0, last, 1000, 0), after];
    let plain = settings_of(Table::Uniform, Vec::new(), 1);
    let reason = |settings: &Settings, cut: &Partition| {
        let progress = Progress::default();
        Task::new(&fabric, &flows, settings, &progress).unwrap().one_thread(cut)
    };
    let by_leaves = Partition::by_leaves(&fabric, 2);
    assert_eq!(reason(&plain, &by_leaves), None);
    let apart = super::threads::by_lot(&fabric, 1, 3);
    assert!(reason(&plain, &apart).is_some_and(|what| what.contains("apart from their leaves")));
    let mut holding = plain;
    let Transport::Tcp(tcp) = &mut holding.transports[0] else { unreachable!("TCP") };
    tcp.reorder = Reorder::Hold { timeout_ps: PS_PER_US };
    assert!(reason(&holding, &by_leaves).is_some_and(|what| what.contains("hold segments back")));
}
