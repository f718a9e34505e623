//! Write and send semantics of RoCE: closed forms on an empty fabric.

use super::setup::{Link, PS_PER_US, TEN_GIG, leaf_spine, run, settings};
use anabranch_balancers::{Balancing, Granularity, Settings};
use anabranch_fabric::Rate;
use anabranch_sim::transport::control::{DcqcnSettings, Law};
use anabranch_sim::transport::roce::{Recovery, Roce, Semantics};
use anabranch_sim::transport::{QueuePairs, Transport};
use anabranch_sim::{EventKind, Nic, Observe, Outcome};
use anabranch_traffic::Workload;
use anabranch_traffic::workload::{Job, PlacedWork};
use anabranch_work::{Rendezvous, goal};
use std::sync::Arc;

/// 10 Gbit/s and 1 us a link, frames of 1538 B on the wire, answers of 84: a message and its answer under one leaf.
fn message_ps(frames: u64) -> u64 {
    2 * PS_PER_US + (frames + 1) * 1538 * 800
}
const ANSWER_PS: u64 = 2 * PS_PER_US + 2 * 84 * 800;
const RNR_PS: u64 = 20 * PS_PER_US;
const SEND: Semantics = Semantics::Send { rnr_ps: RNR_PS };

fn roce(semantics: Semantics) -> Roce {
    Roce { semantics, ..Roce::plain() }
}

/// A message of so many full frames at 0, whose receive begins at `recv_ns`.
fn late(frames: u64, recv_ns: u64, roce: Roce, nic: Nic) -> Outcome {
    let bytes = frames * 1448;
    let text = format!(
        "num_ranks 2\nrank 0 {{\nl1: send {bytes}b to 1 tag 0\n}}\nrank 1 {{\nl1: calc {recv_ns}\n\
         l2: recv {bytes}b from 0 tag 0\nl2 requires l1\n}}\n"
    );
    let work = PlacedWork {
        graph: Arc::new(goal::read_text(&text, "w").unwrap()),
        hosts: vec![0, 1],
        start_ps: 0,
        ordered: true,
    };
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    let jobs = [Workload::Graph(Job { work: work.clone(), transport: 0 })];
    let flows = anabranch_traffic::merged_flows(&jobs, &fabric, 1).unwrap();
    let settings = Settings { works: vec![work], nic, ..settings(Transport::Roce(roce)) };
    run(&fabric, &flows, &settings)
}

/// Number of the counter of RNR NAKs.
fn not_ready(outcome: &Outcome) -> u64 {
    outcome.counts.iter().find(|(name, _)| name.starts_with("RNR NAKs")).map_or(0, |&(_, count)| count)
}

/// A receive that was posted costs nothing. One that comes later is met by the first attempt after it: attempts follow each
/// other by what the first packet and the RNR NAK take and the timer asks for.
#[test]
fn a_send_waits_for_its_receive_by_the_grid_of_its_timer() {
    let period_ps = message_ps(1) + ANSWER_PS + RNR_PS;
    let few = Recovery::Selective { rto_low_ps: 1_000 * PS_PER_US };
    for recovery in [Recovery::GoBackN { nack_ps: 4 * PS_PER_US }, few] {
        for frames in [1, 2, 5] {
            let recv_at = |recv_ns| {
                let roce = Roce { recovery, ..roce(SEND) };
                late(frames, recv_ns, roce, Nic::RDMA)
            };
            let written = late(frames, 70_000, roce(Semantics::Write), Nic::RDMA);
            assert_eq!(written.flows[0].fct_ps, message_ps(frames), "a write needs no receive");
            assert_eq!(not_ready(&written), 0);
            // The first packet arrives at message_ps(1) after each attempt.
            for attempts in 0..5 {
                let first_ps = message_ps(1) + attempts * period_ps;
                for (recv_ns, late) in [(first_ps / 1000, 0), (first_ps / 1000 + 1, 1)] {
                    let outcome = recv_at(recv_ns);
                    let record = &outcome.flows[0];
                    let expected = attempts + late;
                    assert_eq!(not_ready(&outcome), expected, "{recovery:?} {frames} {recv_ns}");
                    assert_eq!(record.fct_ps, message_ps(frames) + expected * period_ps, "{recv_ns}");
                    // What was in flight before the first answer is sent again with every attempt.
                    assert_eq!(record.retransmitted_packets, expected * frames);
                    assert_eq!(record.sent_packets, (expected + 1) * frames);
                    assert_eq!(record.received_bytes, frames * 1448);
                    assert_eq!(record.timeouts, 0);
                }
            }
        }
    }
}

/// Flows that are no messages of a graph find receives, always: same bits.
#[test]
fn sends_of_plain_flows_are_writes() {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let flows: Vec<_> = (0..2).map(|host| super::setup::flow(host, host + 2, 200_000, 0)).collect();
    let of = |semantics| run(&fabric, &flows, &settings(Transport::Roce(roce(semantics))));
    assert_eq!(of(SEND).flows, of(Semantics::Write).flows);
}

/// Whatever overtakes and whatever is lost, with several queue pairs and either recovery: every message arrives whole, its
/// receive posted or not.
#[test]
fn sends_arrive_over_sprayed_and_lossy_paths() {
    let fabric = leaf_spine(2, 4, 4, Link { rate_bps: 100_000_000_000, ..TEN_GIG });
    let mut text = "num_ranks 8\n".to_owned();
    for rank in 0..8 {
        let (to, from) = ((rank + 4) % 8, (rank + 4) % 8);
        text += &format!(
            "rank {rank} {{\nl1: send 300000b to {to} tag 0\nl2: calc {}\nl3: recv 300000b from {from} tag 0\n\
             l3 requires l2\n}}\n",
            20_000 * rank
        );
    }
    let graph = Arc::new(goal::read_text(&text, "w").unwrap());
    let mut waited = 0;
    for recovery in
        [Recovery::GoBackN { nack_ps: 4 * PS_PER_US }, Recovery::Selective { rto_low_ps: 100 * PS_PER_US }]
    {
        for count in [1, 3] {
            let roce = Roce {
                recovery,
                law: Law::Dcqcn(DcqcnSettings::DEFAULT),
                rto_ps: 320 * PS_PER_US,
                queue_pairs: QueuePairs { count, ..QueuePairs::ONE },
                ..roce(SEND)
            };
            let work =
                PlacedWork { graph: Arc::clone(&graph), hosts: (0..8).collect(), start_ps: 0, ordered: true };
            let jobs = [Workload::Graph(Job { work: work.clone(), transport: 0 })];
            let flows = anabranch_traffic::merged_flows(&jobs, &fabric, 1).unwrap();
            let lossy = (0..4).map(|spine| super::setup::uplink(2, 4, 4, 0, spine));
            let change = |port| anabranch_fabric::Change {
                at_ps: 0,
                what: anabranch_fabric::What::PortLoss(port, 0.005),
            };
            let settings = Settings {
                works: vec![work],
                nic: Nic::RDMA,
                balancing: Balancing { granularity: Granularity::Packet, ..Balancing::ECMP },
                changes: lossy.map(change).collect(),
                ..settings(Transport::Roce(roce))
            };
            let outcome = run(&fabric, &flows, &settings);
            waited += not_ready(&outcome);
            assert!(outcome.flows.iter().map(|record| record.lost_packets).sum::<u64>() > 0);
            let mut left = 0;
            for record in &outcome.flows {
                assert_ne!(record.fct_ps, u64::MAX);
                assert_eq!(record.received_bytes, 300_000);
                let ended = record.delivered_packets + record.dropped_packets + record.lost_packets;
                left += record.sent_packets - ended;
            }
            assert!(left <= outcome.totals.packets_left, "{left}");
            let ended = outcome.works[0].times.iter().map(|times| times.end_ps).max().unwrap();
            assert_ne!(ended, u64::MAX);
        }
    }
    assert!(waited >= 7 * 4, "{waited}");
}

/// Segments that receivers discarded.
fn discarded(outcome: &Outcome) -> u64 {
    let counted =
        outcome.counts.iter().find(|(name, _)| name.starts_with("segments that receivers discarded"));
    counted.map_or(0, |&(_, count)| count)
}

/// A word of rendezvous is written into memory that the other rank knows: it finds a receive that has not begun. Both ranks
/// of a pair are told at once and begin their messages when the word has arrived.
#[test]
fn words_of_rendezvous_need_no_receive() {
    let text = "num_ranks 2\nrank 0 {\nl1: recv 14480b from 1 tag 0\nl2: send 14480b to 1 tag 0\n}\n\
                rank 1 {\nl1: calc 50000\nl2: recv 14480b from 0 tag 0\nl2 requires l1\nl3: send 14480b to 0 tag 0\n\
                l3 requires l1\n}\n";
    let graph = goal::read_text(text, "w").unwrap();
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    for by in [Rendezvous::ClearToSend, Rendezvous::RequestToSend] {
        let [sent, written] = [SEND, Semantics::Write].map(|semantics| {
            let graph = Arc::new(graph.with_rendezvous(by, 0).unwrap());
            let work = PlacedWork { graph, hosts: vec![0, 1], start_ps: 0, ordered: true };
            let jobs = [Workload::Graph(Job { work: work.clone(), transport: 0 })];
            let flows = anabranch_traffic::merged_flows(&jobs, &fabric, 1).unwrap();
            let settings =
                Settings { works: vec![work], nic: Nic::RDMA, ..settings(Transport::Roce(roce(semantics))) };
            run(&fabric, &flows, &settings)
        });
        assert_eq!(not_ready(&sent), 0, "{by:?}");
        assert_eq!(sent.flows, written.flows, "{by:?}");
        assert!(sent.flows.iter().all(|record| record.fct_ps != u64::MAX), "{by:?}");
    }
}

/// Where recovery is selective, a packet that overtakes the first of its message takes the posted receive: sprayed sends
/// are sprayed writes, bit for bit.
#[test]
fn sends_that_overtake_each_other_are_kept() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let change = anabranch_fabric::Change {
        at_ps: 0,
        what: anabranch_fabric::What::PortRate(
            super::setup::uplink(2, 2, 1, 0, 0),
            Rate::from_bps(1_000_000_000).unwrap(),
        ),
    };
    let selective = Recovery::Selective { rto_low_ps: 1_000 * PS_PER_US };
    let of = |semantics, recovery| {
        let settings = Settings {
            nic: Nic::RDMA,
            balancing: Balancing { granularity: Granularity::Packet, ..Balancing::ECMP },
            changes: vec![change],
            observe: Observe { events_max: 1_000, ..Observe::default() },
            ..settings(Transport::Roce(Roce { recovery, ..roce(semantics) }))
        };
        let flows: Vec<_> =
            (0..8).map(|number| super::setup::flow(0, 1, 14_480, number * 200 * PS_PER_US)).collect();
        run(&fabric, &flows, &settings)
    };
    let sent = of(SEND, selective);
    assert!(sent.flows.iter().any(|record| record.reordered_packets > 0), "some overtake");
    assert_eq!(sent.flows, of(Semantics::Write, selective).flows);
    assert_eq!(sent.flows.iter().map(|record| record.timeouts).sum::<u32>(), 0);
    assert_eq!(discarded(&sent), 0);

    // Go-back-N keeps none of them, and each is an event.
    let outcome = of(SEND, Recovery::GoBackN { nack_ps: 4 * PS_PER_US });
    let events = outcome.events.iter().filter(|event| event.what == EventKind::Discarded).count() as u64;
    assert!(events > 0);
    assert_eq!(discarded(&outcome), events);
}
