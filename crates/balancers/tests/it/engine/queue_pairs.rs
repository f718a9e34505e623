//! Several queue pairs for a message or for two hosts: what hashing makes of them, and that messages stay whole.

use super::setup::{Link, PS_PER_US, TEN_GIG, flow, leaf_spine, run, settings, uplink};
use anabranch_balancers::Settings;
use anabranch_sim::transport::control::{Law, TimelySettings};
use anabranch_sim::transport::roce::{Completion, Recovery, Roce};
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{QueuePairMode, QueuePairs, Transport};
use anabranch_sim::{Nic, Outcome};
use anabranch_traffic::Flow;

const HUNDRED_GIG: Link = Link { rate_bps: 100_000_000_000, ..TEN_GIG };
/// Frames around a full payload.
const FRAME_BYTES: u64 = 1518;

fn split(count: u8) -> QueuePairs {
    QueuePairs { count, ..QueuePairs::ONE }
}

fn kept(count: u8, mode: QueuePairMode) -> QueuePairs {
    QueuePairs { count, mode, persistent: true, ..QueuePairs::ONE }
}

fn roce(queue_pairs: QueuePairs) -> Transport {
    Transport::Roce(Roce { queue_pairs, ..Roce::plain() })
}

fn uec(queue_pairs: QueuePairs) -> Transport {
    Transport::Uec(Uec { queue_pairs, ..Uec::DEFAULT })
}

fn over(transport: Transport, seed: u64) -> Settings {
    Settings { seed, nic: Nic::RDMA, ..settings(transport) }
}

fn whole(outcome: &Outcome, flows: &[Flow]) {
    assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
    for (record, flow) in outcome.flows.iter().zip(flows) {
        assert_ne!(record.fct_ps, u64::MAX);
        assert_eq!(record.received_bytes, flow.size_bytes);
        assert_eq!(
            record.sent_packets,
            record.delivered_packets + record.dropped_packets + record.lost_packets
        );
        assert_eq!(record.sent_bytes, record.delivered_bytes + record.dropped_bytes + record.lost_bytes);
    }
}

/// Bytes on each uplink of the first leaf.
fn uplinks(outcome: &Outcome, leaves: u32, spines: u32, hosts_per_leaf: u32) -> Vec<u64> {
    let of = |port| {
        outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_bytes).sum()
    };
    (0..spines).map(|spine| of(uplink(leaves, spines, hosts_per_leaf, 0, spine))).collect()
}

/// Balls into bins: each of N queue pairs of a message is a ball, thrown by the hash of its own port. With one message of 32
/// full frames a queue pair the uplinks carry multiples of 32 frames, the mean of the largest share over 400 seeds is the
/// expected maximum load (computed exactly by inclusion of all outcomes), and falls with N.
#[test]
fn uplinks_carry_balls_in_bins() {
    const SEEDS: u64 = 400;
    let fabric = leaf_spine(2, 4, 1, HUNDRED_GIG);
    for transport in [roce, uec] {
        for count in [1u8, 2, 4, 8] {
            let flows = [flow(0, 1, u64::from(count) * 32 * 1448, 0)];
            let (mut sum, mut square) = (0.0, 0.0);
            for seed in 0..SEEDS {
                let outcome = run(&fabric, &flows, &over(transport(split(count)), seed));
                whole(&outcome, &flows);
                let bytes = uplinks(&outcome, 2, 4, 1);
                assert!(bytes.iter().all(|bytes| bytes % (32 * FRAME_BYTES) == 0), "{bytes:?}");
                let most = bytes.iter().max().unwrap() / (32 * FRAME_BYTES);
                assert_eq!(bytes.iter().sum::<u64>(), u64::from(count) * 32 * FRAME_BYTES);
                sum += most as f64;
                square += (most * most) as f64;
            }
            let mean = sum / SEEDS as f64;
            let error = ((square / SEEDS as f64 - mean * mean) / SEEDS as f64).sqrt();
            let expected = most_in_a_bin(count.into(), 4);
            assert!(
                (mean - expected).abs() <= 4.0 * error + 1e-9,
                "{count}: {mean} +- {error}, not {expected}"
            );
        }
    }
}

/// Expected largest number of so many balls in one of so many bins: over all outcomes.
fn most_in_a_bin(balls: u32, bins: u64) -> f64 {
    let outcomes = bins.pow(balls);
    let most = |mut outcome: u64| {
        let mut load = vec![0u64; bins as usize];
        for _ in 0..balls {
            load[(outcome % bins) as usize] += 1;
            outcome /= bins;
        }
        load.into_iter().max().unwrap_or(0)
    };
    (0..outcomes).map(|outcome| most(outcome) as f64).sum::<f64>() / outcomes as f64
}

/// On one path nothing is gained: N queue pairs share the card, and a message takes what it takes over one. Parts are
/// multiples of 128 B; every part ends with a frame of its own.
#[test]
fn a_message_over_one_path_takes_its_bytes_whatever_its_queue_pairs() {
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    let frames = 240;
    let flows = [flow(0, 1, frames * 1448, 0)];
    for completion in [Completion::Delivered, Completion::Acknowledged] {
        for count in [1, 2, 3, 8] {
            let transport = Transport::Roce(Roce { completion, queue_pairs: split(count), ..Roce::plain() });
            let outcome = run(&fabric, &flows, &over(transport, 1));
            whole(&outcome, &flows);
            let part_bytes = (frames * 1448).div_ceil(count.into()).div_ceil(128) * 128;
            let last_bytes = frames * 1448 - (u64::from(count) - 1) * part_bytes;
            let packets = (u64::from(count) - 1) * part_bytes.div_ceil(1448) + last_bytes.div_ceil(1448);
            assert_eq!(outcome.flows[0].sent_packets, packets);
            let wire_bytes = frames * 1448 + packets * 90;
            let answer_ps =
                if completion == Completion::Acknowledged { 2 * PS_PER_US + 2 * 84 * 800 } else { 0 };
            let least_ps = 2 * PS_PER_US + wire_bytes * 800 + answer_ps;
            // The last frame is stored once more.
            let fct_ps = outcome.flows[0].fct_ps;
            assert!(least_ps < fct_ps && fct_ps <= least_ps + 1538 * 800, "{count}: {fct_ps} {least_ps}");
        }
    }
}

/// Messages of two hosts take persistent queue pairs in turn: message k has the path of k modulo N. Those on the same queue
/// pair follow each other without a gap, and nobody waits for anything but the card.
#[test]
fn messages_take_kept_queue_pairs_in_turn() {
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    let flows: Vec<Flow> = (0..6).map(|_| flow(0, 1, 1448, 0)).collect();
    for count in [1, 6] {
        let outcome = run(&fabric, &flows, &over(roce(kept(count, QueuePairMode::RoundRobin)), 1));
        whole(&outcome, &flows);
        for (number, record) in (0..).zip(&outcome.flows) {
            assert_eq!(record.fct_ps, 2 * PS_PER_US + 2 * 1538 * 800 + number * 1538 * 800);
        }
    }
}

/// A kept queue pair has one path for good: a hundred messages over N of them meet at most N uplinks, and as many bytes on
/// each as the messages that are its turn; over new ones they meet all.
#[test]
fn kept_queue_pairs_keep_their_path() {
    let fabric = leaf_spine(2, 8, 1, HUNDRED_GIG);
    let flows: Vec<Flow> = (0..120).map(|number| flow(0, 1, 30 * 1448, number * 20 * PS_PER_US)).collect();
    for transport in [roce, uec] {
        for count in [1u8, 3] {
            let outcome = run(&fabric, &flows, &over(transport(kept(count, QueuePairMode::RoundRobin)), 3));
            whole(&outcome, &flows);
            let used: Vec<u64> = uplinks(&outcome, 2, 8, 1).into_iter().filter(|&bytes| bytes > 0).collect();
            assert!(used.len() <= usize::from(count), "{used:?}");
            let share = 120 / u64::from(count) * 30 * FRAME_BYTES;
            assert!(used.iter().all(|bytes| bytes % share == 0), "{used:?}");
            let parts = run(&fabric, &flows, &over(transport(kept(count, QueuePairMode::Split)), 3));
            whole(&parts, &flows);
            assert!(
                uplinks(&parts, 2, 8, 1).iter().filter(|&&bytes| bytes > 0).count() <= usize::from(count)
            );
        }
        let outcome = run(&fabric, &flows, &over(transport(split(1)), 3));
        assert!(uplinks(&outcome, 2, 8, 1).iter().all(|&bytes| bytes > 0));
    }
}

/// A kept queue pair keeps its congestion control: after two senders have shared a receiver's link by TIMELY, a message
/// begins with the rate that was left of that; on a new queue pair it goes at the link's.
#[test]
fn kept_queue_pairs_keep_their_rate() {
    let fabric = leaf_spine(1, 1, 3, TEN_GIG);
    // The second message of host 0 begins when both first ones have ended.
    let flows = [flow(0, 2, 2_000_000, 0), flow(1, 2, 2_000_000, 0), flow(0, 2, 300_000, 50_000 * PS_PER_US)];
    let fct_ps = |law, queue_pairs| {
        let transport = Transport::Roce(Roce { law, queue_pairs, ..Roce::plain() });
        let outcome = run(&fabric, &flows, &over(transport, 1));
        whole(&outcome, &flows);
        assert!(outcome.flows[..2].iter().all(|record| record.fct_ps < 50_000 * PS_PER_US));
        outcome.flows[2].fct_ps
    };
    let timely = Law::Timely(TimelySettings::DEFAULT);
    let alone_ps = fct_ps(Law::None, split(1));
    let (fresh_ps, kept_ps) = (fct_ps(timely, split(1)), fct_ps(timely, kept(1, QueuePairMode::Split)));
    assert_eq!(fresh_ps, alone_ps);
    assert!(kept_ps as f64 > 1.5 * fresh_ps as f64, "{kept_ps} {fresh_ps}");
}

/// So does a context of UEC: the window of NSCC that was left of many senders to one receiver is less than that of a new one.
#[test]
fn kept_contexts_keep_their_window() {
    let fabric = leaf_spine(1, 1, 9, TEN_GIG);
    let mut flows: Vec<Flow> = (0..8).map(|host| flow(host, 8, 500_000, 0)).collect();
    flows.push(flow(0, 8, 300_000, 50_000 * PS_PER_US));
    let fct_ps = |queue_pairs| {
        let outcome = run(&fabric, &flows, &over(uec(queue_pairs), 1));
        whole(&outcome, &flows);
        assert!(outcome.flows[..8].iter().all(|record| record.fct_ps < 50_000 * PS_PER_US));
        outcome.flows[8].fct_ps
    };
    let (fresh_ps, kept_ps) = (fct_ps(split(1)), fct_ps(kept(1, QueuePairMode::Split)));
    assert!(kept_ps as f64 > 1.05 * fresh_ps as f64, "{kept_ps} {fresh_ps}");
}

/// Losses: only the parts that lost something send again, counters are the sums, and every message ends; also where the
/// engine stops while some are under way.
#[test]
fn counters_are_sums_over_parts() {
    let fabric = leaf_spine(2, 4, 4, HUNDRED_GIG);
    let mut flows: Vec<Flow> = (0..40).map(|number| flow(number % 4, 4 + number % 3, 100_000, 0)).collect();
    // The last one begins when nothing of the others is under way, not even what was sent twice.
    flows.push(flow(3, 7, 1448, 100_000 * PS_PER_US));
    let lossy = |transport, end_ps| {
        let lossy = (0..4).map(|spine| uplink(2, 4, 4, 0, spine));
        let what = anabranch_fabric::What::PortLoss;
        let changes =
            lossy.map(|port| anabranch_fabric::Change { at_ps: 0, what: what(port, 0.01) }).collect();
        Settings { changes, end_ps, ..over(transport, 5) }
    };
    let selective = |queue_pairs| {
        let recovery = Recovery::Selective { rto_low_ps: 100 * PS_PER_US };
        Transport::Roce(Roce { recovery, queue_pairs, rto_ps: 320 * PS_PER_US, ..Roce::plain() })
    };
    for transport in [roce, uec, selective] {
        for pairs in [split(4), kept(2, QueuePairMode::RoundRobin), kept(3, QueuePairMode::Split)] {
            let outcome = run(&fabric, &flows, &lossy(transport(pairs), u64::MAX));
            whole(&outcome, &flows);
            let sum = |of: fn(&anabranch_sim::FlowRecord) -> u64| outcome.flows.iter().map(of).sum::<u64>();
            assert!(sum(|record| record.lost_packets) > 0);
            assert!(sum(|record| record.retransmitted_packets) >= sum(|record| record.lost_packets));
            let first = sum(|record| record.sent_packets) - sum(|record| record.retransmitted_packets);
            let least: u64 = flows.iter().map(|flow| flow.size_bytes.div_ceil(1448)).sum();
            assert!((least..=least + 4 * 40).contains(&first), "{first} {least}");
            let stopped = run(&fabric, &flows, &lossy(transport(pairs), 60 * PS_PER_US));
            let begun: u64 = stopped.flows.iter().map(|record| record.sent_packets).sum();
            let ended: u64 = stopped
                .flows
                .iter()
                .map(|record| record.delivered_packets + record.dropped_packets + record.lost_packets)
                .sum();
            assert!(begun > 0 && ended <= begun && stopped.totals.flows_finished < 40);
            assert!(stopped.flows.iter().all(|record| record.received_bytes <= 100_000));
            assert!(stopped.flows.iter().any(|record| record.received_bytes > 0));
        }
    }
}
