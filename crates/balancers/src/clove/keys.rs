//! Clove's parameters.

use crate::clove::pick::{Parameters, Selection};
use crate::clove::settings::Clove;
use crate::conga::keys::visit_register;
use anabranch_form::unit::{Choice, Nanoseconds};
use anabranch_form::{Keys, millionths};

const NAMES: [&str; 3] = ["turns", "random", "blocks"];
const SELECTIONS: [Selection; 3] = [Selection::Turns, Selection::Random, Selection::Blocks];

pub(crate) fn visit(form: &mut impl Keys, clove: &mut Clove) {
    form.optional(
        "gap",
        Nanoseconds,
        &mut clove.gap_ns,
        "Longest pause within a flowlet. If it is not given: the round trip of an empty path, 150 us at least.",
    );
    let parameters = &mut clove.rules;
    if parameters.selection == Selection::LeastUtilised {
        return visit_telemetry(form, parameters);
    }
    if parameters.selection != Selection::Score {
        let known = SELECTIONS.iter().position(|selection| *selection == parameters.selection);
        let mut name = NAMES[known.unwrap_or(0)];
        form.key(
            "selection",
            Choice(&NAMES),
            &mut name,
            "How weights become paths of flowlets: smooth weighted round robin, at random as in the public ns-3 model, or \
             in blocks that begin anew, all flowlets forgotten, when a weight changes, as the VALO paper has it.",
        );
        let named = NAMES.iter().position(|known| *known == name);
        parameters.selection = SELECTIONS[named.unwrap_or(0)];
    }
    form.optional(
        "half_rtt",
        Nanoseconds,
        &mut clove.half_rtt_ns,
        "Least time between two cuts of one path's weight. If it is not given: half the round trip of an empty path.",
    );
    millionths(
        form,
        "cut",
        &mut parameters.cut_ppm,
        "Part of its weight that a marked path loses, in millionths at least.",
    );
    form.optional(
        "congested",
        Nanoseconds,
        &mut clove.congested_ns,
        "How long after a mark a path inherits nothing from others. If it is not given: the round trip of an empty path.",
    );
}

fn visit_telemetry(form: &mut impl Keys, parameters: &mut Parameters) {
    form.key(
        "ageing",
        Nanoseconds,
        &mut parameters.ageing_ns,
        "Age at which the utilisation of a path counts as zero, so that it is tried again.",
    );
    visit_register(form, &mut parameters.period_ns, &mut parameters.alpha);
}
