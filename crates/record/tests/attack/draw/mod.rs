//! Random scenarios: every fabric, load balancer, transport, traffic and failure, at odd rates and sizes.
//!
//! A scenario is drawn in the order of its text, and what comes later knows the fabric that came first. Times are drawn
//! in proportion to what the traffic takes, half of them on a grid, so that changes, ends of intervals, arrivals and
//! the end coincide. One of two scenarios is given the time that every flow needs ([`crate::arrival`]). One of four is
//! calm: nothing fails, ports have room, and mostly RDMA, which sends again by itself, carries the flows ([`crate::calm`]).

mod changes;
mod fabric;
mod model;
mod routing;
mod traffic;
mod transport;
mod work;

use crate::calm;
use crate::dice::{Dice, TIME_PS_MAX, time};
use crate::draft::{Draft, Table};
use anabranch_fabric::Fabric;
use anabranch_scenario::{Resolved, Scenario};
use std::path::Path;

/// Largest payload of a scenario, in packets.
const PACKETS_MAX: u64 = 500;
/// Share of calm scenarios, and what tells the stream that chooses them from others.
const CALM: (f64, u64) = (0.25, 1 << 62);
/// Number of drafts that are tried for one scenario: parameters that contradict each other are refused.
const TRIES: u32 = 8;
/// Largest number of rounds of probes, or of records, in a drawn scenario.
const ROUNDS_MAX: u64 = 2_000;

/// Sizes of frames, as drawn.
#[derive(Clone, Copy)]
pub(crate) struct Framing {
    pub(crate) payload_bytes: u64,
    /// A full frame, without preamble and gap.
    pub(crate) frame_bytes: u64,
    pub(crate) gap_bytes: u64,
}

/// Times that a scenario takes, by estimate.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// Number of packets that the payload fills.
    pub(crate) packets: u64,
    /// Time to send all of it on the slowest link, in picoseconds.
    pub(crate) traffic_ps: u64,
    /// Grid in picoseconds, a round number, on whose multiples events coincide.
    pub(crate) grid_ps: u64,
}

impl Pace {
    fn of(dice: &mut Dice, fabric: &Fabric, framing: Framing, calm: bool) -> Self {
        // Where there is room, queues are to be long.
        let least = if calm && dice.chance(0.5) { PACKETS_MAX / 2 } else { 1 };
        let packets = dice.magnitude(least, PACKETS_MAX);
        let slowest_bps = fabric.ports().iter().map(|port| port.rate.bps()).min().unwrap_or(1);
        let delay_ps = fabric.ports().iter().map(|port| port.delay_ps).max().unwrap_or(0);
        let bits = u128::from(packets * 8 * (framing.frame_bytes + framing.gap_bytes));
        let wire_ps = (bits * 1_000_000_000_000 / u128::from(slowest_bps)) as u64;
        let traffic_ps = wire_ps.saturating_add(4 * delay_ps).max(16);
        Self { packets, traffic_ps, grid_ps: round(traffic_ps / 8) }
    }

    /// Draws a rate from one that takes longer than the traffic to one that takes no time.
    pub(crate) fn some_bps(self, dice: &mut Dice) -> u64 {
        let bits = u128::from(self.packets * 12_000);
        let bps = (bits * 1_000_000_000_000 / u128::from(self.traffic_ps)) as u64;
        dice.magnitude(bps / 10, bps.saturating_mul(50)).clamp(fabric::LEAST_BPS, fabric::MOST_BPS)
    }

    /// Draws a time at which something may happen.
    pub(crate) fn moment(self, dice: &mut Dice) -> u64 {
        match dice.below(8) {
            0 => 0,
            1..5 => self.grid_ps * dice.between(0, 16),
            _ => dice.below(2 * self.traffic_ps),
        }
    }
}

/// Rounds down to 1, 2 or 5 times a power of ten.
fn round(ps: u64) -> u64 {
    let mut power = 1;
    while ps / power >= 10 {
        power *= 10;
    }
    [5, 2, 1].into_iter().map(|times| times * power).find(|&rounded| rounded <= ps).unwrap_or(1)
}

/// Draws the scenario of a number in the attack of a seed. File names in it are relative to `folder`.
pub(crate) fn scenario(seed: u64, number: u32, folder: &Path) -> Draft {
    let mut dice = Dice::new(seed, number);
    let calm = Dice::new(seed ^ CALM.1, number).chance(CALM.0);
    let mut draft = Draft::default();
    for _ in 0..TRIES {
        draft = one(&mut dice, calm, folder);
        if resolved(&draft, folder).is_some_and(|resolved| resolved.flows().is_ok()) {
            break;
        }
    }
    // Last of all, so that what is drawn before does not depend on it.
    if dice.chance(0.3) {
        draft.table_mut("[record]").set("events", dice.pick(&["1", "20", "1_000_000"]));
    }
    if dice.chance(0.3) {
        let mut measured = draft.clone();
        let from_ps = if dice.chance(0.5) { 0 } else { dice.magnitude(1, 1_000_000_000_000) };
        let table = measured.table_mut("[measure]");
        table.set("from", time(from_ps));
        table.set("to", time(from_ps + dice.magnitude(1, 1_000_000_000_000)));
        // A window in which no flow begins is refused.
        if resolved(&measured, folder).is_some_and(|resolved| resolved.flows().is_ok()) {
            draft = measured;
        }
    }
    draft
}

pub(crate) fn resolved(draft: &Draft, folder: &Path) -> Option<Resolved> {
    Scenario::parse(&draft.to_toml(), "drawn.toml", &[]).ok()?.resolve(folder).ok()
}

fn one(dice: &mut Dice, calm: bool, folder: &Path) -> Draft {
    let mut draft = Draft::default();
    let mut top = Table::new("");
    top.set("seed", dice.below(1 << 20).to_string());
    draft.tables.push(top);
    let framing = framing(dice, &mut draft);
    fabric::draw(dice, framing, calm, &mut draft);
    let Some(fabric) = built(&draft, folder) else { return draft };
    fabric::draw_host(dice, framing, calm, &mut draft);
    let pace = Pace::of(dice, &fabric, framing, calm);
    let patient = dice.chance(0.5) || calm;
    if calm {
        changes::draw_rates(dice, pace, &fabric, &mut draft);
    } else {
        changes::draw(dice, pace, &fabric, patient, &mut draft);
    }
    routing::draw(dice, pace, &fabric, calm, &mut draft);
    transport::draw(dice, pace, framing, calm, &mut draft);
    traffic::draw(dice, pace, framing, &fabric, calm, &mut draft);
    end(dice, pace, patient, folder, &mut draft);
    routing::slow_down(&mut draft, ROUNDS_MAX);
    draft
}

/// Builds the fabric alone, if any host can send to another there.
fn built(draft: &Draft, folder: &Path) -> Option<Fabric> {
    let mut alone = draft.clone();
    alone.tables.push(Table { keys: vec![("kind".into(), "\"once\"".into())], ..Table::new("[[traffic]]") });
    let fabric = resolved(&alone, folder)?.fabric().clone();
    (fabric.hosts() > 1).then_some(fabric)
}

fn framing(dice: &mut Dice, draft: &mut Draft) -> Framing {
    let payload_bytes = match dice.below(10) {
        0..4 => 1448,
        4 => 8948,
        5 => 60_000,
        6 => dice.between(1, 60),
        _ => dice.magnitude(100, 60_000),
    };
    let header_bytes = if dice.chance(0.7) { 70 } else { dice.pick(&[0, 1, 40, 78, 1000]) };
    let least_bytes = if dice.chance(0.8) { 64 } else { dice.pick(&[1, 84, 1500, 65_000]) };
    let gap_bytes = if dice.chance(0.8) { 20 } else { dice.pick(&[0, 1, 1000]) };
    let table = draft.table_mut("[framing]");
    let defaults = [1448, 70, 64, 20];
    let values = [payload_bytes, header_bytes, least_bytes, gap_bytes];
    for ((name, value), default) in ["mss", "headers", "least_frame", "gap"].iter().zip(values).zip(defaults)
    {
        if value != default {
            table.set(name, format!("\"{value} B\""));
        }
    }
    Framing { payload_bytes, frame_bytes: (payload_bytes + header_bytes).max(least_bytes), gap_bytes }
}

/// Draws when the scenario ends, and what is recorded.
fn end(dice: &mut Dice, pace: Pace, patient: bool, folder: &Path, draft: &mut Draft) {
    let needed = patient.then(|| resolved(draft, folder)).flatten().and_then(|resolved| {
        Some(calm::needed_ps(&resolved, &resolved.flows().ok()?.iter().collect::<Vec<_>>()))
    });
    let end_ps = match needed {
        Some(needed_ps) => needed_ps.min(TIME_PS_MAX),
        None if dice.chance(0.7) => pace.grid_ps * dice.between(1, 24),
        None => dice.magnitude(pace.traffic_ps / 10 + 1, pace.traffic_ps.saturating_mul(50).min(TIME_PS_MAX)),
    };
    draft.table_mut("[stop]").set("at", time(end_ps));
    let rounds = dice.pick(&[1, 2, 4, 5, 20]);
    let interval_ps = match dice.below(3) {
        0 => 0,
        1 if end_ps / pace.grid_ps < ROUNDS_MAX / 10 => pace.grid_ps,
        // The last interval ends with the run.
        _ => (end_ps / rounds).max(1),
    };
    let record = draft.table_mut("[record]");
    record.set("interval", time(interval_ps));
    if dice.chance(0.3) {
        record.set("windows", "[0]");
    }
    if dice.chance(0.3) {
        record.set("queues", "\"host0\"");
        record.set("queue_interval", time((end_ps / rounds / 5).max(1)));
    }
    if dice.chance(0.2) {
        record.set("captures", "\"host0\"");
        record.set("capture_packets", dice.between(1, 60).to_string());
    }
}
