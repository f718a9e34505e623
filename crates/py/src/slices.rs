//! Wino's slices and their meters, and SAPS' virtual topologies.

use crate::error::{AnabranchError, plan};
use anabranch_balancers::saps::pick::Parameters;
use anabranch_balancers::saps::virtual_topology::Pair;
use anabranch_plan::{Residual, SlicePick, SliceRule};
use anabranch_split::picks::TokenBucket;
use pyo3::prelude::*;

/// Slices: (bandwidth of a slice, path of each, bandwidth that no slice covers, whether they need meters), in bits per
/// second.
type Cut = (u64, Vec<u16>, u64, bool);

/// Cuts paths into slices, given the bandwidth that each has left in bits per second and whether it was measured; none
/// if no path has any. `pick` is one of `slice_picks()`.
#[pyfunction]
#[pyo3(signature = (residual, *, pick, slice_min_bps, slice_max_bps, quantum_bps, label_bits, burst_ns, frame_bytes))]
#[expect(clippy::too_many_arguments, reason = "one call from Python, where the arguments have names")]
pub(crate) fn cut_slices(
    residual: Vec<(u64, bool)>,
    pick: &str,
    slice_min_bps: u64,
    slice_max_bps: Option<u64>,
    quantum_bps: Option<u64>,
    label_bits: u32,
    burst_ns: u64,
    frame_bytes: u32,
) -> PyResult<Option<Cut>> {
    let pick = SlicePick::named(pick).ok_or_else(|| {
        AnabranchError::new_err(format!("pick: {pick}: give one of {}", SlicePick::NAMES.join(", ")))
    })?;
    let rule = SliceRule {
        pick,
        slice_min_bps,
        slice_max_bps,
        quantum_bps,
        label_bits,
        burst_ns,
        frame_bytes,
        ..SliceRule::default()
    };
    let residual: Vec<Residual> =
        residual.into_iter().map(|(bps, measured)| Residual { bps, measured }).collect();
    let slices = rule.cut(&residual).map_err(plan)?;
    Ok(slices.map(|cut| (cut.slice_bps, cut.path_of, cut.waste_bps, cut.metered)))
}

/// Ways to choose the size of slices where the common divisor does not decide, the default first.
#[pyfunction]
pub(crate) fn slice_picks() -> [&'static str; 3] {
    SlicePick::NAMES
}

/// Traffic in no slice that slices are to be cut for on a link, in bits per second.
#[pyfunction]
pub(crate) fn outside_bps(before_bps: u64, measured_bps: u64, rate_bps: u64, hysteresis: f64) -> u64 {
    anabranch_plan::outside_bps(before_bps, measured_bps, rate_bps, hysteresis)
}

/// Error of a meter over a window, in percent of its rate; none where less than the rate passed.
#[pyfunction]
pub(crate) fn meter_error_percent(throughput_bps: f64, target_bps: f64) -> f64 {
    anabranch_plan::meter_error_percent(throughput_bps, target_bps)
}

/// Frames that the meter of a slice lets pass in each window, offered back to back.
#[pyfunction]
#[pyo3(signature = (rate_bps, *, burst_bytes, frame_bytes, offered_bps, window_ns, windows))]
pub(crate) fn metered_frames(
    py: Python<'_>,
    rate_bps: u64,
    burst_bytes: u64,
    frame_bytes: u32,
    offered_bps: u64,
    window_ns: u64,
    windows: usize,
) -> Vec<u64> {
    let meter = TokenBucket::new(rate_bps, burst_bytes);
    py.detach(|| anabranch_plan::metered_frames(meter, frame_bytes, offered_bps, window_ns, windows))
}

/// SAPS' virtual topologies of paths with so much left in bits per second, each the numbers of its paths, and the
/// topology of each flow, given as its bytes and 32 random bits; none where no path has anything left.
#[pyfunction]
pub(crate) fn virtual_topologies(
    residual_bps: Vec<u64>,
    quantum_bps: u64,
    threshold_bytes: u64,
    flows: Vec<(u64, u32)>,
) -> (Vec<Vec<u16>>, Vec<Option<usize>>) {
    let pair = Pair::new(&residual_bps, quantum_bps);
    let hosts = Parameters { threshold_bytes, ..Parameters::default() };
    let chosen = |&(bytes, draw): &(u64, u32)| {
        let topology = hosts.topology(&pair.topologies, bytes, draw)?;
        pair.topologies.iter().position(|one| one == topology)
    };
    let paths = pair.topologies.iter().map(|topology| pair.paths_of(topology).to_vec()).collect();
    (paths, flows.iter().map(chosen).collect())
}
