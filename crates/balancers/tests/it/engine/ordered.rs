//! Messages of a graph between two ranks, one after the other: closed forms, the window that they share, and their order.

use super::setup::{Link, PS_PER_US, TEN_GIG, leaf_spine, run, settings, udp, uplink};
use anabranch_balancers::{Balancing, Granularity, Settings};
use anabranch_fabric::{Change, Fabric, What};
use anabranch_sim::transport::control::Law;
use anabranch_sim::transport::roce::{Recovery, Roce};
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{Control, QueuePairMode, QueuePairs, Tcp, Transport};
use anabranch_sim::{FlowRecord, Nic, Outcome};
use anabranch_traffic::Workload;
use anabranch_traffic::workload::{Job, PlacedWork};
use anabranch_work::goal;
use std::sync::Arc;

/// Payload of a full frame.
const FULL: u64 = 1448;
const FRAME_PS: u64 = 1538 * 800;

/// A message of full frames under one leaf: 10 Gbit/s and 1 us a link, store and forward.
fn message_ps(frames: u64) -> u64 {
    2 * PS_PER_US + (frames + 1) * FRAME_PS
}

fn roce(recovery: Recovery) -> Transport {
    let window_bytes = Some(u64::MAX);
    Transport::Roce(Roce { recovery, window_bytes, rto_ps: 4_000 * PS_PER_US, ..Roce::plain() })
}

fn all_unbounded() -> [Transport; 4] {
    [
        udp(10_000_000_000),
        roce(Recovery::GoBackN { nack_ps: 4 * PS_PER_US }),
        roce(Recovery::Selective { rto_low_ps: 100 * PS_PER_US }),
        Transport::Uec(Uec { law: Law::None, ..Uec::DEFAULT }),
    ]
}

/// Runs a graph whose ranks are the first hosts, or those listed.
fn worked(fabric: &Fabric, text: &str, hosts: &[u32], ordered: bool, settings: Settings) -> Outcome {
    let graph = Arc::new(goal::read_text(text, "w").unwrap());
    let work = PlacedWork { graph, hosts: hosts.to_vec(), start_ps: 0, ordered };
    let jobs = [Workload::Graph(Job { work: work.clone(), transport: 0 })];
    let flows = anabranch_traffic::merged_flows(&jobs, fabric, 1).unwrap();
    let outcome = run(fabric, &flows, &Settings { works: vec![work], ..settings });
    assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
    outcome
}

fn plain(transport: Transport) -> Settings {
    Settings { nic: Nic::RDMA, ..settings(transport) }
}

/// So many messages of so many full frames from rank 0 to rank 1, all ready at once.
fn burst(messages: u32, frames: u64) -> String {
    burst_of(messages, frames * FULL)
}

/// So many messages of so many bytes.
fn burst_of(messages: u32, bytes: u64) -> String {
    let lines = |word: &str, other: u32| -> String {
        (0..messages).map(|tag| format!("m{tag}: {word} {bytes}b {other} tag {tag}\n")).collect()
    };
    let (sends, receives) = (lines("send", 1), lines("recv", 0));
    format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n")
        .replace("b 1 tag", "b to 1 tag")
        .replace("b 0 tag", "b from 0 tag")
}

fn ends_ps(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|record| record.start_ps + record.fct_ps).collect()
}

/// Each ends when its last frame is there, as if all were one message. Side by side all end with the last.
#[test]
fn messages_end_one_after_the_other() {
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    for transport in all_unbounded() {
        for frames in [1, 2, 700] {
            let text = burst(3, frames);
            let ends = |ordered| ends_ps(&worked(&fabric, &text, &[0, 1], ordered, plain(transport.clone())));
            let expected: Vec<u64> = (1..=3).map(|count| message_ps(count * frames)).collect();
            assert_eq!(ends(true), expected, "{transport:?}");
            let side_by_side = ends(false);
            assert!(frames < 3 || side_by_side[0] > message_ps(3 * frames - 10), "{side_by_side:?}");
        }
    }
}

/// Messages of TCP are one stream, to the picosecond also where it loses: the last ends when one message of all their bytes
/// does, each when its last byte is there and none before the one before it, and every segment counts for one of them.
#[test]
fn streams_follow_each_other_on_one_connection() {
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    let plain_tcp = |control| Tcp::plain(control);
    let senders = [
        plain_tcp(Control::NewReno),
        Tcp { sack: true, ..plain_tcp(Control::Cubic { hystart: false }) },
        Tcp { sack: true, rack: true, ..plain_tcp(Control::NewReno) },
    ];
    for (tcp, lost) in senders.into_iter().flat_map(|tcp| [(tcp.clone(), 0.0), (tcp, 0.02)]) {
        let all = |messages, frames| {
            let change = Change { at_ps: 0, what: What::PortLoss(0, lost) };
            let settings = Settings { changes: vec![change], ..plain(Transport::Tcp(tcp.clone())) };
            worked(&fabric, &burst(messages, frames), &[0, 1], true, settings)
        };
        let whole = all(1, 600);
        for frames in [1, 2, 3, 50] {
            let outcome = all(600 / frames as u32, frames);
            let ends = ends_ps(&outcome);
            assert!(ends.is_sorted());
            assert_eq!(*ends.last().unwrap(), ends_ps(&whole)[0], "{frames} {lost} {tcp:?}");
            let sum = |of: fn(&FlowRecord) -> u64| outcome.flows.iter().map(of).sum::<u64>();
            let record = &whole.flows[0];
            assert_eq!(sum(|record| record.sent_packets), record.sent_packets);
            assert_eq!(sum(|record| record.retransmitted_packets), record.retransmitted_packets);
            assert_eq!(sum(|record| record.received_bytes), record.received_bytes);
            for record in &outcome.flows[..outcome.flows.len() - 1] {
                assert_eq!(record.sent_packets, record.delivered_packets + record.lost_packets, "{record:?}");
                assert_eq!(record.received_bytes, frames * FULL);
            }
        }
    }
}

/// No segment has bytes of two messages, sent again or not: all of each is delivered by segments of its own.
#[test]
fn no_segment_has_bytes_of_two_messages() {
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    for sack in [false, true] {
        let tcp = Tcp { sack, ..Tcp::plain(Control::NewReno) };
        let change = Change { at_ps: 0, what: What::PortLoss(0, 0.2) };
        let settings = Settings { changes: vec![change], ..plain(Transport::Tcp(tcp)) };
        let outcome = worked(&fabric, &burst_of(200, 100), &[0, 1], true, settings);
        assert!(outcome.flows.iter().any(|record| record.retransmitted_packets > 0));
        for record in &outcome.flows {
            assert!(
                record.delivered_bytes >= 100 && record.sent_bytes == 100 * record.sent_packets,
                "{record:?}"
            );
        }
    }
}

/// After a timeout a window of one segment lets as many short messages be sent again as it has room for: 1,448 bytes are three
/// messages of 400. They end one frame after the other, and only the fourth waits for an acknowledgement.
#[test]
fn short_messages_are_sent_again_as_far_as_the_window_goes() {
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    let changes = [(0, 1.0), (10 * PS_PER_US, 0.0)]
        .map(|(at_ps, rate)| Change { at_ps, what: What::PortLoss(0, rate) });
    for sack in [false, true] {
        let tcp = Transport::Tcp(Tcp { sack, ..Tcp::plain(Control::NewReno) });
        let settings = Settings { changes: changes.to_vec(), ..plain(tcp) };
        let ends = ends_ps(&worked(&fabric, &burst_of(4, 400), &[0, 1], true, settings));
        let gaps: Vec<u64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let frame_ps = (400 + FRAME_PS / 800 - FULL) * 800;
        assert_eq!(gaps[..2], [frame_ps; 2], "{ends:?}");
        assert!(gaps[2] > 2 * frame_ps, "{ends:?}");
    }
}

/// Ring all-reduce of ranks of which one begins late, by `late_ps`.
fn ring(ranks: u32, frames: u64, late_ns: u64) -> String {
    let bytes = frames * FULL;
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let (next, last) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        text += &format!("rank {rank} {{\nc: calc {}\n", if rank == 3 { late_ns } else { 0 });
        for step in 0..2 * (ranks - 1) {
            text += &format!("s{step}: send {bytes}b to {next} tag {step}\ns{step} requires c\n");
            text += &format!("r{step}: recv {bytes}b from {last} tag {step}\n");
            if step > 0 {
                text += &format!("s{step} requires r{}\n", step - 1);
            }
        }
        text += "}\n";
    }
    text
}

/// One late rank costs a ring its lateness and nothing more: the messages that it could send at once leave in order, so that
/// the first is passed on while the others follow. Side by side they hold each other up.
#[test]
fn a_late_rank_costs_a_ring_its_lateness() {
    let fabric = leaf_spine(1, 1, 8, TEN_GIG);
    let hosts: Vec<u32> = (0..8).collect();
    let (frames, late_ps) = (100, 20_000 * PS_PER_US);
    let text = ring(8, frames, late_ps / 1000);
    for transport in all_unbounded() {
        let end_ps = |ordered| {
            *ends_ps(&worked(&fabric, &text, &hosts, ordered, plain(transport.clone()))).iter().max().unwrap()
        };
        let (least_ps, took_ps) = (14 * message_ps(frames), end_ps(true) - late_ps);
        // Answers, of 84 B for 1538, share the links; datagrams have none.
        let most_ps = if matches!(transport, Transport::Udp(_)) { least_ps } else { least_ps * 1622 / 1538 };
        assert!((least_ps..=most_ps).contains(&took_ps), "{took_ps} {transport:?}");
        assert!(end_ps(false) > late_ps + 20 * message_ps(frames), "{transport:?}");
    }
}

/// The window is the queue pair's: messages under a window of five frames take what one message of all their frames takes.
#[test]
fn messages_share_the_window_of_their_queue_pair() {
    let long = Link { delay_ps: 50 * PS_PER_US, ..TEN_GIG };
    let fabric = leaf_spine(1, 1, 2, long);
    let recovery = Recovery::Selective { rto_low_ps: 4_000 * PS_PER_US };
    let window_bytes = Some(5 * FULL);
    let transport =
        Transport::Roce(Roce { recovery, window_bytes, rto_ps: 4_000 * PS_PER_US, ..Roce::plain() });
    let last_ps = |messages, frames| {
        let text = burst(messages, frames);
        *ends_ps(&worked(&fabric, &text, &[0, 1], true, plain(transport.clone()))).last().unwrap()
    };
    let whole_ps = last_ps(1, 120);
    for frames in [1, 2, 3, 5, 12] {
        assert_eq!(last_ps(120 / frames as u32, frames), whole_ps, "{frames}");
    }
}

/// Where packets are lost, or overtake each other on several paths, messages of a queue pair are delivered in the order in
/// which they were sent, and all are. Side by side they are not.
#[test]
fn messages_arrive_in_the_order_in_which_they_were_sent() {
    let fabric = leaf_spine(2, 4, 2, TEN_GIG);
    let changes = (0..4).map(|spine| {
        let what = What::PortLoss(uplink(2, 4, 2, 0, spine), 0.05);
        Change { at_ps: 0, what }
    });
    let changes: Vec<Change> = changes.collect();
    let spray = Balancing { granularity: Granularity::Packet, ..Balancing::ECMP };
    let text = burst(60, 3);
    let in_turn =
        QueuePairs { count: 2, mode: QueuePairMode::RoundRobin, persistent: true, ..QueuePairs::ONE };
    for mut transport in all_unbounded().into_iter().skip(1) {
        for queue_pairs in [QueuePairs::ONE, QueuePairs { count: 2, ..QueuePairs::ONE }, in_turn] {
            match &mut transport {
                Transport::Roce(roce) => roce.queue_pairs = queue_pairs,
                Transport::Uec(uec) => uec.queue_pairs = queue_pairs,
                Transport::Tcp(_) | Transport::Udp(_) | Transport::Mptcp(_) => unreachable!("RDMA"),
            }
            let streams = if queue_pairs.mode == QueuePairMode::RoundRobin { 2 } else { 1 };
            let is_in_order = |ordered| {
                let settings = Settings {
                    changes: changes.clone(),
                    balancing: spray.clone(),
                    ..plain(transport.clone())
                };
                let ends = ends_ps(&worked(&fabric, &text, &[0, 2], ordered, settings));
                (0..streams).all(|first| {
                    let of_one: Vec<u64> = ends.iter().skip(first).step_by(streams).copied().collect();
                    of_one.is_sorted()
                })
            };
            assert!(is_in_order(true), "{queue_pairs:?} {transport:?}");
            assert!(queue_pairs.persistent || !is_in_order(false), "{queue_pairs:?} {transport:?}");
        }
    }
}
