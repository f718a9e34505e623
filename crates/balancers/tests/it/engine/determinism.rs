//! Same arguments, same bits.

use super::setup::*;
use anabranch_balancers::{Granularity, Settings, Table};
use anabranch_fabric::{Buffer, Marking};
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;
use anabranch_traffic::random::Stream;

/// 64 web-like flows over four leaves with small buffers: drops, marks and timeouts.
fn busy() -> (anabranch_fabric::Fabric, Vec<Flow>, Settings) {
    let link = Link {
        buffer: Buffer { bytes: u32::MAX, packets: 40 },
        marking: Marking::Step { bytes: u32::MAX, packets: 20 },
        ..TEN_GIG
    };
    let fabric = leaf_spine(4, 4, 4, link);
    let mut stream = Stream::new(5, "busy");
    let flows = (0..64)
        .map(|_| {
            let src = stream.below(16) as u32;
            let dst = (src + 4 + stream.below(9) as u32) % 16;
            flow(src, dst, 1 + stream.below(400_000), stream.below(300) * PS_PER_US)
        })
        .collect();
    let mut settings = settings(Transport::Tcp(Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 })));
    settings.balancing.granularity = Granularity::Packet;
    (fabric, flows, settings)
}

/// What ports with classes count, in the records of FIFO ports: left out, so that the numbers are those from before.
const OF_CLASSES: &str = " trimmed_packets: 0, pauses_sent: 0, paused_ps: 0,";

/// What only replay counts, left out likewise.
const OF_REPLAY: &str = ", replayed: 0";

/// A number that changes with any field of any record.
fn digest(outcome: &Outcome) -> u64 {
    let text = format!("{:?}{:?}{:?}", outcome.flows, outcome.ports, outcome.totals);
    let text = text.replace(OF_CLASSES, "").replace(OF_REPLAY, "");
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_same_run_twice_and_in_four_threads() {
    let (fabric, flows, settings) = busy();
    let first = digest(&run(&fabric, &flows, &settings));
    assert_eq!(first, digest(&run(&fabric, &flows, &settings)));
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| digest(&run(&fabric, &flows, &settings)))).collect();
        for thread in threads {
            assert_eq!(first, thread.join().unwrap());
        }
    });
}

#[test]
fn another_seed_is_another_run() {
    let (fabric, flows, mut settings) = busy();
    let first = digest(&run(&fabric, &flows, &settings));
    settings.seed = 2;
    assert_ne!(first, digest(&run(&fabric, &flows, &settings)));
}

/// Frames that meet in the same picosecond go in an order that the seed draws, not their ports' numbers.
#[test]
fn ties_go_to_either_port() {
    let fabric = leaf_spine(2, 1, 2, TEN_GIG);
    let mut settings = settings(udp(10_000_000_000));
    let mut first = 0;
    for seed in 0..256 {
        settings.seed = seed;
        let outcome = run(&fabric, &[flow(0, 2, 1448, 0), flow(1, 2, 1448, 0)], &settings);
        let [one, other] = [0, 1].map(|flow| outcome.flows[flow].fct_ps);
        assert_eq!(one.abs_diff(other), 1538 * 800, "one waits for the other");
        first += i32::from(one < other);
    }
    // Six standard deviations of a fair coin.
    assert!((first - 128).abs() < 48, "{first} of 256");
}

/// The order of events is part of the model: if these numbers change, results changed, and the model version must.
/// They are those of every build, checked and optimised (`cargo test --release`, `cargo test --profile dev`).
#[test]
fn the_fingerprint_of_the_model() {
    let (fabric, flows, mut settings) = busy();
    let mut prints = vec![digest(&run(&fabric, &flows, &settings))];
    for table in [
        Table::MinMove,
        Table::Wcmp { entries: 16 },
        Table::Valo,
        Table::Scoring,
        Table::Turns { block: false },
    ] {
        settings.balancing.table = table;
        prints.push(digest(&run(&fabric, &flows, &settings)));
    }
    assert_eq!(prints, FINGERPRINTS, "{prints:x?}");
}

const FINGERPRINTS: [u64; 6] = [
    0xaef6_40be_c133_b7d8,
    0x9f86_52ed_4fc2_eb91,
    0xf258_c459_1ab3_0931,
    0xa1d4_9947_4221_abb1,
    0x8170_cb59_cee2_ed92,
    0x0fed_fe53_957d_b896,
];
