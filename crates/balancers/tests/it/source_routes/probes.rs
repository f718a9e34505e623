//! Probes are packets: as many and as large as the schemes say, on the paths that they name.

use crate::engine::setup::*;
use anabranch_balancers::luopan::parameters::Luopan;
use anabranch_balancers::luopan::pick::probe::Probing;
use anabranch_balancers::tdlb::parameters::{DelayFeedback, Tdlb};
use anabranch_balancers::{Balancing, Scheme, Settings};
use anabranch_fabric::Fabric;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{CapturedPacket, Kind, Outcome};

const LEAVES: u32 = 2;
const SPINES: u32 = 4;
const END_US: u64 = 4_000;

fn fabric() -> Fabric {
    leaf_spine(LEAVES, SPINES, 1, Link { delay_ps: 5 * PS_PER_US, ..TEN_GIG })
}

/// One flow from leaf 0 to leaf 1; everything that leaves leaf 0's uplinks is captured.
fn captured(scheme: Scheme) -> Outcome {
    let mut settings = Settings {
        balancing: Balancing { scheme, ..Balancing::ECMP },
        end_ps: END_US * PS_PER_US,
        ..settings(Transport::Tcp(Tcp::plain(Control::NewReno)))
    };
    settings.observe.capture_ports = (0..SPINES).map(|spine| uplink(LEAVES, SPINES, 1, 0, spine)).collect();
    settings.observe.capture_packets_max = u64::MAX;
    run(&fabric(), &[flow(0, 1, 1 << 30, 0)], &settings)
}

fn probes(outcome: &Outcome) -> Vec<&CapturedPacket> {
    outcome.captures.iter().filter(|capture| capture.packet.kind == Kind::Probe).collect()
}

/// Number of probes that left each uplink.
fn by_uplink(probes: &[&CapturedPacket]) -> [usize; SPINES as usize] {
    [0, 1, 2, 3]
        .map(|spine| probes.iter().filter(|probe| probe.port == uplink(LEAVES, SPINES, 1, 0, spine)).count())
}

#[test]
fn luopan_sends_two_probes_and_two_answers_every_40_us() {
    let outcome = captured(Scheme::new(Luopan::default()));
    let probes = probes(&outcome);
    assert!(probes.iter().all(|probe| probe.packet.frame_bytes == 64));
    // Own probes, and answers to those of leaf 1, which acknowledges and so sends flowcells of its own.
    let share = Probing {
        destinations: 1,
        samples: 2,
        expiry_ns: 40_000,
        probe_bytes: 64,
        uplinks: SPINES,
        rate_bps: 10_000_000_000,
    };
    let counted =
        |what: &str| outcome.counts.iter().find(|(name, _)| name.starts_with(what)).map(|&(_, count)| count);
    // Up and down again; those on their way at the end have arrived at no switch, or at one.
    let (sent, bytes) = (counted("probes sent").unwrap(), counted("bytes of probes").unwrap());
    assert!(bytes <= 2 * 64 * sent && bytes + 8 * 2 * 64 >= 2 * 64 * sent, "{sent} probes, {bytes} bytes");
    let bytes = 64.0 * probes.len() as f64;
    let capacity = f64::from(SPINES) * 10e9 / 8.0 * END_US as f64 / 1e6;
    let formula = 2.0 * share.share_ppm() as f64 / 1e6;
    assert!((bytes / capacity / formula - 1.0).abs() < 0.03, "{} of {formula}", bytes / capacity);
    // Half of 400 probes and answers would be 100 a path; a standard deviation of such a draw is 7.
    assert!(by_uplink(&probes).iter().all(|count| (75..=125).contains(count)), "{:?}", by_uplink(&probes));
    let sent: u64 = outcome.ports.iter().map(|port| port.sent_packets).sum();
    assert_eq!(sent, outcome.totals.packet_hops);
}

#[test]
fn an_idle_fabric_falls_silent() {
    let settings = Settings {
        balancing: Balancing { scheme: Scheme::new(Luopan::default()), ..Balancing::ECMP },
        ..settings(Transport::Tcp(Tcp::plain(Control::NewReno)))
    };
    // The second flow never begins before 50 ms: probes of 2 leaves end 1 ms after the first, and begin again.
    let outcome = run(&fabric(), &[flow(0, 1, 100_000, 0), flow(0, 1, 1_000, 50_000 * PS_PER_US)], &settings);
    let data_and_acks = 2 * 70 + 2;
    let probes = outcome.totals.sent_packets - data_and_acks;
    // A round is two probes and two answers; two leaves probe for little more than a millisecond, 25 rounds.
    assert!((150..=260).contains(&probes), "{probes}");
}

#[test]
fn probes_wait_in_the_queues_that_they_measure() {
    // Spine 0's port to leaf 1 is slow: what TDLB's probes tell is that it takes long, and Luopan's that it is full.
    for (scheme, most) in [(Scheme::new(Luopan::default()), 0.15), (Scheme::new(Tdlb::default()), 0.30)] {
        let mut settings = Settings {
            balancing: Balancing { scheme, ..Balancing::ECMP },
            ..settings(Transport::Tcp(Tcp::plain(Control::NewReno)))
        };
        let slow = anabranch_fabric::Rate::from_bps(1_000_000_000).unwrap();
        let down = uplink(2, 4, 4, 1, 0) + 1;
        settings.changes =
            vec![anabranch_fabric::Change { at_ps: 0, what: anabranch_fabric::What::PortRate(down, slow) }];
        settings.end_ps = 20_000 * PS_PER_US;
        let fabric = leaf_spine(2, 4, 4, Link { delay_ps: 5 * PS_PER_US, ..TEN_GIG });
        let flows: Vec<_> =
            (0..400).map(|i| flow(i % 4, 4 + (i / 4) % 4, 150_000, u64::from(i) * 50 * PS_PER_US)).collect();
        let outcome = run(&fabric, &flows, &settings);
        let sent = [0, 1, 2, 3].map(|s| outcome.ports[uplink(2, 4, 4, 0, s) as usize].sent_bytes as f64);
        let share = sent[0] / sent.iter().sum::<f64>();
        assert!(share < most, "{:?}: {share} of the bytes over the slow path", settings.balancing.scheme);
    }
}

#[test]
fn tdlb_probes_every_path_every_period_and_echoes() {
    let outcome = captured(Scheme::new(Tdlb::default()));
    let echoed = probes(&outcome);
    // 40 periods: a probe and an answer on each of four paths.
    assert!(by_uplink(&echoed).iter().all(|count| (78..=82).contains(count)), "{:?}", by_uplink(&echoed));
    assert!(echoed.iter().all(|probe| probe.packet.frame_bytes == 64));
    let outcome = captured(Scheme::new(Tdlb { feedback: DelayFeedback::Symmetric, ..Tdlb::default() }));
    let alone = probes(&outcome);
    assert!(by_uplink(&alone).iter().all(|count| (39..=41).contains(count)), "{:?}", by_uplink(&alone));
}
