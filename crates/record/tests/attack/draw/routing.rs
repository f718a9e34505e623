//! Load balancers: each by its name with parameters of its own, and tables of any granularity and weights.

use super::Pace;
use crate::dice::{Dice, nanoseconds, quoted, size, time};
use crate::draft::{Draft, Table};
use anabranch_fabric::Fabric;
use anabranch_scenario::{BALANCE, Parameter, catalogue, scheme_parameters};

const GRANULARITIES: [&str; 4] = ["flow", "flowlet", "flowcell", "packet"];
const TABLES: [&str; 10] = [
    "uniform",
    "min-move",
    "wcmp",
    "wcmp-scoring",
    "intervals",
    "valo",
    "scoring",
    "turns",
    "deficit",
    "shortest-queue",
];
/// Keys of periodic work that goes on as long as the simulation does, by scheme.
const PERIODS: [(&str, &str, u64); 9] = [
    ("hula", "period", 200_000_000),
    ("explicit", "probe", 100_000_000),
    ("hermes", "probe_interval", 500_000_000),
    ("luopan", "expiry", 40_000_000),
    ("tdlb", "period", 100_000_000),
    ("wino", "poll", 1_000_000_000_000),
    ("ars", "sampling", 16_000_000),
    ("glb", "sampling", 16_000_000),
    ("glb", "period", 50_000_000),
];

pub(super) fn draw(dice: &mut Dice, pace: Pace, fabric: &Fabric, calm: bool, draft: &mut Draft) {
    let names: Vec<&str> =
        catalogue().into_iter().filter(|entry| entry.key == BALANCE).map(|entry| entry.name).collect();
    let balance = dice.pick(&names);
    let mut table = Table::new("[routing]");
    table.set("balance", quoted(balance));
    if dice.chance(0.15) {
        table.set("granularity", quoted(dice.pick(&GRANULARITIES)));
    }
    if dice.chance(0.15) {
        table.set("table", quoted(dice.pick(&TABLES)));
    }
    if dice.chance(0.2) {
        table.set("weights", if calm { quoted("capacity") } else { weights(dice, fabric) });
    }
    if dice.chance(0.4) {
        table.set("delay", time(pace.moment(dice)));
    }
    if dice.chance(0.5) {
        for parameter in scheme_parameters(balance) {
            if dice.chance(0.3)
                && let Some(value) = value(dice, pace, &parameter)
            {
                table.set(&parameter.key, value);
            }
        }
    }
    draft.tables.push(table);
}

fn weights(dice: &mut Dice, fabric: &Fabric) -> String {
    let between: Vec<_> = fabric
        .ports()
        .iter()
        .filter(|port| port.from >= fabric.hosts() && port.to >= fabric.hosts())
        .map(|port| [port.from, port.to].map(|node| fabric.nodes()[node as usize].name.as_str()))
        .collect();
    let word = dice.pick(&["equal", "capacity", "given"]);
    if word != "given" || between.is_empty() {
        return quoted(if word == "given" { "equal" } else { word });
    }
    let mut given = Table::new("");
    for _ in 0..dice.between(1, 4) {
        let [from, to] = dice.pick(&between);
        given.set(&format!("\"{from}>{to}\""), dice.pick(&["0", "1", "2", "7", "1000", "4294967295"]));
    }
    let pairs: Vec<String> = given.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// Draws a value for a parameter from the reference's description; `None` if the description is not known.
fn value(dice: &mut Dice, pace: Pace, parameter: &Parameter) -> Option<String> {
    let wants = parameter.wants.as_str();
    Some(if wants.starts_with("a time") {
        match dice.below(5) {
            0 => time(0),
            1 => nanoseconds(pace.grid_ps),
            2 => nanoseconds(dice.magnitude(1_000, 10_000_000_000)),
            _ => nanoseconds(dice.magnitude(1_000, 2 * pace.traffic_ps.max(1_000))),
        }
    } else if wants == "true or false" {
        dice.pick(&["true", "false"]).to_owned()
    } else if wants.starts_with("a number from 0 to 1") {
        dice.pick(&["0.0", "0.000001", "0.3", "0.5", "0.999999", "1.0"]).to_owned()
    } else if wants.starts_with("a number above 0") {
        dice.pick(&["0.03125", "0.1", "0.5", "1.0"]).to_owned()
    } else if let Some(range) = wants.strip_prefix("a whole number from ") {
        let (least, most) = range.split_once(" to ")?;
        dice.magnitude(least.parse().ok()?, most.parse().ok()?).to_string()
    } else if wants.starts_with("a size") {
        size(dice.magnitude(1, 200_000))
    } else if wants.starts_with("a capacity") {
        format!("\"{} bps\"", dice.magnitude(1_000_000, 100_000_000_000))
    } else if wants.starts_with('"') {
        let words: Vec<&str> = wants.split('"').skip(1).step_by(2).collect();
        quoted(dice.pick(&words))
    } else {
        return None;
    })
}

/// Lengthens the periods of endless work, so that a run has at most `rounds_max` rounds of it.
pub(super) fn slow_down(draft: &mut Draft, rounds_max: u64) {
    let parse = |text: &str| {
        let mut words = text.trim_matches('"').split(' ');
        let number: u64 = words.next()?.parse().ok()?;
        let worth = match words.next()? {
            "s" => 1_000_000_000_000,
            "ms" => 1_000_000_000,
            "us" => 1_000_000,
            "ns" => 1_000,
            _ => 1,
        };
        number.checked_mul(worth)
    };
    let end_ps = draft.table("[stop]").and_then(|stop| stop.get("at")).and_then(parse).unwrap_or(0);
    let routing = draft.table_mut("[routing]");
    let balance = routing.get("balance").unwrap_or_default().trim_matches('"').to_owned();
    for (_, key, default_ps) in PERIODS.iter().filter(|(scheme, _, _)| *scheme == balance) {
        let key = format!("scheme.{key}");
        let period_ps = routing.get(&key).and_then(parse).unwrap_or(*default_ps);
        if end_ps / period_ps.max(1) > rounds_max {
            routing.set(&key, nanoseconds(end_ps / rounds_max));
        }
    }
}
