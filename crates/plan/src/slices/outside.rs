//! Traffic in no slice, as slices are cut for it: a measurement that repeats itself but for noise changes nothing.

/// The traffic that slices are to be cut for on a link, in bits per second: `measured_bps` if it is more than
/// `hysteresis` of the link's rate away from `before_bps`, for which they were cut last, and that otherwise. Less than
/// half of the step is none, or the rest of a load that has ended would keep paths unequal for ever.
#[must_use]
pub fn outside_bps(before_bps: u64, measured_bps: u64, rate_bps: u64, hysteresis: f64) -> u64 {
    let step_bps = hysteresis * rate_bps as f64;
    if (measured_bps as f64) < step_bps / 2.0 {
        0
    } else if measured_bps.abs_diff(before_bps) as f64 > step_bps {
        measured_bps
    } else {
        before_bps
    }
}
