//! Jobs on several threads: flows that wait for others, over TCP and RoCE, have the same bits for any cut of the fabric.

use super::accelerator_fabrics::rails;
use super::partitions::{fat_tree, leaf_spine};
use super::setup::*;
use super::threads::{by_lot, changes, compare, long_links, outcome, settings_of};
use anabranch_balancers::{Settings, Table, Task};
use anabranch_fabric::Fabric;
use anabranch_sim::transport::control::{DcqcnSettings, Law};
use anabranch_sim::transport::roce::{Recovery, Roce};
use anabranch_sim::transport::{QueuePairs, Transport};
use anabranch_sim::{Partition, Progress, Totals};
use anabranch_traffic::workload::{Job, PlacedWork, RingAllReduce};
use anabranch_traffic::{Flow, Workload};
use anabranch_work::{Act, Builder, NodeId};
use std::sync::Arc;

/// Two steps of an all-reduce around all hosts.
pub(super) fn ring(fabric: &Fabric, bytes: u64) -> Vec<Flow> {
    let workers = (0..fabric.hosts()).collect();
    let ring = RingAllReduce {
        workers,
        bytes,
        iterations: 2,
        compute_ps: 3 * PS_PER_US,
        start_ps: 90 * PS_PER_US,
        transport: 0,
    };
    anabranch_traffic::merged_flows(&[Workload::RingAllReduce(ring)], fabric, 1).unwrap()
}

pub(super) fn roce(recovery: Recovery, persistent: bool) -> Transport {
    Transport::Roce(Roce {
        law: Law::Dcqcn(DcqcnSettings::DEFAULT),
        recovery,
        rto_ps: 300 * PS_PER_US,
        queue_pairs: QueuePairs { persistent, ..QueuePairs::ONE },
        ..Roce::plain()
    })
}

pub(super) const GO_BACK_N: Recovery = Recovery::GoBackN { nack_ps: 4 * PS_PER_US };
pub(super) const SELECTIVE: Recovery = Recovery::Selective { rto_low_ps: 100 * PS_PER_US };

/// Runs with links that lose frames and die: over TCP, over queue pairs of each message's own, and over those that are kept,
/// on which a message waits for the one before it.
#[test]
fn rings_have_the_same_bits() {
    let (flat, tiers) = (leaf_spine(), fat_tree());
    let spray = Table::Turns { block: false };
    let runs = [
        (&flat, Table::Uniform, None),
        (&tiers, spray, Some(roce(GO_BACK_N, false))),
        (&flat, spray, Some(roce(SELECTIVE, false))),
        (&flat, Table::Uniform, Some(roce(GO_BACK_N, true))),
        (&flat, spray, Some(roce(GO_BACK_N, true))),
    ];
    for (seed, (fabric, table, transport)) in (0..).zip(runs) {
        let mut settings = settings_of(table, changes(fabric), seed);
        settings.transports = transport.map_or(settings.transports, |transport| vec![transport]);
        let flows = ring(fabric, 400_000);
        let whole = outcome(fabric, &flows, &settings, None);
        let Totals { lost_packets, flows_finished, .. } = whole.totals;
        assert!(lost_packets > 10 && flows_finished > 100, "{lost_packets} lost, {flows_finished} finished");
        let by_leaves = [2, 3].map(|parts| Partition::by_leaves(fabric, parts));
        let by_lot = [2, 5].map(|parts| by_lot(fabric, seed, parts));
        for (number, cut) in by_leaves.iter().chain(&by_lot).enumerate() {
            let parts = outcome(fabric, &flows, &settings, Some(cut));
            compare(&whole, &parts, &format!("run {seed}, cut {number}"));
        }
    }
}

/// A graph of messages around a ring, each rank of which computes on what it has received before it sends it on.
pub(super) fn relay(fabric: &Fabric, transport: Transport, ordered: bool) -> (Vec<Flow>, Settings) {
    let ranks = fabric.named_hosts();
    let mut builder = Builder::new("relay", ranks).unwrap();
    let mut computed: Vec<Option<NodeId>> = vec![None; ranks as usize];
    for round in 0..12 {
        let mut next = computed.clone();
        for rank in 0..ranks {
            let right = (rank + 1) % ranks;
            let (send, recv) =
                builder.message(rank, right, 3_000 + 20_000 * u64::from((rank + round) % 3)).unwrap();
            computed[rank as usize].into_iter().for_each(|before| builder.requires(send, before));
            let calc = builder.node(right, Act::Calc { ps: 700_000 * u64::from(rank % 2) }).unwrap();
            builder.requires(calc, recv);
            next[right as usize] = Some(calc);
        }
        computed = next;
    }
    let graph = Arc::new(builder.finish());
    let work = PlacedWork { graph, hosts: (0..ranks).rev().collect(), start_ps: 90 * PS_PER_US, ordered };
    let job = Workload::Graph(Job { work: work.clone(), transport: 0 });
    let flows = anabranch_traffic::merged_flows(&[job], fabric, 1).unwrap();
    let settings = settings_of(Table::Turns { block: false }, changes(fabric), 3);
    (flows, Settings { transports: vec![transport], works: vec![work], ..settings })
}

/// Each part executes its own ranks. Messages in order over kept queue pairs, and each over a connection of its own.
#[test]
fn graphs_without_waits_across_have_the_same_bits() {
    let fabric = leaf_spine();
    let tcp = settings_of(Table::Uniform, Vec::new(), 1).transports.remove(0);
    for (transport, ordered) in
        [(roce(GO_BACK_N, false), true), (roce(SELECTIVE, false), false), (tcp, false)]
    {
        let (flows, settings) = relay(&fabric, transport, ordered);
        let whole = outcome(&fabric, &flows, &settings, None);
        assert!(whole.totals.lost_packets > 10 && whole.totals.flows_finished > 80);
        for cut in [Partition::by_leaves(&fabric, 2), by_lot(&fabric, 1, 3)] {
            let parts = outcome(&fabric, &flows, &settings, Some(&cut));
            compare(&whole, &parts, &format!("ordered: {ordered}"));
            assert_eq!(whole.works, parts.works);
        }
    }
}

/// Within a server messages go between scale-up ports, which are in the part of the server's segment. Where a segment is cut
/// they are in another part than the network cards.
#[test]
fn graphs_on_servers_have_the_same_bits() {
    let fabric = rails(2);
    let (flows, settings) = relay(&fabric, roce(GO_BACK_N, false), true);
    let settings = Settings { changes: Vec::new(), ..settings };
    let whole = outcome(&fabric, &flows, &settings, None);
    assert_eq!(whole.totals.flows_finished, flows.len() as u64);
    let parts = outcome(&fabric, &flows, &settings, Some(&Partition::by_leaves(&fabric, 2)));
    compare(&whole, &parts, "segments");
    assert_eq!(whole.works, parts.works);
    let fabric = rails(1);
    let (flows, settings) = relay(&fabric, roce(GO_BACK_N, false), true);
    let (progress, cut) = (Progress::default(), Partition::by_leaves(&fabric, 2));
    let reason = Task::new(&fabric, &flows, &settings, &progress).unwrap().one_thread(&cut);
    assert!(reason.is_some_and(|what| what.contains("ports in several parts")), "{reason:?}");
}

/// Answers of one byte are sent in less time than any other frame.
#[test]
fn the_look_ahead_knows_the_shortest_frame() {
    let link = Link { delay_ps: 1, ..TEN_GIG };
    let fabric = super::setup::leaf_spine(2, 1, 2, link);
    let transport = Transport::Roce(Roce { answer_bytes: 1, ..Roce::plain() });
    let settings = settings(transport);
    let flows = [flow(0, 3, 20_000, 0), flow(2, 1, 20_000, 0)];
    let whole = outcome(&fabric, &flows, &settings, None);
    compare(&whole, &outcome(&fabric, &flows, &settings, Some(&Partition::by_leaves(&fabric, 2))), "answers");
}

/// Timeouts are shorter than a round trip, so that packets arrive again after their message is acknowledged: while it waits for
/// one before it, its connection is open.
#[test]
fn a_message_that_waits_keeps_its_connection_open() {
    let fabric = long_links();
    let Transport::Roce(roce) = roce(GO_BACK_N, true) else { unreachable!("RoCE") };
    let transport = Transport::Roce(Roce { rto_ps: 40 * PS_PER_US, ..roce });
    let settings = settings_of(Table::Turns { block: false }, changes(&fabric), 3);
    let settings = Settings { transports: vec![transport], ..settings };
    let flows = ring(&fabric, 200_000);
    let whole = outcome(&fabric, &flows, &settings, None);
    assert!(whole.flows.iter().map(|record| record.retransmitted_packets).sum::<u64>() > 1000);
    for cut in [Partition::by_leaves(&fabric, 3), by_lot(&fabric, 2, 4)] {
        compare(&whole, &outcome(&fabric, &flows, &settings, Some(&cut)), "messages that wait");
    }
}

/// A run of small messages ends in the middle of a window, with the last of them.
#[test]
fn rings_end_with_the_whole() {
    let fabric = leaf_spine();
    for (seed, bytes) in (0..).zip([12, 9_000, 60_000]) {
        let settings = Settings {
            transports: vec![roce(GO_BACK_N, false)],
            ..settings_of(Table::Uniform, Vec::new(), seed)
        };
        let flows = ring(&fabric, bytes);
        let whole = outcome(&fabric, &flows, &settings, None);
        assert_eq!(whole.totals.flows_finished, flows.len() as u64);
        for cut in [Partition::by_leaves(&fabric, 2), by_lot(&fabric, seed, 4)] {
            compare(&whole, &outcome(&fabric, &flows, &settings, Some(&cut)), &format!("{bytes} bytes"));
        }
    }
}
