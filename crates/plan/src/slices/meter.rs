//! Meters of slices: what they let pass in a window, what they drop of traffic that is no faster than they are, and the
//! error that the paper measures them by.

use anabranch_split::picks::TokenBucket;

/// Traffic that a meter drops of what is offered at just its rate, in bits per second: its frames come when they like,
/// not in step with the tokens.
///
/// The bucket is then a walk of the size of a frame between empty and full, on which nothing pushes it either way; of
/// arrivals at random the share 1 / 2b meets it empty, with b frames in a full one (the loss of a queue of b places at
/// full load, in heavy traffic).
#[must_use]
pub fn overflow_bps(rate_bps: u64, depth_bytes: u64, frame_bytes: u32) -> u64 {
    let bits = u128::from(rate_bps) * u128::from(frame_bytes) / u128::from(2 * depth_bytes.max(1));
    u64::try_from(bits).unwrap_or(rate_bps).min(rate_bps)
}

/// Excess that a meter of rate `target` let through, in percent (section III-D): windows below their rate
/// count as exact, so the mean over windows is above zero even for a meter that is right in the long run.
#[must_use]
pub fn meter_error_percent(throughput_bps: f64, target_bps: f64) -> f64 {
    (100.0 * (throughput_bps - target_bps) / target_bps).max(0.0)
}

/// Frames that a meter lets pass in each of `windows` windows of `window_ns`, offered back to back at `offered_bps`, the
/// first at time zero (the measurement of section III-D).
#[must_use]
pub fn metered_frames(
    mut meter: TokenBucket,
    frame_bytes: u32,
    offered_bps: u64,
    window_ns: u64,
    windows: usize,
) -> Vec<u64> {
    let (mut passed, mut sent) = (vec![0; windows], 0u128);
    loop {
        let now_ns = (sent * u128::from(frame_bytes) * 8_000_000_000 / u128::from(offered_bps.max(1))) as u64;
        let Some(window) = passed.get_mut((now_ns / window_ns.max(1)) as usize) else { return passed };
        *window += u64::from(meter.admit(frame_bytes, now_ns));
        sent += 1;
    }
}
