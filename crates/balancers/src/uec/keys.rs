//! Keys of UEC spraying, and of the elder REPS.

use crate::uec::pick::Parameters;
use anabranch_form::Keys;
use anabranch_form::unit::Count;

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    permuted_entropies(form, &mut parameters.entropies);
}

/// A number of values that are taken in turn ([`crate::uec::pick::Permutation`]).
pub(crate) fn permuted_entropies(form: &mut impl Keys, count: &mut u32) {
    entropies(form, count);
    if !count.is_power_of_two() {
        let below = count.next_power_of_two() / 2;
        let hint = format!("give {below} or {}", below * 2);
        form.refuse("entropies", format!("{count} is no power of two"), hint);
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
