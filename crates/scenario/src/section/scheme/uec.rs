//! What UEC spraying is told, and the elder REPS.

use crate::form::Form;
use crate::unit::Count;
use anabranch_split::scheme::uec::Parameters;

pub(super) fn visit(form: &mut impl Form, parameters: &mut Parameters) {
    entropies(form, &mut parameters.entropies);
    if !parameters.entropies.is_power_of_two() {
        let below = parameters.entropies.next_power_of_two() / 2;
        form.refuse(
            "entropies",
            format!("{} is no power of two", parameters.entropies),
            format!("give {below} or {}", below * 2),
        );
    }
}

pub(super) fn entropies(form: &mut impl Form, count: &mut u32) {
    form.key(
        "entropies",
        Count { least: 1, most: 1 << 16 },
        count,
        "Entropy values that a host tells apart for each flow.",
    );
}
