//! `balance = "ugal-l"` and `"ugal-g"`.

use crate::ugal::pick::Parameters;
use anabranch_form::Keys;
use anabranch_form::unit::Count;

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let mut detours = parameters.detours.into();
    form.key(
        "detours",
        Count { least: 1, most: 64 },
        &mut detours,
        "Detours drawn at random, of which the best is compared with the minimal path.",
    );
    parameters.detours = detours as u16;
}
