//! `balance = "glb"`: the keys of ARS, and one more.

use crate::ars;
use crate::glb::pick::Parameters;
use anabranch_form::unit::Nanoseconds;
use anabranch_form::{Keys, refuse_zero};

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let Parameters { local, period_ns } = parameters;
    ars::keys::visit(form, local);
    form.key(
        "period",
        Nanoseconds,
        period_ns,
        "Time between two messages of a switch, in which it tells its neighbours the qualities of its links.",
    );
    refuse_zero(form, "period", *period_ns);
}
