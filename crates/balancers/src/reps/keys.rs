//! REPS's parameters.

use crate::reps::pick::Parameters;
use crate::uec::keys::entropies;
use anabranch_form::Keys;
use anabranch_form::unit::{Count, Nanoseconds};

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    entropies(form, &mut parameters.entropies);
    form.key(
        "freeze",
        Nanoseconds,
        &mut parameters.freeze_ns,
        "After a timeout only values known to be good are used for this long.",
    );
    let mut explored = parameters.explored.into();
    form.key(
        "explored",
        Count { least: 0, most: u16::MAX.into() },
        &mut explored,
        "Packets that take random values when a freeze ends.",
    );
    parameters.explored = explored as u16;
}
