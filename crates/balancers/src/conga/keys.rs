//! `balance = "conga"`.

use crate::conga::pick::Parameters;
use crate::conga::tag::UPLINKS_MAX;
use anabranch_form::unit::{Count, Flag, Nanoseconds, Positive};
use anabranch_form::{Keys, refuse_zero};

/// A register that loses less each time would not be at rest after what is made up for at once.
const ALPHA_LEAST: f64 = 1.0 / 32.0;

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let Parameters { period_ns, alpha, level_bits, own_rates, gap_ns, age_ns, candidates, wrap, data_only } =
        parameters;
    visit_register(form, period_ns, alpha);
    let mut bits = (*level_bits).into();
    form.key("level_bits", Count { least: 1, most: 7 }, &mut bits, "Bits of a level of congestion (Q).");
    *level_bits = bits as u8;
    form.key(
        "own_rates",
        Flag,
        own_rates,
        "Whether a link is measured by its own rate; by that of the fastest between switches if not.",
    );
    form.key("gap", Nanoseconds, gap_ns, "Longest pause within a flowlet; 13 ms is CONGA-Flow.");
    form.key("age", Nanoseconds, age_ns, "Age at which what other leaves said counts as nothing.");
    let mut most = (*candidates).into();
    form.key(
        "candidates",
        Count { least: 0, most: UPLINKS_MAX as u32 },
        &mut most,
        "Uplinks looked at for a new flowlet, in a row from a random one on; 0: all. A public simulation has 4.",
    );
    *candidates = most as u16;
    form.key(
        "wrap",
        Flag,
        wrap,
        "Whether that row goes on from the last uplink to the first. If not, as in conweave-ns3, the outer uplinks stand in fewer rows, and get less traffic.",
    );
    form.key(
        "data_only",
        Flag,
        data_only,
        "Whether only packets with payload are measured and carry levels and feedback, as in conweave-ns3. Others are then hashed, and leaves hear less of each other.",
    );
}

/// How registers tell how busy links are.
pub(crate) fn visit_register(form: &mut impl Keys, period_ns: &mut u64, alpha: &mut f64) {
    form.key(
        "period",
        Nanoseconds,
        period_ns,
        "Time between two losses of the registers that tell how busy links are (T_dre).",
    );
    refuse_zero(form, "period", *period_ns);
    form.key("alpha", Positive { most: 1.0 }, alpha, "What the registers lose each time, at least 1/32.");
    if *alpha < ALPHA_LEAST {
        form.refuse("alpha", format!("{alpha} is less than 1/32"), "give 0.03125 or more".to_owned());
    }
}
