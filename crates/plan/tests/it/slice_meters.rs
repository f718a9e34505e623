//! Meters of slices: the paper's error (section III-D), and what they drop of traffic that is no faster than they are.

use anabranch_plan::{meter_error_percent, metered_frames, overflow_bps};
use anabranch_split::picks::TokenBucket;

#[test]
fn the_error_of_meters() {
    let error = |frames: u32, window_s: f64, rate_bps: f64| {
        meter_error_percent(f64::from(frames) * 1522.0 * 8.0 / window_s, rate_bps)
    };
    assert!((error(1, 1e-3, 1e6) - 1117.6).abs() < 1e-6);
    assert!((error(2, 15e-3, 1e6) - 62.3467).abs() < 1e-3);
    assert!(error(1, 15e-3, 1e6).abs() < 1e-12);
    assert!((error(9, 15e-3, 7e6) - 4.3657).abs() < 1e-3);
    assert!(error(8, 15e-3, 7e6).abs() < 1e-12);
}

#[test]
fn an_exact_meter_of_7_mbps_errs_by_more_than_the_paper_measured() {
    // Frames of 1522 bytes offered at 10 Gbit/s. A window of 15 ms has room for 8.62: in 62 of 100 it lets 9 pass, 4.37 %
    // too much, and in the others 8, which counts as no error.
    let rate_bps = 7_000_000;
    let meter = TokenBucket::new(rate_bps, TokenBucket::depth_bytes(rate_bps, 1_000_000, 1522));
    let passed = metered_frames(meter, 1522, 10_000_000_000, 15_000_000, 400);
    let error = |&frames: &u64| meter_error_percent(frames as f64 * 1522.0 * 8.0 / 15e-3, 7e6);
    // The first window has the burst.
    let mean = passed[1..].iter().map(error).sum::<f64>() / 399.0;
    assert!((mean - 0.624 * 4.366).abs() < 0.03, "{mean}");
}

/// Loss of a bucket of `depth_frames` that is offered frames at random at just its rate.
fn overflow_simulated(depth_frames: u32) -> f64 {
    const RATE_BPS: u64 = 200_000_000;
    const FRAME_BYTES: u32 = 1500;
    const FRAMES: u32 = 400_000;
    let mut meter = TokenBucket::new(RATE_BPS, u64::from(depth_frames * FRAME_BYTES));
    // A linear congruential generator's upper bits (Knuth's MMIX) make the gaps of a Poisson process.
    let (mut state, mut now_ns) = (1u64, 0.0f64);
    let mean_gap_ns = f64::from(FRAME_BYTES) * 8e9 / RATE_BPS as f64;
    let mut dropped = 0;
    for _ in 0..FRAMES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        now_ns -= mean_gap_ns * (((state >> 11) as f64 + 0.5) / 2f64.powi(53)).ln();
        dropped += u32::from(!meter.admit(FRAME_BYTES, now_ns as u64));
    }
    f64::from(dropped) / f64::from(FRAMES)
}

#[test]
fn a_meter_drops_one_frame_of_two_buckets_of_random_arrivals() {
    for depth_frames in [2, 4, 8, 16, 64] {
        let expected = overflow_bps(1_000_000_000, u64::from(depth_frames * 1500), 1500) as f64 / 1e9;
        let found = overflow_simulated(depth_frames);
        // The formula is the limit of deep buckets; of two frames it is a quarter, and 0.2 come out.
        let tolerance = if depth_frames < 8 { 0.25 } else { 0.08 };
        assert!((found / expected - 1.0).abs() < tolerance, "{depth_frames}: {found}, expected {expected}");
    }
}
