//! Hermes's parameters.

use crate::hermes::pick::Parameters;
use anabranch_form::unit::{Bytes, Count, Flag, Nanoseconds};
use anabranch_form::{Keys, millionths};

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    visit_round_trips(form, parameters);
    visit_moves(form, parameters);
    visit_failures(form, parameters);
    form.key(
        "probe_interval",
        Nanoseconds,
        &mut parameters.probe_interval_ns,
        "Time between two rounds of probes from a rack to another; 0 s: no probes.",
    );
}

fn visit_round_trips(form: &mut impl Keys, parameters: &mut Parameters) {
    form.optional(
        "rtt_base",
        Nanoseconds,
        &mut parameters.rtt_base_ns,
        "Round trip of an empty path, above which the thresholds are; if not given, the least that was measured.",
    );
    let times = [
        (
            "rtt_low",
            &mut parameters.rtt_low_ns,
            "A path with a round trip below this, and few marks, is good.",
        ),
        (
            "rtt_high",
            &mut parameters.rtt_high_ns,
            "A path with a round trip above this, and many marks, is congested.",
        ),
        (
            "better_rtt",
            &mut parameters.better_rtt_ns,
            "A path is notably better if its round trip is shorter by more than this.",
        ),
    ];
    for (name, time_ns, meaning) in times {
        form.key(name, Nanoseconds, time_ns, meaning);
    }
    form.optional(
        "rtt_step",
        Nanoseconds,
        &mut parameters.rtt_step_ns,
        "Grey paths are compared by their round trips in steps of this first, and by load within a step; by load \
         alone if not given.",
    );
    millionths(
        form,
        "sample_weight",
        &mut parameters.sample_weight,
        "Weight of a new sample in the averages of round trips and marks.",
    );
    millionths(form, "marked_high", &mut parameters.marked_high, "Marks are many from this fraction on.");
    millionths(
        form,
        "better_marked",
        &mut parameters.better_marked,
        "A path is notably better if its fraction of marks is lower by more than this.",
    );
    form.key("by_marks", Flag, &mut parameters.by_marks, "Whether marks count; round trips alone if not.");
    form.optional(
        "ageing",
        Nanoseconds,
        &mut parameters.ageing_ns,
        "Age at which nothing is known of a path any more; never if not given.",
    );
}

fn visit_moves(form: &mut impl Keys, parameters: &mut Parameters) {
    form.key("any_good", Flag, &mut parameters.any_good, "Whether a good path need not be notably better.");
    form.key(
        "sent_min",
        Bytes { least: 0, most: 1 << 40 },
        &mut parameters.sent_min_bytes,
        "A flow that sent no more than this stays where it is (S).",
    );
    millionths(
        form,
        "rate_max",
        &mut parameters.rate_max,
        "A flow that sends faster than this part of its host's link stays where it is (R).",
    );
    form.key(
        "by_flows",
        Flag,
        &mut parameters.by_flows,
        "Whether paths of one class are compared by the flows a host has on them, instead of by what it sends.",
    );
    millionths(
        form,
        "move_probability",
        &mut parameters.move_probability,
        "Probability that a flow which may move looks for a better path.",
    );
    form.key("guard", Nanoseconds, &mut parameters.guard_ns, "Least time between two such looks of a flow.");
}

fn visit_failures(form: &mut impl Keys, parameters: &mut Parameters) {
    let mut timeouts = parameters.timeouts_max.into();
    form.key(
        "timeouts",
        Count { least: 1, most: u8::MAX.into() },
        &mut timeouts,
        "Timeouts in a row, of flows that a path delivered nothing of, which make it failed.",
    );
    parameters.timeouts_max = timeouts as u8;
    millionths(
        form,
        "loss_high",
        &mut parameters.loss_high,
        "A path that is not congested has failed if more than this part of its packets was sent again.",
    );
    form.key(
        "loss_interval",
        Nanoseconds,
        &mut parameters.loss_interval_ns,
        "Interval in which packets sent again are counted.",
    );
    form.key(
        "loss_packets",
        Count { least: 1, most: 1 << 20 },
        &mut parameters.loss_packets_min,
        "Fewer packets in an interval prove nothing.",
    );
    form.optional(
        "forgive",
        Nanoseconds,
        &mut parameters.forgive_ns,
        "Time after which a failed path is tried again; never if not given, unless its links change.",
    );
}
