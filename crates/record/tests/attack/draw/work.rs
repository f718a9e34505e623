//! Workload graphs: every collective by every algorithm, and files of every format.

use super::Pace;
use super::traffic::Payload;
use crate::dice::{Dice, quoted, rate, size, time};
use crate::draft::Table;
use anabranch_fabric::Fabric;

/// Collectives with the algorithms that each may have.
const COLLECTIVES: [(&str, &[&str]); 6] = [
    ("all-reduce", &["ring", "halving-doubling", "double-tree", "hierarchical"]),
    ("all-gather", &["ring", "halving-doubling", "direct"]),
    ("reduce-scatter", &["ring", "halving-doubling", "direct"]),
    ("broadcast", &["tree", "ring"]),
    ("all-to-all", &["direct", "pairwise", "ring"]),
    ("moe", &[]),
];
/// Graphs of this repository's tests, with their ranks.
const FILES: [(&str, u64); 10] = [
    ("vectors/goal/any_source_4.goal", 4),
    ("vectors/goal/irequires_2.bin", 2),
    ("vectors/goal/linear_alltoall_6.goal", 6),
    ("vectors/goal/random_dag_5.goal", 5),
    ("vectors/goal/random_dag_nowild_5.bin", 5),
    ("vectors/goal/two_cpus_2.goal", 2),
    ("crates/record/tests/attack/graphs/barrier.cm", 3),
    ("crates/record/tests/attack/graphs/layers.txt", 4),
    ("crates/record/tests/attack/graphs/pair.0.et", 2),
    ("crates/record/tests/attack/graphs/ring.xml", 3),
];

/// Draws a graph.
pub(super) fn draw(
    dice: &mut Dice,
    pace: Pace,
    payload: Payload,
    fabric: &Fabric,
    calm: bool,
    table: &mut Table,
) {
    let hosts = u64::from(fabric.hosts());
    let iterations = dice.magnitude(1, 4);
    table.set("kind", quoted("graph"));
    let ranks = match dice.pick(&FILES) {
        (file, ranks) if dice.chance(0.2) && ranks <= hosts => {
            table.set("file", quoted(file));
            ranks
        }
        _ => {
            let ranks = dice.between(2, hosts.min(8));
            collective(dice, pace, ranks, table);
            table.set("ranks", ranks.to_string());
            ranks
        }
    };
    table.set("size", size(payload.size(dice, ranks * iterations)));
    table.set("iterations", iterations.to_string());
    table.set("placement", quoted(dice.pick(&["packed", "spread", "random"])));
    if dice.chance(0.3) {
        table.set("compute", time(pace.moment(dice)));
    }
    if dice.chance(if calm { 0.75 } else { 0.5 }) {
        table.set("rendezvous", quoted(dice.pick(&["clear-to-send", "request-to-send"])));
        if dice.chance(if calm { 0.3 } else { 0.5 }) {
            table.set("eager", size(payload.size(dice, ranks)));
        }
    }
    // A connection matrix has no such key.
    if !table.get("file").is_some_and(|file| file.contains(".cm")) && dice.chance(0.4) {
        table.set("ordered", "false");
    }
    // What is left where `anabranch run --apart` runs the other jobs.
    if dice.chance(0.15) {
        table.set("idle", "true");
    }
}

/// Draws a collective by name.
fn collective(dice: &mut Dice, pace: Pace, ranks: u64, table: &mut Table) {
    let (collective, algorithms) = dice.pick(&COLLECTIVES);
    table.set("collective", quoted(collective));
    if !algorithms.is_empty() && dice.chance(0.7) {
        let algorithm = dice.pick(algorithms);
        table.set("algorithm", quoted(algorithm));
        if algorithm == "hierarchical" {
            table.set("group", dice.between(1, ranks).to_string());
        }
    }
    if dice.chance(0.3) {
        table.set("channels", dice.between(1, 3).to_string());
        table.set("segments", dice.between(1, 3).to_string());
    }
    if dice.chance(0.2) {
        table.set("reduce", rate(pace.some_bps(dice)));
    }
    if ["all-to-all", "moe"].contains(&collective) && dice.chance(0.4) {
        table.set("skew", dice.pick(&["0.1", "1.0", "2.5", "10.0"]));
    }
}
