//! Transports: every kind, with timeouts, windows and acknowledgements of any size.

use super::fabric::{LEAST_BPS, MOST_BPS};
use super::{Framing, Pace};
use crate::dice::{Dice, quoted, rate, size, time};
use crate::draft::{Draft, Table};

const KINDS: [&str; 7] = ["dctcp", "newreno", "cubic", "mptcp", "udp", "roce", "uec"];

/// Smallest upper limit of timeouts: a flow that cannot arrive times out until the end.
const RTO_MAX_PS: u64 = 2_000_000_000;

pub(super) fn draw(dice: &mut Dice, pace: Pace, framing: Framing, calm: bool, draft: &mut Draft) {
    let mut table = Table::new("[transport]");
    keys(dice, pace, framing, calm, &mut table);
    draft.tables.push(table);
}

/// The keys of a transport.
pub(super) fn keys(dice: &mut Dice, pace: Pace, framing: Framing, calm: bool, table: &mut Table) {
    let kind = match calm && dice.chance(0.7) {
        true => dice.pick(&["roce", "uec"]),
        false => KINDS[[0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6][dice.below(12) as usize]],
    };
    table.set("kind", quoted(kind));
    if kind == "udp" {
        let bits = u128::from(pace.packets * 8 * (framing.frame_bytes + framing.gap_bytes));
        let paced_bps = (bits * 1_000_000_000_000 / u128::from(pace.traffic_ps)) as u64;
        let bps = dice.magnitude(paced_bps / 10, paced_bps.saturating_mul(50)).clamp(LEAST_BPS, MOST_BPS);
        table.set("rate", rate(bps));
        return;
    }
    if kind == "roce" {
        rdma(dice, pace, framing, calm, table);
        return;
    }
    if kind == "uec" {
        uec(dice, pace, calm, table);
        return;
    }
    let mut maybe = |probability: f64, key: &str, value: &mut dyn FnMut(&mut Dice) -> String| {
        if dice.chance(probability) {
            let value = value(dice);
            table.set(key, value);
        }
    };
    if kind == "mptcp" {
        maybe(0.7, "subflows", &mut |dice| dice.magnitude(1, 9).to_string());
        maybe(0.3, "coupling", &mut |_| quoted("uncoupled"));
    } else {
        maybe(0.35, "persistent", &mut |_| "true".to_owned());
    }
    if kind == "dctcp" {
        maybe(0.2, "gain", &mut |dice| dice.pick(&["0.001", "0.5", "1.0"]).to_owned());
    } else {
        maybe(0.3, "ecn", &mut |_| "true".to_owned());
    }
    if kind == "cubic" {
        maybe(0.3, "hystart", &mut |_| "false".to_owned());
    }
    maybe(0.3, "initial_window", &mut |dice| dice.magnitude(1, 1000).to_string());
    maybe(0.3, "window_max", &mut |dice| {
        size(dice.magnitude(framing.payload_bytes.max(1460), 100 * framing.payload_bytes.max(1460)))
    });
    let (mut sack, mut by_time) = (true, false);
    maybe(0.2, "sack", &mut |_| {
        sack = false;
        "false".to_owned()
    });
    maybe(0.2, "dup_ack_threshold", &mut |dice| dice.magnitude(1, 1000).to_string());
    maybe(0.3, "rack", &mut |_| {
        by_time = true;
        "true".to_owned()
    });
    maybe(0.3, "ack_every", &mut |dice| dice.magnitude(1, 64).to_string());
    maybe(0.3, "handshake", &mut |_| "false".to_owned());
    maybe(0.6, "min_rto", &mut |dice| match dice.chance(0.3) {
        true => time(pace.grid_ps * dice.between(1, 4)),
        false => time(dice.magnitude(1_000_000, 4 * pace.traffic_ps)),
    });
    maybe(0.2, "initial_rto", &mut |dice| time(dice.magnitude(1_000_000, 40 * pace.traffic_ps)));
    let longest_ps = pace.traffic_ps.max(RTO_MAX_PS);
    maybe(0.2, "max_rto", &mut |dice| time(dice.magnitude(longest_ps, 400 * longest_ps)));
    maybe(0.2, "ack_delay", &mut |dice| time(dice.magnitude(1, pace.traffic_ps)));
    maybe(0.2, "reorder", &mut |dice| {
        let hold = time(dice.magnitude(1, pace.traffic_ps));
        match dice.chance(0.5) {
            true => format!("{{ hold = {hold} }}"),
            false => format!("{{ hold = {hold}, flowcell = {} }}", size(dice.magnitude(1, 100_000))),
        }
    });
    if sack && by_time {
        maybe(0.5, "dsack", &mut |_| "true".to_owned());
    }
}

/// The keys of RoCE.
fn rdma(dice: &mut Dice, pace: Pace, framing: Framing, calm: bool, table: &mut Table) {
    let mut maybe = |probability: f64, key: &str, value: &mut dyn FnMut(&mut Dice) -> String| {
        let drawn = dice.chance(probability);
        if drawn {
            let value = value(dice);
            table.set(key, value);
        }
        drawn
    };
    maybe(0.8, "control", &mut |dice| quoted(dice.pick(&["dcqcn", "timely", "swift", "hpcc", "none"])));
    let selective = maybe(0.5, "recovery", &mut |_| quoted("selective"));
    maybe(if calm { 0.3 } else { 0.9 }, "rto", &mut |dice| rdma_timeout(dice, pace));
    if selective {
        maybe(0.3, "rto_low", &mut |dice| {
            time(dice.magnitude(RTO_MAX_PS / 4, pace.traffic_ps.max(RTO_MAX_PS)))
        });
    } else {
        maybe(0.3, "nack_interval", &mut |dice| time(dice.magnitude(1, pace.traffic_ps)));
    }
    maybe(0.3, "window", &mut |dice| size(dice.magnitude(1, 200 * framing.payload_bytes)));
    maybe(0.3, "answer", &mut |dice| size(dice.magnitude(1, 1500)));
    maybe(0.3, "completion", &mut |_| quoted("acknowledged"));
    maybe(0.4, "cnp_interval", &mut |dice| time(dice.magnitude(1, pace.traffic_ps)));
    maybe(0.3, "cnp_in_answer", &mut |_| "true".to_owned());
    maybe(0.3, "cnp_out_of_order", &mut |_| "true".to_owned());
    if dice.chance(if calm { 0.5 } else { 0.2 }) {
        table.set("semantics", quoted("send"));
        table.set("rnr_timer", quoted(dice.pick(&["10 us", "640 us", "655.36 ms"])));
    }
    queue_pairs(dice, calm, table);
}

/// Queue pairs of RDMA.
fn queue_pairs(dice: &mut Dice, calm: bool, table: &mut Table) {
    if dice.chance(if calm { 0.3 } else { 0.5 }) {
        return;
    }
    table.set("queue_pairs", dice.magnitude(1, 64).to_string());
    let persistent = dice.chance(0.5);
    table.set("persistent", persistent.to_string());
    if persistent && dice.chance(0.5) {
        table.set("queue_pair_mode", quoted("round-robin"));
    }
}

/// The keys of UEC.
fn uec(dice: &mut Dice, pace: Pace, calm: bool, table: &mut Table) {
    let control = dice.pick(&["nscc", "rccc", "rccc", "nscc+rccc"]);
    table.set("control", quoted(control));
    let mut maybe = |probability: f64, key: &str, value: &mut dyn FnMut(&mut Dice) -> String| {
        if dice.chance(probability) {
            let value = value(dice);
            table.set(key, value);
        }
    };
    if control != "rccc" {
        maybe(0.3, "target", &mut |dice| time(dice.magnitude(1, pace.traffic_ps)));
        maybe(0.3, "first_window", &mut |dice| size(dice.magnitude(1, 1_000_000)));
        maybe(0.3, "quick_gate", &mut |dice| dice.below(63).to_string());
    }
    if control != "nscc" {
        maybe(0.3, "credit_share", &mut |dice| dice.pick(&["0.01", "0.5", "1.0"]).to_owned());
        maybe(0.3, "grant", &mut |dice| size(256 * dice.magnitude(1, 1000)));
        maybe(0.3, "credit_window", &mut |dice| size(dice.magnitude(1, 1_000_000)));
    }
    maybe(0.3, "ack_bytes", &mut |dice| size(dice.magnitude(1, 1_000_000)));
    maybe(0.3, "completion", &mut |_| quoted("acknowledged"));
    maybe(0.3, "answer", &mut |dice| size(dice.magnitude(1, 1500)));
    // Where nothing fails, nothing times out for ever.
    maybe(if calm { 0.3 } else { 1.0 }, "rto", &mut |dice| rdma_timeout(dice, pace));
    queue_pairs(dice, calm, table);
}

/// Timeout of RDMA, mostly as long as the longest of a stream: it doubles six times and then no more, so a flow that cannot
/// arrive repeats short ones until the end, which may be hours away.
fn rdma_timeout(dice: &mut Dice, pace: Pace) -> String {
    let longest_ps = pace.traffic_ps.max(RTO_MAX_PS);
    time(match dice.chance(0.1) {
        true => dice.magnitude(RTO_MAX_PS, 4 * longest_ps),
        false => dice.magnitude(longest_ps, 400 * longest_ps),
    })
}
