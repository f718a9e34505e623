//! Keys of RDMA transports.

use super::messages::{visit_queue_pairs, visit_semantics};
use anabranch_fabric::Rate;
use anabranch_form::Form;
use anabranch_form::unit::{Bytes, Choice, Count, Flag, Positive, Speed, Time};
use anabranch_sim::transport::control::{DcqcnSettings, HpccSettings, Law, SwiftSettings, TimelySettings};
use anabranch_sim::transport::roce::{Completion, Recovery, Roce, Semantics};

/// Congestion controls of RoCE.
pub(crate) const CONTROLS: [&str; 5] = ["dcqcn", "timely", "swift", "hpcc", "none"];

/// What becomes of packets that arrive out of order.
const RECOVERIES: [&str; 2] = ["go-back-n", "selective"];

/// When a flow has finished.
const COMPLETIONS: [&str; 2] = ["delivered", "acknowledged"];

const PS_PER_US: u64 = 1_000_000;

/// Least frame of an answer that may be asked for, and largest.
const ANSWER: Bytes = Bytes { least: 1, most: 1500 };

/// RoCE with this congestion control and go-back-N.
pub(crate) fn roce(control: &str) -> Roce {
    Roce { law: law(control), ..Roce::plain() }
}

/// The same with selective recovery, with the timeouts of IRN.
pub(crate) fn selective() -> Roce {
    let recovery = Recovery::Selective { rto_low_ps: 100 * PS_PER_US };
    Roce { recovery, rto_ps: 320 * PS_PER_US, ..roce(CONTROLS[0]) }
}

/// The same with send semantics.
pub(crate) fn send() -> Roce {
    Roce { semantics: Semantics::SEND, ..roce(CONTROLS[0]) }
}

fn law(control: &str) -> Law {
    match control {
        "dcqcn" => Law::Dcqcn(DcqcnSettings::DEFAULT),
        "timely" => Law::Timely(TimelySettings::DEFAULT),
        "swift" => Law::Swift(SwiftSettings::DEFAULT),
        "hpcc" => Law::Hpcc(HpccSettings::DEFAULT),
        _ => Law::None,
    }
}

fn control_of(law: &Law) -> &'static str {
    match law {
        Law::Dcqcn(_) => CONTROLS[0],
        Law::Timely(_) => CONTROLS[1],
        Law::Swift(_) => CONTROLS[2],
        Law::Hpcc(_) => CONTROLS[3],
        Law::None | Law::Nscc(_) => CONTROLS[4],
    }
}

/// The keys.
pub(crate) fn visit_roce(form: &mut impl Form, roce: &mut Roce) {
    let mut control = control_of(&roce.law);
    form.kind(
        "control",
        Choice(&CONTROLS),
        &mut control,
        "Congestion control: DCQCN (Zhu and others, SIGCOMM 2015), TIMELY (Mittal and others, SIGCOMM 2015), Swift (Kumar \
         and others, SIGCOMM 2020), HPCC (Li and others, SIGCOMM 2019; it needs `fabric.preset`); or none.",
    );
    if control != control_of(&roce.law) {
        roce.law = law(control);
    }
    match &mut roce.law {
        Law::Dcqcn(dcqcn) => visit_dcqcn(form, dcqcn),
        Law::Timely(timely) => visit_timely(form, timely),
        Law::Swift(swift) => visit_swift(form, swift),
        Law::Hpcc(hpcc) => visit_hpcc(form, hpcc),
        Law::None | Law::Nscc(_) => {}
    }
    visit_recovery(form, roce);
    visit_notification(form, roce);
    visit_queue_pairs(form, &mut roce.queue_pairs);
    visit_semantics(form, &mut roce.semantics);
    visit_completion(form, &mut roce.completion);
    visit_answer(form, &mut roce.answer_bytes);
}

fn visit_recovery(form: &mut impl Form, roce: &mut Roce) {
    let selective = matches!(roce.recovery, Recovery::Selective { .. });
    let mut word = RECOVERIES[usize::from(selective)];
    form.kind(
        "recovery",
        Choice(&RECOVERIES),
        &mut word,
        "What becomes of packets that arrive out of order. Go-back-N: the receiver discards them and asks for everything \
         from the first gap on. Selective: it keeps them, and the sender sends the gaps again (IRN: Mittal and others, \
         SIGCOMM 2018).",
    );
    if selective != (word == RECOVERIES[1]) {
        let other = if selective { Roce::plain() } else { self::selective() };
        (roce.recovery, roce.rto_ps) = (other.recovery, other.rto_ps);
    }
    form.key("rto", Time, &mut roce.rto_ps, "Timeout without an answer (IRN's paper: 320 us); it doubles with each timeout in a row, six times at most.");
    refuse_nothing(form, "rto", roce.rto_ps);
    match &mut roce.recovery {
        Recovery::GoBackN { nack_ps } => {
            form.key("nack_interval", Time, nack_ps, "Time until a receiver asks again for the same gap.");
        }
        Recovery::Selective { rto_low_ps } => {
            form.key(
                "rto_low",
                Time,
                rto_low_ps,
                "Timeout while no more than three packets are in flight, too few to show a gap.",
            );
            refuse_nothing(form, "rto_low", *rto_low_ps);
        }
    }
    form.optional(
        "window",
        Bytes::SOME,
        &mut roce.window_bytes,
        "Most payload in flight. Where it is not given: with selective recovery what the host's link carries in the \
         longest round trip of the empty fabric, with go-back-N no limit.",
    );
}

pub(super) fn refuse_nothing(form: &mut impl Form, key: &str, time_ps: u64) {
    if time_ps == 0 {
        form.refuse(
            key,
            "`0 s` would time out at once".to_owned(),
            "give a time such as \"320 us\"".to_owned(),
        );
    }
}

fn visit_notification(form: &mut impl Form, roce: &mut Roce) {
    form.key(
        "cnp_interval",
        Time,
        &mut roce.cnp.interval_ps,
        "Least time between two congestion notifications of a receiver to a sender (DCQCN's paper: 50 us). `0 s`: one \
         for each marked packet.",
    );
    form.key(
        "cnp_in_answer",
        Flag,
        &mut roce.cnp.in_answer,
        "Notifications are a bit of the acknowledgement, as in conweave-ns3, instead of a packet of their own.",
    );
    form.key(
        "cnp_out_of_order",
        Flag,
        &mut roce.cnp.out_of_order,
        "Packets that arrive out of order cause notifications too, as in conweave-ns3: every reordering costs rate.",
    );
}

pub(super) fn visit_completion(form: &mut impl Form, completion: &mut Completion) {
    let mut word = COMPLETIONS[usize::from(*completion == Completion::Acknowledged)];
    form.key(
        "completion",
        Choice(&COMPLETIONS),
        &mut word,
        "When a flow has finished: its last byte is at the receiver (as of all other transports), or its sender has the \
         acknowledgement (completion of an RDMA write; what htsim and conweave-ns3 print).",
    );
    *completion = if word == COMPLETIONS[1] { Completion::Acknowledged } else { Completion::Delivered };
}

pub(super) fn visit_answer(form: &mut impl Form, answer_bytes: &mut u16) {
    let mut bytes = u64::from(*answer_bytes);
    form.key("answer", ANSWER, &mut bytes, "Frame of an acknowledgement or notification.");
    *answer_bytes = bytes as u16;
}

/// A step of the rate, which follows the link's rate where it is not given.
fn visit_step(form: &mut impl Form, name: &'static str, step_bps: &mut Option<u64>, meaning: &'static str) {
    let mut step = step_bps.and_then(Rate::from_bps);
    form.optional(name, Speed, &mut step, meaning);
    *step_bps = step.map(Rate::bps);
}

/// The least rate, above zero.
fn visit_rate_min(form: &mut impl Form, rate_min_bps: &mut u64) {
    let mut rate = Rate::from_bps(*rate_min_bps).unwrap_or(Rate::FASTEST);
    form.key("rate_min", Speed, &mut rate, "Least rate.");
    *rate_min_bps = rate.bps();
}

fn visit_dcqcn(form: &mut impl Form, dcqcn: &mut DcqcnSettings) {
    form.key("gain", Positive { most: 1.0 }, &mut dcqcn.gain, "Gain g of the estimate alpha of congestion.");
    for (name, time_ps, meaning) in [
        ("alpha_interval", &mut dcqcn.alpha_ps, "Time between two updates of alpha."),
        ("decrease_interval", &mut dcqcn.decrease_ps, "Time between two decreases, if notifications came."),
        ("increase_interval", &mut dcqcn.increase_ps, "Time between two increases."),
    ] {
        form.key(name, Time, time_ps, meaning);
        refuse_nothing(form, name, *time_ps);
    }
    form.key(
        "fast_recovery",
        Count { least: 0, most: 1000 },
        &mut dcqcn.recovery,
        "Increases towards the target before the target itself rises.",
    );
    visit_step(
        form,
        "additive",
        &mut dcqcn.additive_bps,
        "Step of the target in the first increase after that; where it is not given, a 2500th of the link's rate.",
    );
    visit_step(
        form,
        "hyper",
        &mut dcqcn.hyper_bps,
        "Step of the target in each later increase; where it is not given, a 1000th of the link's rate.",
    );
    visit_rate_min(form, &mut dcqcn.rate_min_bps);
    form.key(
        "clamp_target",
        Flag,
        &mut dcqcn.clamp_target,
        "The target falls to the present rate with each decrease, also with those that follow one another.",
    );
}

fn visit_timely(form: &mut impl Form, timely: &mut TimelySettings) {
    form.key(
        "gain",
        Positive { most: 1.0 },
        &mut timely.gain,
        "Gain alpha of the moving average of the difference of round trips.",
    );
    form.key("beta", Positive { most: 1.0 }, &mut timely.beta, "Factor of decreases.");
    form.key("rtt_low", Time, &mut timely.low_ps, "Round trip below which the rate always rises.");
    form.key("rtt_high", Time, &mut timely.high_ps, "Round trip above which the rate always falls.");
    form.key("rtt_least", Time, &mut timely.least_rtt_ps, "Round trip by which differences are divided.");
    refuse_nothing(form, "rtt_least", timely.least_rtt_ps);
    if timely.low_ps > timely.high_ps {
        form.refuse("rtt_low", "it is above rtt_high".to_owned(), "give a smaller one".to_owned());
    }
    visit_step(
        form,
        "additive",
        &mut timely.additive_bps,
        "Step of an increase; where it is not given, a 2500th of the link's rate.",
    );
    visit_rate_min(form, &mut timely.rate_min_bps);
}

fn visit_swift(form: &mut impl Form, swift: &mut SwiftSettings) {
    form.key(
        "queueing",
        Time,
        &mut swift.queueing_ps,
        "Round trip to aim for, on top of the longest of the empty fabric.",
    );
    form.key(
        "scaling",
        Time,
        &mut swift.range_ps,
        "Largest addition to that for small windows, which tell that many flows share the path.",
    );
    form.key("beta", Positive { most: 1.0 }, &mut swift.beta, "Factor of decreases.");
    form.key(
        "decrease_most",
        Positive { most: 1.0 },
        &mut swift.decrease_most,
        "Largest share of the window that one decrease takes.",
    );
    form.key(
        "growth",
        Positive { most: 1000.0 },
        &mut swift.additive,
        "Full frames that the window grows by in a round trip.",
    );
}

fn visit_hpcc(form: &mut impl Form, hpcc: &mut HpccSettings) {
    form.key(
        "utilization",
        Positive { most: 1.0 },
        &mut hpcc.utilization,
        "Share of what the busiest link of the path holds that is to be in flight on it (eta).",
    );
    form.key(
        "stages",
        Count { least: 0, most: 1000 },
        &mut hpcc.stages,
        "Round trips of additive increase in a row before the window goes to its aim at once (maxStage).",
    );
    let mut step_bytes = hpcc.additive_bytes.map(|bytes| bytes as u64);
    form.optional(
        "step",
        Bytes::SOME,
        &mut step_bytes,
        "What the window grows by in a round trip (W_AI); where it is not given, a hundredth of what `utilization` leaves \
         of the first window.",
    );
    hpcc.additive_bytes = step_bytes.map(|bytes| bytes as f64);
}
