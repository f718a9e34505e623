//! `balance = "mp-rdma"`.

use crate::mp_rdma::pick::{PROBE_UNIT, Parameters};
use crate::uec::keys::entropies;
use anabranch_form::Keys;
use anabranch_form::unit::{Count, Fraction};

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    entropies(form, &mut parameters.entropies);
    let mut probability = f64::from(parameters.probe) / f64::from(PROBE_UNIT);
    form.key(
        "probe",
        Fraction,
        &mut probability,
        "Probability with which a packet tries a new virtual path.",
    );
    parameters.probe = (probability * f64::from(PROBE_UNIT)).round() as u32;
    form.key(
        "reordering",
        Count { least: 0, most: 1 << 20 },
        &mut parameters.reordering,
        "Packets by which an acknowledged one may lie behind the highest so that its path is used on (delta).",
    );
}
