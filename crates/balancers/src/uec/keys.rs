//! Keys of UEC spraying, and of the elder REPS.

use crate::uec::pick::Parameters;
use anabranch_form::Keys;
use anabranch_form::unit::Count;

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
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

pub(crate) fn entropies(form: &mut impl Keys, count: &mut u32) {
    form.key(
        "entropies",
        Count { least: 1, most: 1 << 16 },
        count,
        "Entropy values that a host tells apart for each flow.",
    );
}
