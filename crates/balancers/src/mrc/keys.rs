//! MRC's parameters.

use crate::mrc::pick::Parameters;
use crate::uec::keys::permuted_entropies;
use anabranch_form::Keys;
use anabranch_form::unit::Nanoseconds;

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    permuted_entropies(form, &mut parameters.entropies);
    form.key(
        "probe",
        Nanoseconds,
        &mut parameters.probe_ns,
        "Time from a loss to the first probe of the entropy value that the packet had. Each probe that is not answered doubles the time to the next, six times at most.",
    );
}
