//! MPTCP on several threads: subflows share what their flow has to send, and their receivers what has arrived of it.

use super::partitions::{fat_tree, leaf_spine};
use super::setup::*;
use super::threads::{bursts, by_lot, changes, compare, long_links, outcome, settings_of, short};
use super::threads_of_jobs::{relay, ring};
use anabranch_balancers::{Settings, Table, Task};
use anabranch_fabric::Fabric;
use anabranch_sim::transport::{Control, Coupling, Mptcp, Tcp, Transport};
use anabranch_sim::{Outcome, Partition, Progress};
use anabranch_traffic::{Flow, Start};

/// MPTCP whose timeouts are short: what a subflow has outstanding then goes over the others too.
fn mptcp(subflows: u8, coupling: Coupling, rto_ps: u64) -> Transport {
    let tcp = Tcp { rto_min_ps: rto_ps, rto_initial_ps: rto_ps, ..Tcp::plain(Control::NewReno) };
    Transport::Mptcp(Mptcp { tcp, subflows, coupling })
}

fn settings_over(transport: Transport, fabric: &Fabric, seed: u64) -> Settings {
    let settings = settings_of(Table::Uniform, changes(fabric), seed);
    Settings { transports: vec![transport], ..settings }
}

/// Outcome of one thread, to which that of each cut is equal.
fn same_bits(fabric: &Fabric, flows: &[Flow], settings: &Settings, what: &str) -> Outcome {
    let whole = outcome(fabric, flows, settings, None);
    let by_leaves = [2, 3].map(|parts| Partition::by_leaves(fabric, parts));
    let by_lot = [2, 5].map(|parts| by_lot(fabric, settings.seed, parts));
    for (number, cut) in by_leaves.iter().chain(&by_lot).enumerate() {
        let parts = outcome(fabric, flows, settings, Some(cut));
        compare(&whole, &parts, &format!("{what}, cut {number}"));
    }
    whole
}

fn sent_again(outcome: &Outcome) -> u64 {
    outcome.flows.iter().map(|record| record.retransmitted_packets).sum()
}

#[test]
fn subflows_have_the_same_bits() {
    let (flat, tiers) = (leaf_spine(), fat_tree());
    let runs = [
        (&flat, mptcp(8, Coupling::Lia, 300 * PS_PER_US)),
        (&flat, mptcp(3, Coupling::Uncoupled, 150 * PS_PER_US)),
        (&tiers, mptcp(4, Coupling::Lia, 150 * PS_PER_US)),
        (&tiers, mptcp(1, Coupling::Lia, 300 * PS_PER_US)),
    ];
    for (seed, (fabric, transport)) in (0..).zip(runs) {
        let settings = settings_over(transport, fabric, seed);
        let whole = same_bits(fabric, &bursts(fabric), &settings, &format!("run {seed}"));
        assert!(whole.totals.dropped_packets > 100 && whole.totals.lost_packets > 100);
        assert!(sent_again(&whole) > 300 && whole.totals.flows_finished > 100);
    }
}

/// A round trip takes 80 us, a segment is sent again after 15 and 45 us: by then it may have gone over another subflow, and its
/// flow has ended.
#[test]
fn subflows_close_for_both_parts_at_once() {
    let fabric = long_links();
    for (seed, flows) in (1..).zip([short(&fabric), bursts(&fabric)]) {
        let mut transport = mptcp(3, Coupling::Lia, 15 * PS_PER_US);
        if let Transport::Mptcp(Mptcp { tcp, .. }) = &mut transport {
            // Receivers wait with answers to what others have answered meanwhile.
            (tcp.ack_every, tcp.ack_delay_ps) = (2, 60 * PS_PER_US);
        }
        let settings = Settings { changes: Vec::new(), ..settings_over(transport, &fabric, seed) };
        let whole = same_bits(&fabric, &flows, &settings, &format!("seed {seed}"));
        assert!(sent_again(&whole) > 1000);
    }
}

/// Runs that end in the middle of a flow, and with the last of few.
#[test]
fn parts_of_subflows_end_with_the_whole() {
    let fabric = leaf_spine();
    let last = fabric.hosts() - 1;
    let flows = [flow(0, last, 400_000, 0), flow(last, 0, 900_000, 7_000), flow(1, last, 1, 2 * PS_PER_US)];
    for end_ps in [40_000 * PS_PER_US, 300 * PS_PER_US + 1] {
        for count in 1..=flows.len() {
            let transport = mptcp(4, Coupling::Lia, 300 * PS_PER_US);
            let settings = Settings { end_ps, changes: Vec::new(), ..settings_over(transport, &fabric, 1) };
            same_bits(&fabric, &flows[..count], &settings, &format!("{count} flows"));
        }
    }
}

/// Flows and ranks that wait for what their own host receives.
#[test]
fn rings_over_subflows_have_the_same_bits() {
    let fabric = leaf_spine();
    let transport = || mptcp(3, Coupling::Lia, 300 * PS_PER_US);
    let whole = same_bits(&fabric, &ring(&fabric, 400_000), &settings_over(transport(), &fabric, 2), "ring");
    assert!(whole.totals.flows_finished > 100);
    let (flows, settings) = relay(&fabric, transport(), false);
    let whole = same_bits(&fabric, &flows, &settings, "relay");
    assert!(whole.totals.flows_finished > 80);
}

#[test]
fn what_subflows_cannot_do_in_parts_takes_one_thread() {
    let fabric = leaf_spine();
    let last = fabric.hosts() - 1;
    let reason = |flows: &[Flow], settings: &Settings| {
        let (flows, progress) = (flows.to_vec(), Progress::default());
        let cut = Partition::by_leaves(&fabric, 2);
        Task::new(&fabric, &flows, settings, &progress).unwrap().one_thread(&cut).unwrap_or_default()
    };
    let over = |subflows| settings_over(mptcp(subflows, Coupling::Lia, PS_PER_US), &fabric, 1);
    let one = flow(0, last, 1000, 0);
    assert_eq!(reason(&[one], &over(64)), "");
    assert!(reason(&[one], &over(65)).contains("64 subflows"));
    let after = Flow { start: Start::After { flow: 0, delay_ps: 0 }, ..flow(0, 1, 1000, 0) };
    assert!(reason(&[one, after], &over(2)).contains("over MPTCP"));
    let (flows, settings) = relay(&fabric, mptcp(2, Coupling::Lia, PS_PER_US), true);
    assert!(reason(&flows, &settings).contains("follow each other"));
}
