//! `[routing.scheme]` of `dbb`.

use crate::dbb::dispatch::DispatchRule;
use crate::dbb::parameters::{Dbb, PairBandwidth};
use crate::dbb::pick::Counter;
use anabranch_form::Keys;
use anabranch_form::unit::{Choice, Count, Nanoseconds};
use anabranch_form::word;
use anabranch_plan::FlowChoice;
use anabranch_split::picks::flow_cycle::Start;

const STARTS: [&str; 2] = ["first", "random"];

/// The keys.
pub(crate) fn visit(form: &mut impl Keys, dbb: &mut Dbb) {
    word(
        form,
        "counter",
        &["shared", "independent"],
        &[Counter::Shared, Counter::Independent],
        &mut dbb.switches.counter,
        "Who counts at each switch: all packets of a pair of leaves together, or each flow by itself.",
    );
    let mut start = STARTS[usize::from(dbb.switches.start() == Start::Random)];
    form.key(
        "offset",
        Choice(&STARTS),
        &mut start,
        "Where counters begin. If it is not given: shared ones at the first entry, those of flows at a random one.",
    );
    let read = if start == STARTS[0] { Start::First } else { Start::Random };
    if read != dbb.switches.start() {
        dbb.switches.start = Some(read);
    }
    form.key(
        "idle",
        Nanoseconds,
        &mut dbb.switches.idle_ns,
        "Silence after which a flow's counter is forgotten.",
    );
    word(
        form,
        "rule",
        &["quota", "literal"],
        &[DispatchRule::Quota, DispatchRule::Literal],
        &mut dbb.rule,
        "Whom a switch may choose among when the cycle is laid out: next hops whose link has packets left, or all as \
         Algorithm 1 is printed.",
    );
    word(
        form,
        "flow",
        &["balanced", "any"],
        &[FlowChoice::Balanced, FlowChoice::Any],
        &mut dbb.flow,
        "Which maximum flow: the one that loads links most evenly, or the first that is found.",
    );
    word(
        form,
        "multi",
        &["full", "share"],
        &[PairBandwidth::Full, PairBandwidth::Shared],
        &mut dbb.bandwidth,
        "What of a link's bandwidth a pair of leaves plans with: all, or its part among the pairs that may use the link.",
    );
    form.key(
        "max_n",
        Count { least: 1, most: 65_536 },
        &mut dbb.units.cycle_max,
        "Longest dispatching cycle, in packets.",
    );
    form.key(
        "quantum",
        Count { least: 1, most: 65_536 },
        &mut dbb.units.levels,
        "Packets of a cycle over the link that carries most, where the balanced flow's exact cycle would be longer than \
         `max_n`.",
    );
}
