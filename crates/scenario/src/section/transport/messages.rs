//! Keys of RDMA transports about messages: what they need at their receiver, and over which queue pairs they go.

use anabranch_form::Form;
use anabranch_form::unit::{Choice, Count, Flag, OneOrMore, Time, Unit};
use anabranch_sim::transport::roce::Semantics;
use anabranch_sim::transport::{QueuePairMode, QueuePairs, SourcePorts};

const SEMANTICS: [&str; 2] = ["write", "send"];
const MODES: [&str; 2] = ["split", "round-robin"];

/// What a message needs at its receiver.
pub(super) fn visit_semantics(form: &mut impl Form, semantics: &mut Semantics) {
    let mut word = SEMANTICS[usize::from(*semantics != Semantics::Write)];
    form.kind(
        "semantics",
        Choice(&SEMANTICS),
        &mut word,
        "What a message needs at its receiver. An RDMA write: nothing. A send: a receive that was posted, which messages of \
         graphs have once their `recv` has begun, and all other flows always. Without one the receiver answers RNR NAK, and \
         the sender begins anew after `rnr_timer`, as often as it takes (InfiniBand specification, 9.7.5.2.8; retry count 7).",
    );
    match (word, *semantics) {
        ("send", Semantics::Write) => *semantics = Semantics::SEND,
        ("write", _) => *semantics = Semantics::Write,
        _ => {}
    }
    let Semantics::Send { rnr_ps } = semantics else { return };
    form.key(
        "rnr_timer",
        Time,
        rnr_ps,
        "Time that an RNR NAK asks for, one of the 32 that it can name, from 10 us to 655.36 ms (0.64 ms: NCCL, perftest).",
    );
    if !Semantics::RNR_TIMERS_PS.contains(rnr_ps) {
        let above = Semantics::RNR_TIMERS_PS.partition_point(|time_ps| time_ps < rnr_ps);
        let near = &Semantics::RNR_TIMERS_PS[above.saturating_sub(1)..(above + 1).min(32)];
        let near: Vec<String> = near.iter().map(|time_ps| Time.write(time_ps)).collect();
        let problem = format!("{} is no time that an RNR NAK can name", Time.write(rnr_ps));
        form.refuse("rnr_timer", problem, format!("give {}", near.join(" or ")));
    }
}

/// Queue pairs of messages.
pub(super) fn visit_queue_pairs(form: &mut impl Form, pairs: &mut QueuePairs) {
    let mut count = u32::from(pairs.count);
    form.key(
        "queue_pairs",
        Count { least: 1, most: 64 },
        &mut count,
        "Queue pairs of a message or, where they are persistent, of two hosts (NCCL_IB_QPS_PER_CONNECTION); of UEC: packet \
         delivery contexts. Each has a source port, and so perhaps a path, congestion control and numbers of its own.",
    );
    pairs.count = count as u8;
    let mut mode = MODES[usize::from(pairs.mode == QueuePairMode::RoundRobin)];
    form.key(
        "queue_pair_mode",
        Choice(&MODES),
        &mut mode,
        "How messages use them (NCCL_IB_SPLIT_DATA_ON_QPS): each message is split evenly over all, in multiples of 128 B; or \
         messages take them in turn.",
    );
    pairs.mode = if mode == MODES[1] { QueuePairMode::RoundRobin } else { QueuePairMode::Split };
    let mut source_ports = (!pairs.source_ports.as_slice().is_empty())
        .then(|| pairs.source_ports.as_slice().iter().map(|&port| port.into()).collect());
    form.optional(
        "source_ports",
        OneOrMore(Count { least: 1, most: u16::MAX.into() }),
        &mut source_ports,
        "UDP source ports of the queue pairs, the first first, as `anabranch ports` chooses them, where switches are configured \
         to hash header fields (`routing.hash`). Those without one have Linux's function of their two numbers, of UEC dynamic \
         ports in turn.",
    );
    let given: Vec<u16> = source_ports.unwrap_or_default().into_iter().map(|port| port as u16).collect();
    if given.len() > usize::from(pairs.count) {
        let problem = format!("{} ports for {} queue pairs", given.len(), pairs.count);
        form.refuse("source_ports", problem, "give at most one for each queue pair".to_owned());
    }
    pairs.source_ports = SourcePorts::of(&given);
    form.key(
        "persistent",
        Flag,
        &mut pairs.persistent,
        "Two hosts keep their queue pairs from message to message, with source port and rate or window. Messages follow each \
         other on a queue pair: the next begins when the last byte of the one before has been sent. Otherwise each message has \
         new ones. Messages of graphs have kept ones anyway (`ordered`).",
    );
    if pairs.mode == QueuePairMode::RoundRobin && !pairs.persistent {
        let hint = "set persistent = true, or queue_pair_mode = \"split\"".to_owned();
        form.refuse(
            "queue_pair_mode",
            "messages with queue pairs of their own cannot take them in turn".to_owned(),
            hint,
        );
    }
}
