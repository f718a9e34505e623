//! `balance = "flowcut"`.

use crate::flowcut::pick::Parameters;
use anabranch_form::Keys;
use anabranch_form::unit::{Bytes, Flag, Nanoseconds, Positive};

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let Parameters { drain, ratio, alpha, least_bytes, timeout_ns, control_bytes } = parameters;
    form.key(
        "drain",
        Flag,
        drain,
        "Whether a flow on a congested path is held until nothing of it is under way, so that it can move.",
    );
    form.key(
        "ratio",
        Positive { most: 1000.0 },
        ratio,
        "Ratio of a flow's mean delay between leaves to its least beyond which it is drained.",
    );
    form.key("alpha", Positive { most: 1.0 }, alpha, "Weight of the newest delay in the mean.");
    form.key(
        "least",
        Bytes { least: 0, most: 1 << 40 },
        least_bytes,
        "What a flow sends at least between two moves that drain it.",
    );
    form.key(
        "timeout",
        Nanoseconds,
        timeout_ns,
        "Time without an answer after which what is under way counts as lost. A shorter one than a packet can take \
         reorders.",
    );
    let mut frame_bytes = (*control_bytes).into();
    form.key("control", Bytes { least: 1, most: 1518 }, &mut frame_bytes, "Frame of an answer of the leaf.");
    *control_bytes = frame_bytes as u16;
}
