//! `balance = "tdlb"`.

use crate::luopan::keys::frame;
use crate::tdlb::parameters::{DelayFeedback, Probing, Tdlb};
use crate::tdlb::pick::delays::Algorithm;
use crate::tdlb::pick::separator::Record;
use crate::tdlb::pick::{Clear, Detect, Initial, Parameters};
use anabranch_form::Keys;
use anabranch_form::refuse_zero;
use anabranch_form::unit::{Bytes, Choice, Count, Nanoseconds, Positive};
use anabranch_form::word;

/// Flows that sent within a probe's period, where no other window is given.
const WINDOW_NS: u64 = 100_000;
const RECORDS: [&str; 2] = ["queue", "window"];

/// The keys.
pub(crate) fn visit(form: &mut impl Keys, tdlb: &mut Tdlb) {
    word(
        form,
        "detect",
        &["uplink", "lasthop", "both", "nowhere"],
        &[Detect::Uplink, Detect::LastHop, Detect::Both, Detect::Nowhere],
        &mut tdlb.rules.detect,
        "Where congestion is detected: at the sender's leaf, at the receiver's, at both, or nowhere.",
    );
    form.optional(
        "phi",
        Bytes { least: 1, most: 1 << 31 },
        &mut tdlb.threshold_bytes,
        "Queue above which a port may be congested. If it is not given: half of the port's buffer, or of 300 KB at \
         10 Gbps and in proportion where that has no limit in bytes.",
    );
    let mut factor = f64::from(tdlb.rules.delay_factor_milli) / 1000.0;
    form.key(
        "delay_factor",
        Positive { most: 1000.0 },
        &mut factor,
        "A path is slow if it takes longer than its least delay times this, to a thousandth.",
    );
    tdlb.rules.delay_factor_milli = (factor * 1000.0).round() as u32;
    visit_record(form, &mut tdlb.rules);
    form.key(
        "array",
        Count { least: 1, most: 1 << 16 },
        &mut tdlb.array,
        "Entries of a leaf's hash array; rounded up to a power of two.",
    );
    form.key("period", Nanoseconds, &mut tdlb.period_ns, "Time between two probes of a path.");
    refuse_zero(form, "period", tdlb.period_ns);
    frame(form, &mut tdlb.probe_bytes);
    word(
        form,
        "probing",
        &["pairs-in-use", "all-pairs"],
        &[Probing::PairsInUse, Probing::AllPairs],
        &mut tdlb.probing,
        "A leaf probes the leaves to which a packet left within `idle`, or all other leaves as the paper does.",
    );
    word(
        form,
        "feedback",
        &["echo", "symmetric"],
        &[DelayFeedback::Echo, DelayFeedback::Symmetric],
        &mut tdlb.feedback,
        "The other end answers a probe with the delay it measured, or the delay of its own probe is taken for it.",
    );
    form.key(
        "skew",
        Nanoseconds,
        &mut tdlb.skew_ns,
        "Clocks of leaves differ from true time by at most this.",
    );
    word(
        form,
        "alg2",
        &["table", "literal"],
        &[Algorithm::Table, Algorithm::Literal],
        &mut tdlb.rules.algorithm,
        "The timeout from the latest delay of every path, or from two extremes that go stale (Algorithm 2 as printed).",
    );
    form.optional(
        "timeout_min",
        Nanoseconds,
        &mut tdlb.timeout_min_ns,
        "Least flowlet timeout. If it is not given: the time of a frame on the fastest link.",
    );
    form.key("timeout_max", Nanoseconds, &mut tdlb.rules.timeout_max_ns, "Largest flowlet timeout.");
    form.key(
        "tie",
        Nanoseconds,
        &mut tdlb.rules.tie_ns,
        "Paths within this of the fastest are drawn at random; 0 s: the fastest alone.",
    );
    word(
        form,
        "initial",
        &["ecmp", "fastest"],
        &[Initial::Ecmp, Initial::Fastest],
        &mut tdlb.rules.initial,
        "New flows go by the fastest path that is not congested, or by their hash unless that path is congested.",
    );
    form.key(
        "idle",
        Nanoseconds,
        &mut tdlb.rules.idle_ns,
        "Pause after which a flow counts as new, and a pair of leaves as unused; a leaf ends all probes when no packet left \
         or reached its hosts for so long.",
    );
}

/// The keys of the hash array.
fn visit_record(form: &mut impl Keys, rules: &mut Parameters) {
    let mut record = RECORDS[usize::from(matches!(rules.record, Record::Window(_)))];
    form.key(
        "record",
        Choice(&RECORDS),
        &mut record,
        "Which flows are to blame when a queue is too long: those in it, or all that sent there within a `window`.",
    );
    rules.record = match rules.record {
        Record::Window(window_ns) if record == RECORDS[1] => Record::Window(window_ns),
        _ if record == RECORDS[1] => Record::Window(WINDOW_NS),
        _ => Record::Queue,
    };
    if let Record::Window(window_ns) = &mut rules.record {
        form.key("window", Nanoseconds, window_ns, "How far back it is looked.");
    }
    word(
        form,
        "clear",
        &["relief", "never"],
        &[Clear::Relief, Clear::Never],
        &mut rules.clear,
        "When they are forgotten: when the queue is down to phi / 2 or after `hold`, or never (Algorithm 1 as printed).",
    );
    form.key(
        "hold",
        Nanoseconds,
        &mut rules.hold_ns,
        "How long congestion is believed if it is not found again; 0 s: twice the slowest path's delay.",
    );
}
