//! `balance = "ars"`.

use crate::ars::load::Profile;
use crate::ars::pick::{Mode, Parameters};
use anabranch_form::unit::{Bytes, Choice, Count, Flag, Fraction, Nanoseconds, Positive};
use anabranch_form::{Keys, refuse_zero};

const MODES: [&str; 5] = [
    Mode::FlowletQuality.name(),
    Mode::FlowletRandom.name(),
    Mode::PacketQuality.name(),
    Mode::PacketRandom.name(),
    Mode::Fixed.name(),
];

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let Parameters { mode, idle_ns, flows, profile } = parameters;
    let mut word = mode.name();
    form.key(
        "mode",
        Choice(&MODES),
        &mut word,
        "How a port is assigned: for each flowlet or packet, by quality or at random, or to a flow once and for all.",
    );
    *mode = Mode::ALL.into_iter().find(|mode| mode.name() == word).unwrap_or(*mode);
    form.key("idle", Nanoseconds, idle_ns, "Longest pause within a flowlet.");
    form.key(
        "flows",
        Count { least: 0, most: 1 << 20 },
        flows,
        "Entries of a group's table of flows, which flows share by their hash. 0: one for each flow.",
    );
    visit_profile(form, profile);
}

/// How qualities are computed.
fn visit_profile(form: &mut impl Keys, profile: &mut Profile) {
    let Profile {
        sampling_ns,
        past_weight,
        future_weight,
        current,
        past_min,
        past_max,
        future_min_bytes,
        future_max_bytes,
        past_share,
    } = profile;
    form.key("sampling", Nanoseconds, sampling_ns, "Time between two samples of a port's load.");
    refuse_zero(form, "sampling", *sampling_ns);
    for (name, weight, meaning) in [
        ("past_weight", past_weight, "Divisor by which a sample of what a port sent counts in its mean."),
        (
            "future_weight",
            future_weight,
            "Divisor by which a sample of what waits in a port counts in its mean.",
        ),
    ] {
        let mut divisor = (*weight).into();
        form.key(name, Count { least: 1, most: 255 }, &mut divisor, meaning);
        *weight = divisor as u8;
    }
    form.key("current", Flag, current, "Whether a mean falls to a sample below it at once.");
    form.key(
        "past_min",
        Fraction,
        past_min,
        "Share of its rate up to which a port's past load is of the best band.",
    );
    form.key(
        "past_max",
        Positive { most: 1.0 },
        past_max,
        "Share of its rate from which on a port's past load is of the worst band.",
    );
    form.key(
        "future_min",
        Bytes { least: 0, most: 1 << 40 },
        future_min_bytes,
        "Waiting bytes up to which a port's future load is of the best band.",
    );
    form.key(
        "future_max",
        Bytes::SOME,
        future_max_bytes,
        "Waiting bytes from which on a port's future load is of the worst band.",
    );
    form.key(
        "past_share",
        Fraction,
        past_share,
        "Share of the past load in a port's quality; the rest is the future load's.",
    );
    if *past_max <= *past_min {
        form.refuse(
            "past_max",
            format!("{past_max} is not above past_min"),
            format!("give more than {past_min}"),
        );
    }
    if *future_max_bytes <= *future_min_bytes {
        let hint = format!("give more than {future_min_bytes} B");
        form.refuse("future_max", format!("{future_max_bytes} B is not above future_min"), hint);
    }
}
