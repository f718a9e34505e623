//! Changes of a fabric: links and switches that fail, return, slow down, and lose frames.

use super::Pace;
use super::fabric::{LEAST_BPS, another_rate};
use crate::dice::{Dice, quoted, rate, time};
use crate::draft::{Draft, Table};
use anabranch_fabric::{Fabric, Port};

/// Draws changes. Most of them are undone later if every flow is to arrive (`patient`).
pub(super) fn draw(dice: &mut Dice, pace: Pace, fabric: &Fabric, patient: bool, draft: &mut Draft) {
    if dice.chance(0.3) {
        return;
    }
    let mut changes = Vec::new();
    for _ in 0..dice.magnitude(1, 6) {
        let at_ps = pace.moment(dice);
        let undo = dice.chance(if patient { 0.9 } else { 0.5 });
        let undo_ps = at_ps + 1 + pace.moment(dice);
        let (targets, done, undone) =
            if dice.chance(0.3) { switch(dice, fabric) } else { link(dice, fabric) };
        let mut push = |at_ps: u64, effect: &(String, String)| {
            let mut change = Table::new("[[change]]");
            change.set("at", time(at_ps));
            change.set(targets.0, targets.1.clone());
            change.set(&effect.0, effect.1.clone());
            changes.push(change);
        };
        push(at_ps, &done);
        if undo {
            push(undo_ps, &undone);
        }
    }
    draft.tables.extend(changes);
}

/// Draws rates that links have for some time or from some time on.
pub(super) fn draw_rates(dice: &mut Dice, pace: Pace, fabric: &Fabric, draft: &mut Draft) {
    if dice.chance(0.5) {
        return;
    }
    for _ in 0..dice.between(1, 3) {
        let port = &fabric.ports()[dice.below(fabric.ports().len() as u64) as usize];
        let (at_ps, slow_bps) = (pace.moment(dice), another_rate(dice, port.rate.bps()));
        let target = between(dice, fabric, port);
        let mut push = |at_ps: u64, bps: u64| {
            let mut change = Table::new("[[change]]");
            change.set("at", time(at_ps));
            change.set("link", target.clone());
            change.set("rate", rate(bps));
            draft.tables.push(change);
        };
        push(at_ps, slow_bps);
        if dice.chance(0.5) {
            push(at_ps + 1 + pace.moment(dice), port.rate.bps());
        }
    }
}

type Change = ((&'static str, String), (String, String), (String, String));

fn effect(key: &str, value: impl Into<String>) -> (String, String) {
    (key.to_owned(), value.into())
}

fn switch(dice: &mut Dice, fabric: &Fabric) -> Change {
    let (hosts, nodes) = (u64::from(fabric.hosts()), fabric.nodes());
    let node = dice.between(hosts, nodes.len() as u64 - 1);
    let target = ("switch", quoted(&nodes[node as usize].name));
    if dice.chance(0.7) {
        return (target, effect("set", quoted("down")), effect("set", quoted("up")));
    }
    let fraction = dice.pick(&["0.0", "0.1", "0.5", "1.0"]);
    (target, effect("blackhole", fraction), effect("blackhole", "0.0"))
}

fn link(dice: &mut Dice, fabric: &Fabric) -> Change {
    let port = &fabric.ports()[dice.below(fabric.ports().len() as u64) as usize];
    let target = ("link", between(dice, fabric, port));
    match dice.below(3) {
        0 => (target, effect("set", quoted("down")), effect("set", quoted("up"))),
        1 => {
            let bps = if dice.chance(0.1) { LEAST_BPS } else { another_rate(dice, port.rate.bps()) };
            (target, effect("rate", rate(bps)), effect("rate", rate(port.rate.bps())))
        }
        _ => (target, effect("loss", dice.pick(&["0.01", "0.1", "0.5", "1.0"])), effect("loss", "0.0")),
    }
}

/// Names a port's link, in both directions or its own, and one of several parallel ones or all.
fn between(dice: &mut Dice, fabric: &Fabric, port: &Port) -> String {
    let name = |node: u32| &fabric.nodes()[node as usize].name;
    let parallel =
        fabric.ports_of(port.from).iter().filter(|&&other| fabric.ports()[other as usize].to == port.to);
    let number = match parallel.count() as u64 {
        many if many > 1 && dice.chance(0.7) => format!("#{}", dice.below(many)),
        _ => String::new(),
    };
    let between = if dice.chance(0.3) { '>' } else { '-' };
    quoted(&format!("{}{between}{}{number}", name(port.from), name(port.to)))
}
