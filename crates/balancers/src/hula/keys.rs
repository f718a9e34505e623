//! `balance = "hula"`.

use crate::hula::pick::Parameters;
use anabranch_form::Keys;
use anabranch_form::refuse_zero;
use anabranch_form::unit::{Bytes, Nanoseconds};
use anabranch_sim::PROBE_BYTES_MIN;

/// The longest time that links' utilisation looks back over: what the estimate's products have room for.
const TAU_NS_MAX: u64 = u32::MAX as u64;

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let Parameters { gap_ns, period_ns, probe_bytes, tau_ns, keep_ns } = parameters;
    form.key("gap", Nanoseconds, gap_ns, "Longest pause within a flowlet.");
    form.key("period", Nanoseconds, period_ns, "Time between two probes of a leaf.");
    refuse_zero(form, "period", *period_ns);
    let mut frame_bytes = (*probe_bytes).into();
    let size = Bytes { least: PROBE_BYTES_MIN.into(), most: 1518 };
    form.key("probe", size, &mut frame_bytes, "Frame of a probe.");
    *probe_bytes = frame_bytes as u16;
    form.key(
        "tau",
        Nanoseconds,
        tau_ns,
        "Time that a link's utilisation looks back over; at least two periods, says the paper.",
    );
    refuse_zero(form, "tau", *tau_ns);
    if *tau_ns > TAU_NS_MAX {
        form.refuse("tau", "it is too long".to_owned(), "give at most 4 s".to_owned());
    }
    form.key("keep", Nanoseconds, keep_ns, "Age at which the best hop is believed no longer.");
}
