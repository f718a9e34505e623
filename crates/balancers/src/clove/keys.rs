//! Clove's parameters.

use crate::clove::pick::{Parameters, Selection};
use crate::conga::keys::visit_register;
use anabranch_form::unit::{Choice, Nanoseconds};
use anabranch_form::{Keys, millionths};

const SELECTIONS: [&str; 2] = ["turns", "random"];

/// The defaults under this selection.
pub(crate) fn with(selection: Selection) -> Parameters {
    Parameters { selection, ..Parameters::default() }
}

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    form.key("gap", Nanoseconds, &mut parameters.gap_ns, "Longest pause within a flowlet.");
    if parameters.selection == Selection::LeastUtilised {
        return visit_telemetry(form, parameters);
    }
    if parameters.selection != Selection::Score {
        let mut selection = SELECTIONS[usize::from(parameters.selection == Selection::Random)];
        form.key(
            "selection",
            Choice(&SELECTIONS),
            &mut selection,
            "How weights become paths of flowlets: smooth weighted round robin, or at random as in the public ns-3 model.",
        );
        parameters.selection = if selection == SELECTIONS[0] { Selection::Turns } else { Selection::Random };
    }
    form.key(
        "half_rtt",
        Nanoseconds,
        &mut parameters.interval_ns,
        "Least time between two cuts of one path's weight: half a round trip.",
    );
    millionths(
        form,
        "cut",
        &mut parameters.cut_ppm,
        "Part of its weight that a marked path loses, in millionths at least.",
    );
    form.key(
        "congested",
        Nanoseconds,
        &mut parameters.congested_ns,
        "How long after a mark a path inherits nothing from others.",
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
