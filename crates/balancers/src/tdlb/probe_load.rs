//! Load that probes put on the uplinks of a leaf.

use crate::switches::source_routes::SourceRoutes;
use crate::tdlb::parameters::{DelayFeedback, Probing, Tdlb};
use anabranch_fabric::Fabric;

/// Share of its uplinks, in percent, above which probes are worth a warning.
const NOTABLE_PERCENT: f64 = 5.0;
/// Preamble and gap of a frame.
const GAP_BYTES: u64 = 20;

/// Warning where a leaf probes all others and that takes a notable part of its uplinks.
pub(crate) fn warning(tdlb: &Tdlb, fabric: &Fabric) -> Option<String> {
    if tdlb.probing != Probing::AllPairs {
        return None;
    }
    // A fabric whose paths labels cannot name is an error of the run.
    let mut source = SourceRoutes::new(fabric, 0).ok()?;
    let probes: usize = (1..source.leaves()).map(|to| source.routes(0, to).all.len()).sum();
    let switch = fabric.hosts() + source.switch_of(0);
    let uplinks = fabric.ports_of(switch).iter().map(|&port| &fabric.ports()[port as usize]);
    let capacity_bps: u64 =
        uplinks.filter(|port| port.to >= fabric.hosts()).map(|port| port.rate.bps()).sum();
    // With echoes, as many answers leave as probes.
    let frames = probes as u64 * if tdlb.feedback == DelayFeedback::Echo { 2 } else { 1 };
    let bits = frames * (u64::from(tdlb.probe_bytes) + GAP_BYTES) * 8;
    let percent = 100.0 * bits as f64 * 1e9 / tdlb.period_ns as f64 / capacity_bps.max(1) as f64;
    (percent > NOTABLE_PERCENT).then(|| {
        format!(
            "routing: a leaf sends {frames} probes and answers every {} us, {percent:.0} % of what its uplinks carry; hint: \
             probing = \"pairs-in-use\", or a longer period",
            tdlb.period_ns as f64 / 1000.0
        )
    })
}
