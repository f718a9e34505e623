use super::*;

const US: u64 = 1_000_000;

/// 100 Gbit/s and 8.384 us: a window of 100 frames of 1048 bytes.
const PATH: PathFacts = PathFacts {
    rate_bps: 100_000_000_000,
    rtt_ps: 8_384_000,
    frame_bytes: 1048,
    header_bytes: 48,
    began_ps: 0,
};

fn ack(law: &mut Swift, now_us: u64, rtt_us: u64) {
    law.on_ack(&Answer {
        now_ps: now_us * US,
        bytes: 1048,
        marked: false,
        rtt_ps: Some(rtt_us * US),
        una: 0,
        next: 0,
        in_flight_bytes: 0,
        hops: &[],
    });
}

/// Worked by hand from algorithm 1.
#[test]
fn steps_are_those_of_algorithm_1() {
    let mut law = Swift::new(&SwiftSettings::DEFAULT, &PATH);
    assert_eq!(law.window_bytes(), 104_800);
    // At 100 frames nothing is added to the target: 8.384 + 25 us. Below it: 1 / 100 frame.
    assert!((law.target_ps() - 33_384_000.0).abs() < 1e-6);
    ack(&mut law, 100, 30);
    assert!((law.window - 100.01).abs() < 1e-9);
    // Above it: times 1 - 0.8 * (66.768 - 33.384) / 66.768 = 0.6 with twice the target.
    law.window = 100.0;
    law.on_ack(&Answer {
        now_ps: 200 * US,
        bytes: 1048,
        marked: false,
        rtt_ps: Some(66_768_000),
        una: 0,
        next: 0,
        in_flight_bytes: 0,
        hops: &[],
    });
    assert!((law.window - 60.0).abs() < 1e-9);
    // Once in a round trip, and no more than by half.
    ack(&mut law, 260, 90);
    assert!((law.window - 60.0).abs() < 1e-9);
    ack(&mut law, 9200, 9000);
    assert!((law.window - 30.0).abs() < 1e-9);
}

/// The target of section 3.5: alpha = range / (1 / sqrt(0.1) - 1 / sqrt(100)), beta = -alpha / sqrt(100).
#[test]
fn small_windows_have_a_larger_target() {
    let mut law = Swift::new(&SwiftSettings::DEFAULT, &PATH);
    let alpha = 50e6 / (10f64.sqrt() - 0.1);
    for window in [0.5, 1.0, 4.0, 50.0] {
        law.window = window;
        let expected = 33_384_000.0 + alpha / f64::sqrt(window) - alpha / 10.0;
        assert!((law.target_ps() - expected).abs() < 1e-3, "{window}");
    }
    for (window, more_ps) in [(0.01, 50e6), (200.0, 0.0)] {
        law.window = window;
        assert!((law.target_ps() - 33_384_000.0 - more_ps).abs() < 1e-3, "{window}");
    }
}

#[test]
fn windows_below_a_frame_are_paced() {
    let mut law = Swift::new(&SwiftSettings::DEFAULT, &PATH);
    assert_eq!(law.rate_bps(), u64::MAX);
    law.window = 0.25;
    law.rtt_ps = 40 * US;
    // A frame of 8384 bits every 160 us.
    assert_eq!(law.rate_bps(), 52_400_000);
    assert_eq!(law.window_bytes(), 1048);
}

#[test]
fn timeouts_halve_and_then_floor_the_window() {
    let mut law = Swift::new(&SwiftSettings::DEFAULT, &PATH);
    law.on_loss(100 * US);
    assert!((law.window - 50.0).abs() < 1e-9);
    for timeout in 1..=4 {
        law.on_timeout((200 + 100 * timeout) * US, 1048);
    }
    assert!((law.window - 3.125).abs() < 1e-9);
    law.on_timeout(900 * US, 1048);
    assert!((law.window - 0.001).abs() < 1e-12);
}
