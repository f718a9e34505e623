//! Ports with classes in whole fabrics: pauses lose nothing, trimmed packets are accounted for, classes share.

use super::setup::*;
use anabranch_balancers::{Granularity, Settings, simulate};
use anabranch_fabric::{Buffer, Fabric, MarkAt, Marking, Node, SharedBuffer, SwitchSettings, Tier};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Nic, Outcome, PortRecord, Progress};
use anabranch_traffic::Flow;
use proptest::prelude::*;

const DATA: usize = 2;

fn sum(outcome: &Outcome, count: fn(&PortRecord) -> u64) -> u64 {
    outcome.ports.iter().map(count).sum()
}

/// Data are never dropped but paused.
fn lossless(shared: SharedBuffer) -> SwitchSettings {
    let mut settings = SwitchSettings { shared: Some(shared), ..SwitchSettings::default() };
    settings.classes[DATA].lossless = true;
    settings
}

/// Data are cut where there is no room.
fn trimming() -> SwitchSettings {
    let mut settings = SwitchSettings { mark_at: MarkAt::Dequeue, ..SwitchSettings::default() };
    settings.classes[DATA].trim = true;
    settings
}

fn with(mut fabric: Fabric, switches: SwitchSettings) -> Fabric {
    fabric.set_switches(Some(switches));
    fabric
}

fn checked(outcome: &Outcome) {
    let totals = outcome.totals;
    let ended = totals.delivered_packets + totals.dropped_packets + totals.lost_packets;
    assert_eq!(totals.sent_packets, ended + totals.packets_left, "{totals:?}");
    for record in &outcome.ports {
        assert!(record.busy_ps <= record.length_ps, "{record:?}");
        let most = u128::from(record.backlog_max_bytes) * u128::from(record.length_ps);
        assert!(record.backlog_byte_ps <= most, "{record:?}");
    }
}

/// Senders that keep their rate, whatever happens: three leaves with three hosts each.
fn incast(fabric: &Fabric, flows: &[Flow], fair: bool, spray: bool) -> Outcome {
    let mut settings: Settings = settings(udp(10_000_000_000));
    settings.nic = if fair { Nic::FAIR } else { Nic::FIFO };
    if spray {
        settings.balancing.granularity = Granularity::Packet;
    }
    let outcome = run(fabric, flows, &settings);
    checked(&outcome);
    outcome
}

/// A lossless class where switches have a pool of so many bytes, beside a guarantee and headroom for each of at most five ports.
fn paused(
    flows: &[Flow],
    (delay_ns, pool_bytes): (u64, u64),
    shared: SharedBuffer,
    fair: bool,
    spray: bool,
) -> Outcome {
    let link = Link { delay_ps: delay_ns * 1000, ..TEN_GIG };
    let (headroom_bytes, guarantee_bytes) = (2 * delay_ns * 10 / 8 + 5 * 1600, 2 * 1518);
    let shared = SharedBuffer {
        bytes: 5 * (headroom_bytes + guarantee_bytes) + pool_bytes,
        guarantee_bytes: guarantee_bytes as u32,
        ..shared
    };
    incast(&with(leaf_spine(3, 2, 3, link), lossless(shared)), flows, fair, spray)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    /// A switch that pauses in time never drops, whoever sends to whom, however small the pool: each ingress has its
    /// headroom. Every pause ends: all bytes arrive.
    #[test]
    fn a_lossless_class_is_never_dropped(
        rows in prop::collection::vec((0..9u32, 1..9u32, 1u64..200_000, 0u64..50), 1..30),
        incast_to in prop::option::of(0..9u32),
        pool_bytes in 0u64..200_000,
        delay_ns in 0u64..3_000,
        pause_alpha in 0.01f64..8.0,
        quantum_us in 10u64..100,
        fair in any::<bool>(),
        spray in any::<bool>(),
    ) {
        let flows: Vec<Flow> = rows
            .into_iter()
            .map(|(src, step, size, start_us)| {
                let dst = incast_to.filter(|&to| to != src).unwrap_or((src + step) % 9);
                flow(src, dst, size, start_us * PS_PER_US)
            })
            .collect();
        let shared = SharedBuffer { pause_alpha, quantum_ps: quantum_us * PS_PER_US, ..SharedBuffer::default() };
        let outcome = paused(&flows, (delay_ns, pool_bytes), shared, fair, spray);
        prop_assert_eq!(outcome.totals.dropped_packets, 0);
        prop_assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
    }

    /// What is cut arrives as a header, unless headers overflow as well, and nothing is lost unaccounted.
    #[test]
    fn trimmed_packets_are_accounted_for(
        senders in 2u32..9,
        size in 1u64..200_000,
        buffer_bytes in 3_000u32..40_000,
        fair in any::<bool>(),
    ) {
        let marking = Marking::Ramp { low_bytes: buffer_bytes / 5, high_bytes: buffer_bytes, probability: 1.0 };
        let link = Link { buffer: Buffer { bytes: buffer_bytes, packets: u32::MAX }, marking, ..TEN_GIG };
        let fabric = with(leaf_spine(3, 2, 3, link), trimming());
        let flows: Vec<Flow> = (1..senders).map(|src| flow(src, 0, size, 0)).collect();
        let outcome = incast(&fabric, &flows, fair, false);
        let trimmed = sum(&outcome, |record| record.trimmed_packets);
        let dropped: u64 = outcome.flows.iter().map(|flow| flow.dropped_packets).sum();
        // UDP has no use for headers.
        prop_assert_eq!(trimmed, dropped);
        if size > 100_000 && senders > 4 {
            prop_assert!(trimmed > 0);
        }
    }
}

/// What a card that jitters has sent when the pause comes arrives as much as a frame later.
#[test]
fn headroom_has_room_for_what_a_card_sent_late() {
    // Found at random: sender, receiver, bytes, start in microseconds. Pauses of host 2 wait for frames from 4.
    #[rustfmt::skip]
    let rows = [
        (0, 4, 1, 0), (6, 4, 1448, 0), (4, 6, 53_324, 1), (7, 4, 1, 0), (5, 4, 9045, 43), (3, 4, 2650, 8), (5, 4, 2843, 9),
        (7, 4, 34_753, 14), (2, 4, 41_445, 7), (4, 2, 39_913, 43), (2, 4, 53_576, 35), (1, 4, 28_053, 33), (0, 4, 78_192, 2),
        (7, 4, 23_087, 0), (6, 4, 39_375, 21),
    ];
    let flows = rows.map(|(src, dst, bytes, start_us)| flow(src, dst, bytes, start_us * PS_PER_US));
    let shared =
        SharedBuffer { pause_alpha: 4.35527264283472, quantum_ps: 10 * PS_PER_US, ..SharedBuffer::default() };
    let dropped =
        |pool_bytes| paused(&flows, (2_695, pool_bytes), shared, true, false).totals.dropped_packets;
    let pools = (0..40_000).step_by(100).filter(|&pool_bytes| dropped(pool_bytes) > 0);
    assert_eq!(pools.collect::<Vec<u64>>(), Vec::<u64>::new());
}

/// TCP gets through pauses and through trimming.
#[test]
fn tcp_finishes_over_any_port() {
    let buffer = Buffer { bytes: 60_000, packets: u32::MAX };
    for switches in [SwitchSettings::default(), trimming(), lossless(SharedBuffer::default())] {
        let fabric = with(leaf_spine(3, 2, 3, Link { buffer, ..TEN_GIG }), switches);
        let flows: Vec<Flow> = (1..9).map(|src| flow(src, 0, 1_000_000, 0)).collect();
        for nic in [Nic::FAIR, Nic::FIFO] {
            let mut settings = settings(Transport::Tcp(Tcp::plain(Control::NewReno)));
            settings.nic = nic;
            let outcome = run(&fabric, &flows, &settings);
            checked(&outcome);
            assert_eq!(outcome.totals.flows_finished, 8, "{switches:?}");
            let trims = switches.classes[DATA].trim;
            assert_eq!(sum(&outcome, |record| record.trimmed_packets) > 0, trims);
        }
    }
}

/// Ports with classes and nothing else do what FIFO ports do, to the picosecond, as long as a single class is sent.
#[test]
fn one_class_is_a_fifo() {
    let buffer = Buffer { bytes: 30_000, packets: u32::MAX };
    let fabric = leaf_spine(3, 2, 3, Link { buffer, ..TEN_GIG });
    let flows: Vec<Flow> = (1..9).map(|src| flow(src, 0, 100_000, u64::from(src) * 1_000)).collect();
    let settings = settings(udp(9_000_000_000));
    let plain = run(&fabric, &flows, &settings);
    let classed = run(&with(fabric, SwitchSettings::default()), &flows, &settings);
    assert!(plain.totals.dropped_packets > 0);
    assert_eq!(plain.flows, classed.flows);
    assert_eq!(plain.ports, classed.ports);
}

/// A pause travels hop by hop: from the leaf that is full over the spines to the hosts, which stop.
#[test]
fn pauses_reach_the_hosts() {
    let shared = SharedBuffer { bytes: 150_000, ..SharedBuffer::default() };
    let fabric = with(leaf_spine(3, 2, 3, TEN_GIG), lossless(shared));
    let flows: Vec<Flow> = (3..9).map(|src| flow(src, 0, 500_000, 0)).collect();
    for fair in [true, false] {
        let outcome = incast(&fabric, &flows, fair, false);
        assert_eq!(outcome.totals.dropped_packets, 0);
        let paused =
            |ports: &[u32]| -> u64 { ports.iter().map(|&port| outcome.ports[port as usize].paused_ps).sum() };
        // Hosts 3 to 8, then spines towards leaf 0.
        let hosts: Vec<u32> = (3..9).map(|host| 2 * host).collect();
        let spines: Vec<u32> = (0..2).map(|spine| uplink(3, 2, 3, 0, spine) + 1).collect();
        for ports in [hosts, spines] {
            assert!(paused(&ports) > 100 * PS_PER_US, "{ports:?}: {} ps", paused(&ports));
        }
        assert!(sum(&outcome, |record| record.pauses_sent) > 10);
        let last_ps = outcome.flows.iter().map(|flow| flow.start_ps + flow.fct_ps).max().unwrap();
        // The link to host 0 is never idle: 6 times 500 kB in 346 frames each.
        let busy_ps = 6 * 346 * 1538 * 800;
        assert!(last_ps < busy_ps + 20 * PS_PER_US, "{last_ps} ps, {busy_ps} ps busy");
    }
}

/// Switches in a ring, each with a host that sends to the host so many switches on: each link is waited for by the link
/// before it.
fn ring(switches: u32) -> Fabric {
    let node = |name, tier| move |index| Node { name: format!("{name}{index}"), tier, pod: None };
    let nodes =
        (0..switches).map(node("host", Tier::Host)).chain((0..switches).map(node("leaf", Tier::Leaf)));
    let hosts = (0..switches).map(|host| (host, switches + host));
    let around = (0..switches).map(|leaf| (switches + leaf, switches + (leaf + 1) % switches));
    fabric(nodes.collect(), &hosts.chain(around).collect::<Vec<_>>(), TEN_GIG)
}

/// A circle of pauses is found and named, in which each port leads to where the next begins; the same traffic over a tree
/// finishes.
#[test]
fn a_deadlock_is_found_and_named() {
    let shared = SharedBuffer { bytes: 300_000, ..SharedBuffer::default() };
    let flows: Vec<Flow> = (0..7).map(|src| flow(src, (src + 3) % 7, 1_000_000, 0)).collect();
    let settings = settings(udp(10_000_000_000));
    let ring = with(ring(7), lossless(shared));
    let error = simulate(&ring, &flows, &settings, &Progress::default()).unwrap_err().to_string();
    assert!(error.starts_with("deadlock at "), "{error}");
    for leaf in 0..7 {
        let port = format!("leaf{leaf} -> leaf{}", (leaf + 1) % 7);
        assert!(error.contains(&port), "{port}: {error}");
    }
    let tree = with(leaf_spine(7, 1, 1, TEN_GIG), lossless(shared));
    let outcome = run(&tree, &flows, &settings);
    assert_eq!((outcome.totals.flows_finished, outcome.totals.dropped_packets), (7, 0));
    // Without pauses the ring drops, and nothing waits for ever.
    let lossy = SwitchSettings { shared: Some(shared), ..SwitchSettings::default() };
    let outcome = run(&with(ring, lossy), &flows, &settings);
    assert!(outcome.totals.dropped_packets > 0);
}
