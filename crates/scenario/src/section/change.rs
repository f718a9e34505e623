//! `[[change]]`: what fails, slows, loses, and comes back.

use anabranch_fabric::Rate;
use anabranch_form::Form;
use anabranch_form::unit::{Choice, Fraction, Name, Named, OneOrMore, Speed, Time};

/// One change, with links and switches still by name.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Alteration {
    /// When, in picoseconds.
    pub at_ps: u64,
    /// Links that change: `leaf0-spine1` both ways, `leaf0>spine1` one way.
    pub links: Vec<Named>,
    /// Switches that change.
    pub switches: Vec<Named>,
    /// Effect of the change on them; none only until it is read.
    pub effect: Option<Effect>,
}

/// Effect of a change on a link or a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// It carries nothing any more.
    Down,
    /// It carries again.
    Up,
    /// It sends at this rate from now on.
    Rate(Rate),
    /// It loses each frame with this probability, silently.
    Loss(f64),
    /// It drops all packets of this fraction of flows, silently.
    Blackhole(f64),
}

const STATES: [&str; 2] = ["down", "up"];

/// The keys.
pub(crate) fn visit(form: &mut impl Form, change: &mut Alteration) {
    form.key("at", Time, &mut change.at_ps, "When.");
    let lists = [
        (
            "link",
            "a link such as \"leaf0-spine1\", or one direction of it, \"leaf0>spine1\"",
            &mut change.links,
            "Links that change: `leaf0-spine1` is both directions, `leaf0>spine1` one; of parallel links all, or the \
             one numbered from 0, `leaf0-spine1#0`.",
        ),
        (
            "switch",
            "a switch such as \"spine2\"",
            &mut change.switches,
            "Switches that change: each with all of its links.",
        ),
    ];
    for (name, wants, names, meaning) in lists {
        let mut given = (!names.is_empty()).then(|| std::mem::take(names));
        form.optional(name, OneOrMore(Name { wants }), &mut given, meaning);
        *names = given.unwrap_or_default();
    }
    visit_effect(form, &mut change.effect);
    if change.links.is_empty() == change.switches.is_empty() {
        let hint = "give `link` or `switch`, one of the two".to_owned();
        form.refuse("", "it is not said what changes".to_owned(), hint);
    }
    match change.effect {
        Some(Effect::Rate(_) | Effect::Loss(_)) if !change.switches.is_empty() => form.refuse(
            "switch",
            "a switch has neither rate nor loss".to_owned(),
            "name its links as `link`".to_owned(),
        ),
        Some(Effect::Blackhole(_)) if !change.links.is_empty() => form.refuse(
            "link",
            "a link cannot be a blackhole".to_owned(),
            "name a `switch`, or give `loss`".to_owned(),
        ),
        _ => {}
    }
}

fn visit_effect(form: &mut impl Form, effect: &mut Option<Effect>) {
    let (mut state, mut rate, mut loss, mut blackhole) = (None, None, None, None);
    match *effect {
        None => {}
        Some(Effect::Down) => state = Some(STATES[0]),
        Some(Effect::Up) => state = Some(STATES[1]),
        Some(Effect::Rate(given)) => rate = Some(given),
        Some(Effect::Loss(given)) => loss = Some(given),
        Some(Effect::Blackhole(given)) => blackhole = Some(given),
    }
    form.optional("set", Choice(&STATES), &mut state, "Goes down or comes back. Routing learns of it.");
    form.optional("rate", Speed, &mut rate, "Sends at this rate from now on. Routing learns of it.");
    form.optional(
        "loss",
        Fraction,
        &mut loss,
        "Loses each frame with this probability, silently; 0 ends it. Routing does not learn of it.",
    );
    form.optional(
        "blackhole",
        Fraction,
        &mut blackhole,
        "The switch drops every packet of this fraction of flows, silently; 0 ends it. Routing does not learn of it.",
    );
    let given = [
        state.map(|state| if state == STATES[0] { Effect::Down } else { Effect::Up }),
        rate.map(Effect::Rate),
        loss.map(Effect::Loss),
        blackhole.map(Effect::Blackhole),
    ];
    let mut given = given.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(one), None) => *effect = Some(one),
        _ => form.refuse(
            "",
            "it is not said what happens".to_owned(),
            "give one of `set`, `rate`, `loss`, `blackhole`".to_owned(),
        ),
    }
}
