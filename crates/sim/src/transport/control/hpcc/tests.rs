use super::*;

/// 100 Gbit/s and 8 us: a window of 100,000 bytes.
const PATH: PathFacts = PathFacts {
    rate_bps: 100_000_000_000,
    rtt_ps: 8_000_000,
    frame_bytes: 1048,
    header_bytes: 48,
    began_ps: 0,
};

fn hop(at_us: u64, sent_bytes: u64, backlog_bytes: u64) -> Hop {
    Hop { port: 0, rate_bps: 100_000_000_000, sent_bytes, backlog_bytes, at_ps: at_us * 1_000_000 }
}

fn ack(law: &mut Hpcc, una: u64, next: u64, hops: &[Hop]) {
    law.on_ack(&Answer {
        now_ps: 0,
        bytes: 1048,
        marked: false,
        rtt_ps: None,
        una,
        next,
        in_flight_bytes: 0,
        hops,
    });
}

/// Worked by hand from algorithm 1.
#[test]
fn steps_are_those_of_algorithm_1() {
    let settings = HpccSettings { additive_bytes: Some(80.0), ..HpccSettings::DEFAULT };
    let mut law = Hpcc::new(&settings, &PATH);
    assert_eq!(law.window_bytes(), 100_000);
    assert_eq!(law.rate_bps(), 100_000_000_000);
    // The first acknowledgement has nothing to be compared with.
    ack(&mut law, 1000, 50_000, &[hop(10, 0, 0)]);
    assert_eq!(law.window_bytes(), 100_000);
    // Within the round trip: 50,000 bytes in 4 us fill the link, and of the backlogs 0 and 20,000 the lesser counts:
    // u = 1, U = 0.5 * 1 + 0.5 * 1; W = 100,000 / (1 / 0.95) + 80.
    ack(&mut law, 2000, 60_000, &[hop(14, 50_000, 20_000)]);
    assert_eq!(law.window_bytes(), 95_080);
    assert_eq!(law.reference, 100_000.0);
    // The next round trip: min(20,000, 30,000) / 100,000 + 1 = 1.2 over 8 us: U = 1.2; W = 100,000 * 0.95 / 1.2 + 80, which
    // becomes the reference.
    ack(&mut law, 51_000, 130_000, &[hop(22, 150_000, 30_000)]);
    assert_eq!(law.window_bytes(), 79_246);
    assert!((law.reference - (95_000.0 / 1.2 + 80.0)).abs() < 1e-9);
    // A half idle link: u = 0.5 over 8 us; the window grows by the step, five round trips at most.
    let mut expected = law.reference;
    for round in 1..=5 {
        expected += 80.0;
        let at = 22 + 8 * round;
        ack(&mut law, 130_000 * round + 1, 130_000 * (round + 1), &[hop(at, 150_000 + 50_000 * round, 0)]);
        assert!((law.window - expected).abs() < 1e-9, "{round}");
    }
    // Then it goes to the target at once: W / (0.5 / 0.95) + 80, at most the first window.
    ack(&mut law, 130_000 * 6 + 1, 130_000 * 7, &[hop(70, 450_000, 0)]);
    assert_eq!(law.window_bytes(), 100_000);
}

/// The busiest port of a path decides.
#[test]
fn the_busiest_hop_decides() {
    let mut law = Hpcc::new(&HpccSettings { additive_bytes: Some(0.0), ..HpccSettings::DEFAULT }, &PATH);
    ack(&mut law, 1, 10, &[hop(0, 0, 0), hop(1, 0, 0)]);
    ack(&mut law, 11, 20, &[hop(8, 20_000, 0), hop(9, 95_000, 0)]);
    assert!((law.in_flight - 0.95).abs() < 1e-12);
}

/// Two links, worked by hand. In 4 us the first sends 25,000 bytes and nothing waits: 0.5. The second, of 50 Gbit/s, sends
/// 25,000 bytes, all that it can, and at least 10,000 bytes wait, a fifth of the 50,000 that it holds: 1.2. The busier one
/// counts: U = 0.5 * 1 + 0.5 * 1.2 = 1.1, W = 100,000 * 0.95 / 1.1 + 80.
#[test]
fn the_busiest_of_two_links_counts() {
    let settings = HpccSettings { additive_bytes: Some(80.0), ..HpccSettings::DEFAULT };
    let mut law = Hpcc::new(&settings, &PATH);
    let second = |at_us: u64, sent_bytes, backlog_bytes| Hop {
        port: 1,
        rate_bps: 50_000_000_000,
        ..hop(at_us, sent_bytes, backlog_bytes)
    };
    ack(&mut law, 1000, 50_000, &[hop(10, 7_000, 500), second(11, 90_000, 10_000)]);
    ack(&mut law, 2000, 60_000, &[hop(14, 32_000, 0), second(15, 115_000, 40_000)]);
    assert!((law.in_flight - 1.1).abs() < 1e-12, "{}", law.in_flight);
    assert!((law.window - (95_000.0 / 1.1 + 80.0)).abs() < 1e-9, "{}", law.window);
}

/// What is known of one path says nothing of another, and an answer that was overtaken nothing of its own.
#[test]
fn another_path_is_measured_anew_and_late_answers_count_for_nothing() {
    let mut law = Hpcc::new(&HpccSettings::DEFAULT, &PATH);
    let other = |at_us: u64, sent_bytes| Hop { port: 4, ..hop(at_us, sent_bytes, 0) };
    ack(&mut law, 1000, 50_000, &[hop(10, 900_000, 0)]);
    ack(&mut law, 2000, 60_000, &[other(14, 7)]);
    assert_eq!(law.window_bytes(), 100_000);
    ack(&mut law, 3000, 60_000, &[other(12, 5)]);
    assert!((law.in_flight - 1.0).abs() < 1e-12, "{}", law.in_flight);
}
