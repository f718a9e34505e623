//! FlowBender's parameters.

use crate::flowbender::pick::Parameters;
use anabranch_form::Keys;
use anabranch_form::unit::{Count, Fraction};

const MILLION: f64 = 1e6;

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let mut threshold = f64::from(parameters.threshold_ppm) / MILLION;
    form.key(
        "threshold",
        Fraction,
        &mut threshold,
        "A round trip is congested if more than this part of the acknowledged bytes was marked (T), in millionths at least.",
    );
    parameters.threshold_ppm = (threshold * MILLION).round() as u32;
    let mut rounds = parameters.rounds.into();
    form.key(
        "rounds",
        Count { least: 1, most: u16::MAX.into() },
        &mut rounds,
        "Congested round trips in a row after which a flow is hashed anew (N).",
    );
    parameters.rounds = rounds as u16;
}
