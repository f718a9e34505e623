//! Queues: M/D/1, DCTCP's oscillation, and the collisions of ECMP.

use super::setup::*;
use anabranch_fabric::{Buffer, Marking};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Framing, Observe};
use anabranch_traffic::random::Stream;

/// Mean number in an M/D/1 system (Pollaczek-Khinchine): rho + rho^2 / (2 (1 - rho)).
#[test]
fn poisson_datagrams_queue_as_m_d_1() {
    let fabric = leaf_spine(2, 1, 1, TEN_GIG);
    let payload = 1448;
    let service_ps = 1538 * 800;
    for (load, datagrams) in [(0.5, 200_000), (0.8, 800_000)] {
        let mut stream = Stream::new(3, "M/D/1");
        let mut now_ps = 0.0;
        let flows: Vec<_> = (0..datagrams)
            .map(|_| {
                now_ps += stream.exponential(f64::from(service_ps) / load);
                flow(0, 1, payload, now_ps as u64)
            })
            .collect();
        let outcome = run(&fabric, &flows, &settings(udp(10_000_000_000)));
        let port = outcome.ports[0];
        let frame = f64::from(Framing::ETHERNET.frame_bytes(payload as u16));
        let mean = port.backlog_byte_ps as f64 / port.length_ps as f64 / frame;
        let expected = load + load * load / (2.0 * (1.0 - load));
        assert!((mean / expected - 1.0).abs() < 0.02, "load {load}: {mean} against {expected}");
    }
}

/// DCTCP's queue swings below K + N packets with the amplitude of SIGCOMM 2010, section 3.3:
/// sqrt(2 N (C RTT + K)) / 2 for N synchronised flows.
#[test]
fn dctcp_keeps_the_queue_near_its_threshold() {
    let (k, n) = (65u32, 2u32);
    let link = Link {
        // 25 us a hop: a round trip of 200 us, 162 packets of bandwidth-delay product.
        delay_ps: 25 * PS_PER_US,
        buffer: Buffer { bytes: u32::MAX, packets: 1000 },
        marking: Marking::Step { bytes: u32::MAX, packets: k },
        ..TEN_GIG
    };
    let fabric = leaf_spine(3, 1, 1, link);
    let flows = [flow(0, 2, 300_000_000, 0), flow(1, 2, 300_000_000, 0)];
    // Both flows meet at the spine, on the way to leaf 2.
    let bottleneck = uplink(3, 1, 1, 2, 0) + 1;
    let mut settings = settings(Transport::Tcp(Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 })));
    settings.end_ps = 200_000 * PS_PER_US;
    settings.observe =
        Observe { queue_ports: vec![bottleneck], queue_sample_ps: 5 * PS_PER_US, ..Observe::default() };
    let outcome = run(&fabric, &flows, &settings);
    let steady = outcome.queues.iter().filter(|sample| sample.time_ps > 50_000 * PS_PER_US);
    let packets: Vec<f64> = steady.map(|sample| sample.backlog_bytes as f64 / 1518.0).collect();
    let (low, high) = packets.iter().fold((f64::MAX, 0.0f64), |(l, h), &p| (l.min(p), h.max(p)));
    let bdp = 1e10 * 208e-6 / 8.0 / 1538.0;
    let amplitude = 0.5 * (2.0 * f64::from(n) * (bdp + f64::from(k))).sqrt();
    assert!(high <= f64::from(k + n) + 4.0, "highest {high}");
    assert!(low > 0.0, "the link never idles");
    assert!(
        (high - low) > 0.5 * amplitude && (high - low) < 3.0 * amplitude,
        "{low} to {high}, formula {amplitude}"
    );
}

/// Two flows over four paths collide with probability 1/4.
#[test]
fn two_flows_collide_as_often_as_two_dice() {
    let (leaves, spines, hosts) = (2, 4, 2);
    let fabric = leaf_spine(leaves, spines, hosts, TEN_GIG);
    let trials = 4_000;
    let mut collisions = 0;
    for seed in 0..trials {
        let mut settings = settings(udp(10_000_000_000));
        settings.seed = seed;
        let outcome = run(&fabric, &[flow(0, 2, 100, 0), flow(1, 3, 100, 0)], &settings);
        let used = (0..spines)
            .filter(|&s| outcome.ports[uplink(leaves, spines, hosts, 0, s) as usize].sent_packets > 0)
            .count();
        collisions += u32::from(used == 1);
    }
    let (expected, deviation) = (trials as f64 / 4.0, (trials as f64 * 3.0 / 16.0).sqrt());
    assert!((f64::from(collisions) - expected).abs() < 4.0 * deviation, "{collisions} of {trials}");
}
