//! PLB's parameters.

use crate::plb::pick::Parameters;
use anabranch_form::Keys;
use anabranch_form::unit::{Count, Fraction, Nanoseconds};

const WHOLE: f64 = 256.0;

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let mut threshold = f64::from(parameters.threshold_256ths) / WHOLE;
    form.key(
        "threshold",
        Fraction,
        &mut threshold,
        "A round trip is congested if this part of the acknowledged bytes, or more, was marked; rounded to 256ths as in \
         Linux.",
    );
    parameters.threshold_256ths = (threshold * WHOLE).round() as u32;
    let mut idle_rounds = parameters.idle_rounds.into();
    form.key(
        "idle_rounds",
        Count { least: 0, most: u16::MAX.into() },
        &mut idle_rounds,
        "Congested round trips in a row after which a flow of which nothing is in flight is hashed anew; 0: never for that.",
    );
    parameters.idle_rounds = idle_rounds as u16;
    let mut rounds = parameters.rounds.into();
    form.key(
        "rounds",
        Count { least: 1, most: u16::MAX.into() },
        &mut rounds,
        "Congested round trips in a row after which a flow is hashed anew in any case.",
    );
    parameters.rounds = rounds as u16;
    form.key(
        "suspend",
        Nanoseconds,
        &mut parameters.suspend_ns,
        "After a timeout congestion moves a flow not for this long, and at most twice as long.",
    );
}
