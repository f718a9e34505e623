//! Links of one tier: rate, delay, room, marking; the same in both directions.

use anabranch_fabric::topology::LinkSettings;
use anabranch_form::Form;
use anabranch_form::unit::{Ecn, Room, Speed, Time};

/// The keys.
pub(crate) fn visit(form: &mut impl Form, link: &mut LinkSettings) {
    form.key("rate", Speed, &mut link.rate, "Rate of each direction.");
    form.key("delay", Time, &mut link.delay_ps, "Time of the signal from one end to the other.");
    form.key(
        "buffer",
        Room,
        &mut link.buffer,
        "Room for waiting frames at each end that is a switch, the frame in service included. For hosts \
         see `[host]`.",
    );
    form.key(
        "ecn",
        Ecn,
        &mut link.marking,
        "When a switch marks packets instead of dropping them: from a backlog on (DCTCP's step), never, or RED's ramp.",
    );
}

/// `link` for all tiers, then each tier's own.
pub(crate) fn visit_tiers<const N: usize>(
    form: &mut impl Form,
    default: LinkSettings,
    tiers: [(&'static str, &mut LinkSettings, &'static str); N],
) {
    let mut base = default;
    form.base("link", "Links of every tier, where the tier's own table says nothing else.", |form| {
        visit(form, &mut base);
    });
    for (name, link, meaning) in tiers {
        if base != LinkSettings::default() {
            *link = base;
        }
        form.table(name, meaning, |form| visit(form, link));
    }
}
