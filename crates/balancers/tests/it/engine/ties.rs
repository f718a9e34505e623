//! Phase locks and their breaking: who loses must not hang on who is numbered first or began a moment earlier.

use super::setup::*;
use anabranch_balancers::Settings;
use anabranch_fabric::Buffer;
use anabranch_sim::Nic;
use anabranch_sim::transport::{Control, Tcp, Transport};

/// Packets delivered of two flows of 10 Gbit/s into one link of 10 Gbit/s, the second a moment later.
fn shares(nic: Nic, seed: u64, later_ps: u64) -> [u64; 2] {
    let link = Link { buffer: Buffer { packets: 100, ..Buffer::UNLIMITED }, ..TEN_GIG };
    let fabric = leaf_spine(3, 1, 1, link);
    let flows = [flow(0, 2, 50_000_000, 0), flow(1, 2, 50_000_000, later_ps)];
    let mut settings = Settings { seed, nic, ..settings(udp(10_000_000_000)) };
    settings.end_ps = 12_000 * PS_PER_US;
    settings.observe.capture_ports = vec![5];
    settings.observe.capture_packets_max = u64::MAX;
    let outcome = run(&fabric, &flows, &settings);
    let of = |flow| outcome.captures.iter().filter(|capture| capture.flow == flow).count() as u64;
    [of(0), of(1)]
}

#[test]
fn two_equal_flows_share_a_link_in_every_seed() {
    let [first, second] = shares(Nic { jitter: false, ..Nic::FAIR }, 1, 700_000);
    assert!(first.max(second) > 10 * first.min(second), "{first} and {second}: they lock without jitter");
    for nic in [Nic::FAIR, Nic { jitter: true, ..Nic::FIFO }] {
        for seed in 0..10 {
            for later_ps in [0, 700_000] {
                let [first, second] = shares(nic, seed, later_ps);
                let share = first as f64 / (first + second) as f64;
                assert!(
                    (0.4..=0.6).contains(&share),
                    "seed {seed}, {later_ps} ps later: {first} and {second}"
                );
            }
        }
    }
}

/// How much the mean completion time of the worst leaf of an incast differs from the mean of all, over seeds.
fn leaf_bias(nic: Nic, seeds: std::ops::Range<u64>) -> f64 {
    const SENDERS: u32 = 8;
    let fabric = leaf_spine(SENDERS + 1, 1, 1, TEN_GIG);
    let flows: Vec<_> = (0..20u64)
        .flat_map(|round| {
            (0..SENDERS).map(move |leaf| flow(leaf, SENDERS, 14_480, round * 1_000 * PS_PER_US))
        })
        .collect();
    let mut sums = vec![0.0; SENDERS as usize];
    for seed in seeds {
        let tcp = Transport::Tcp(Tcp::plain(Control::NewReno));
        let outcome = run(&fabric, &flows, &Settings { seed, nic, ..settings(tcp) });
        for (flow, record) in flows.iter().zip(&outcome.flows) {
            sums[flow.src as usize] += record.fct_ps as f64;
        }
    }
    let mean = sums.iter().sum::<f64>() / sums.len() as f64;
    sums.iter().map(|sum| (sum / mean - 1.0).abs()).fold(0.0, f64::max)
}

/// Without jitter the order of the ports decides every round of a seed alike.
#[test]
fn an_incast_does_not_prefer_any_leaf() {
    let (locked, loose) = (leaf_bias(Nic::FIFO, 1..2), leaf_bias(Nic::FAIR, 0..20));
    assert!(locked > 0.02 && loose < 0.01, "{locked} without jitter, {loose} with it");
}
