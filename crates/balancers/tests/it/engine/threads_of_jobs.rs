//! Jobs on several threads: flows that wait for others, over TCP and RoCE, have the same bits for any cut of the fabric.

use super::partitions::{fat_tree, leaf_spine};
use super::setup::*;
use super::threads::{by_lot, changes, compare, outcome, settings_of};
use anabranch_balancers::{Settings, Table};
use anabranch_fabric::Fabric;
use anabranch_sim::transport::control::{DcqcnSettings, Law};
use anabranch_sim::transport::roce::{Recovery, Roce};
use anabranch_sim::transport::{QueuePairs, Transport};
use anabranch_sim::{Partition, Totals};
use anabranch_traffic::workload::RingAllReduce;
use anabranch_traffic::{Flow, Workload};

/// Two steps of an all-reduce around all hosts.
fn ring(fabric: &Fabric, bytes: u64) -> Vec<Flow> {
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
const SELECTIVE: Recovery = Recovery::Selective { rto_low_ps: 100 * PS_PER_US };

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

/// Answers of one byte are sent in less time than any other frame.
#[test]
fn the_look_ahead_knows_the_shortest_frame() {
    let link = Link { delay_ps: 1, ..TEN_GIG };
    let fabric = super::setup::leaf_spine(2, 1, 2, link);
    let transport = Transport::Roce(Roce { answer_bytes: 1, ..Roce::plain() });
    let settings = Settings { transports: vec![transport], ..settings_of(Table::Uniform, Vec::new(), 1) };
    let flows = [flow(0, 3, 20_000, 0), flow(2, 1, 20_000, 0)];
    let whole = outcome(&fabric, &flows, &settings, None);
    compare(&whole, &outcome(&fabric, &flows, &settings, Some(&Partition::by_leaves(&fabric, 2))), "answers");
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
