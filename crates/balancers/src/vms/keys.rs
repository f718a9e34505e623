//! VMS's parameters.

use crate::vms::pick::Selection;
use crate::vms::settings::Vms;
use anabranch_form::unit::{Choice, Count, Nanoseconds};
use anabranch_form::{Keys, millionths};

const KEYS: [&str; 2] = ["unit", "flow"];
/// Packets in a window at most: what travels of a count of them.
const WINDOW: Count = Count { least: 1, most: 1 << 10 };

pub(crate) fn visit(form: &mut impl Keys, vms: &mut Vms) {
    form.optional(
        "round",
        Nanoseconds,
        &mut vms.round_ns,
        "Time between two moves of a channel's weight or window. If it is not given: the round trip of an empty path.",
    );
    form.optional(
        "lost_after",
        Nanoseconds,
        &mut vms.lost_after_ns,
        "Time after which packets that the receiver has not reported count as lost. If it is not given: three round \
         trips of an empty path, 1 ms at least.",
    );
    let parameters = &mut vms.rules;
    if parameters.selection == Selection::Window {
        form.key("window", WINDOW, &mut parameters.window_initial, "Packets in a channel's window at first.");
        form.key("window_min", WINDOW, &mut parameters.window_min, "Packets in a window at least.");
        form.key("window_max", WINDOW, &mut parameters.window_max, "Packets in a window at most.");
        return;
    }
    millionths(form, "gain", &mut parameters.gain, "What a weight gains in a round without marks (a).");
    millionths(
        form,
        "weight_min",
        &mut parameters.weight_min,
        "Least weight; above zero, or a channel is never tried again.",
    );
    if parameters.selection != Selection::HeavierOfTwo {
        let mut key = KEYS[usize::from(parameters.selection == Selection::ScoreOfFlow)];
        form.key(
            "key",
            Choice(&KEYS),
            &mut key,
            "What is scored beside the channel: the flow and its unit of 64 KB, or the flow alone.",
        );
        parameters.selection = if key == KEYS[0] { Selection::ScoreOfUnit } else { Selection::ScoreOfFlow };
    }
}
