//! `[routing.scheme]` of `wino`.

use crate::wino::parameters::{SliceBandwidth, Wino};
use crate::wino::pick::{Meter, RoundRobin};
use anabranch_form::Keys;
use anabranch_form::unit::{Capacity, Count, Fraction, Nanoseconds};
use anabranch_form::word;
use anabranch_plan::{SliceOrder, SlicePick, SliceScope};

/// The keys.
pub(crate) fn visit(form: &mut impl Keys, wino: &mut Wino) {
    word(
        form,
        "scope",
        &["pair", "network"],
        &[SliceScope::Pair, SliceScope::Network],
        &mut wino.scope,
        "Whether each pair of leaves has a slice size of its own, or all that an asymmetry affects have one.",
    );
    let slices = &mut wino.slices;
    word(
        form,
        "pick",
        &SlicePick::NAMES,
        &SlicePick::ALL,
        &mut slices.pick,
        "What is done where the common divisor of the bandwidths is below `slice_min` or makes too many slices: the \
         size that loses least to waste and to meters, the least that the limits allow, or the one that wastes least. \
         `least-loss` decides as well wherever a bandwidth was measured.",
    );
    form.key("slice_min", Capacity, &mut slices.slice_min_bps, "Least bandwidth of a slice.");
    form.optional(
        "slice_max",
        Capacity,
        &mut slices.slice_max_bps,
        "Largest bandwidth of a slice: the common divisor is divided further until it is no larger.",
    );
    if slices.slice_max_bps.is_some_and(|most| most < slices.slice_min_bps) {
        let hint = "raise it, or lower slice_min".to_owned();
        form.refuse("slice_max", "it is below slice_min".to_owned(), hint);
    }
    form.optional(
        "quantum",
        Capacity,
        &mut slices.quantum_bps,
        "Bandwidths of paths are rounded down to multiples of this. If it is not given: 10 Mbps, or 1 Mbps for a pair \
         with a path below 1 Gbps.",
    );
    form.key(
        "label_bits",
        Count { least: 1, most: 24 },
        &mut slices.label_bits,
        "Bits of the label that names a slice, zero being none: 6 in a DSCP field, 24 with VXLAN.",
    );
    word(
        form,
        "order",
        &["interleave", "block"],
        &[SliceOrder::Interleaved, SliceOrder::Block],
        &mut slices.order,
        "The order in which packets take slices: one of each path before the next of any, or path by path.",
    );
    word(
        form,
        "share",
        &["none", "active"],
        &[SliceBandwidth::Full, SliceBandwidth::Active],
        &mut wino.bandwidth,
        "What of a link's bandwidth the slices of a pair of leaves are cut from: all, or its part among the pairs that \
         sent since the last poll.",
    );
    form.key(
        "burst",
        Nanoseconds,
        &mut wino.slices.burst_ns,
        "What a slice may send at once, as the time its bandwidth takes for it; two frames at least.",
    );
    let switches = &mut wino.switches;
    word(
        form,
        "meter",
        &["police", "shape", "off"],
        &[Meter::Police, Meter::Shape, Meter::Off],
        &mut switches.meter,
        "What becomes of packets that exceed their slice: they are dropped, they wait, or nothing.",
    );
    form.key(
        "queue",
        Nanoseconds,
        &mut switches.wait_max_ns,
        "Longest wait before a slice that shapes; what would wait longer is dropped.",
    );
    word(
        form,
        "round_robin",
        &["flow", "host"],
        &[RoundRobin::Flow, RoundRobin::Host],
        &mut switches.round_robin,
        "Who takes slices in turn: each flow from a random one on, or each host over all it sends to a leaf.",
    );
    form.key("idle", Nanoseconds, &mut switches.idle_ns, "Silence after which a flow's turn is forgotten.");
    form.key(
        "poll",
        Nanoseconds,
        &mut wino.poll_ns,
        "Time between two measurements of traffic that is in no slice (pinned flows: north-south traffic).",
    );
    form.key(
        "hysteresis",
        Fraction,
        &mut wino.hysteresis,
        "Part of a link's rate by which traffic in no slice must change until slices are cut anew; less than half of it \
         is none.",
    );
    form.key(
        "install_delay",
        Nanoseconds,
        &mut wino.install_delay_ns,
        "From what the controller learns to new rules in leaves and hosts.",
    );
}
