//! Messages over several queue pairs on several threads: parts that begin, wait and end by themselves have the same bits for
//! any cut of the fabric.

use super::partitions::leaf_spine;
use super::setup::*;
use super::threads::{bursts, changes, long_links, settings_of};
use super::threads_of_jobs::{GO_BACK_N, SELECTIVE, relay, ring, roce};
use super::threads_of_uec::{controls, same_for_cuts, spraying};
use anabranch_balancers::{Settings, Table};
use anabranch_sim::Totals;
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{QueuePairMode, QueuePairs, Transport};

/// The same transport over so many queue pairs.
pub(super) fn over(transport: Transport, queue_pairs: QueuePairs) -> Transport {
    match transport {
        Transport::Roce(roce) => Transport::Roce(Roce { queue_pairs, ..roce }),
        Transport::Uec(uec) => Transport::Uec(Uec { queue_pairs, ..uec }),
        other => other,
    }
}

fn transports() -> [Transport; 3] {
    let [_, _, uec] = controls();
    [roce(GO_BACK_N, false), roce(SELECTIVE, false), Transport::Uec(uec)]
}

/// Four of a message's own; four that hosts keep, over which messages are split; three that they take in turn.
pub(super) fn queue_pairs() -> [QueuePairs; 3] {
    let split = QueuePairs { count: 4, ..QueuePairs::ONE };
    let in_turn = QueuePairs { count: 3, mode: QueuePairMode::RoundRobin, persistent: true, ..split };
    [split, QueuePairs { persistent: true, ..split }, in_turn]
}

/// Links lose frames, die and change their rate.
#[test]
fn parts_of_messages_have_the_same_bits() {
    let fabric = leaf_spine();
    for (seed, transport) in (0..).zip(transports()) {
        for (number, pairs) in queue_pairs().into_iter().enumerate() {
            let mut settings = spraying(&fabric, over(transport.clone(), pairs), seed);
            if seed == 0 {
                // Go-back-N takes packets out of order for lost ones.
                settings.balancing.table = Table::Uniform;
            }
            let flows = if pairs.persistent { ring(&fabric, 120_000) } else { bursts(&fabric) };
            let flows = &flows[..flows.len().min(144)];
            let what = format!("transport {seed}, queue pairs {number}");
            let Totals { lost_packets, flows_finished, .. } =
                same_for_cuts(&fabric, flows, &settings, &what).totals;
            assert!(lost_packets > 0 && flows_finished > 60, "{what}: {lost_packets}, {flows_finished}");
        }
    }
}

/// Messages of a graph follow each other on each queue pair.
#[test]
fn graphs_have_the_same_bits() {
    let fabric = leaf_spine();
    for transport in transports() {
        for pairs in queue_pairs() {
            let (flows, settings) = relay(&fabric, over(transport.clone(), pairs), true);
            assert!(same_for_cuts(&fabric, &flows, &settings, "a graph").totals.flows_finished > 80);
        }
    }
}

/// Timeouts are shorter than a round trip, so that packets arrive again after their part is acknowledged: while part of the
/// message is missing, or waits for one before it, its connections are open.
#[test]
fn a_message_closes_as_a_whole() {
    let fabric = long_links();
    let Transport::Roce(roce) = roce(GO_BACK_N, false) else { unreachable!("RoCE") };
    let [_, _, uec] = controls();
    let short = 40 * PS_PER_US;
    let transports =
        [Transport::Roce(Roce { rto_ps: short, ..roce }), Transport::Uec(Uec { rto_ps: short, ..uec })];
    for transport in transports {
        for pairs in queue_pairs() {
            let settings = settings_of(Table::Turns { block: false }, changes(&fabric), 3);
            let settings = Settings { transports: vec![over(transport.clone(), pairs)], ..settings };
            let whole = same_for_cuts(&fabric, &ring(&fabric, 100_000), &settings, "messages that wait");
            assert!(whole.flows.iter().map(|record| record.retransmitted_packets).sum::<u64>() > 500);
        }
    }
}
