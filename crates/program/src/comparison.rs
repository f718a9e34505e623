//! Completion times of a scenario under the load balancer and under ECMP, as a table.

use crate::Answer;
use anabranch_balancers::{Balancing, Settings, Task, simulate};
use anabranch_scenario::Scenario;
use anabranch_sim::{FlowRecord, Outcome, Progress, SimulationError};
use std::io::{Write, stdout};
use std::path::Path;

/// Size classes: name, smallest and largest flow, in bytes.
const CLASSES: [(&str, u64, u64); 4] = [
    ("up to 100 KB", 0, 100_000),
    ("100 KB to 10 MB", 100_001, 10_000_000),
    ("above 10 MB", 10_000_001, u64::MAX),
    ("all", 0, u64::MAX),
];

/// Runs the scenario of `file` with these keys changed, and prints both.
pub(crate) fn print(
    name: &str,
    file: &str,
    overrides: &[String],
    balancer: &impl Fn(Task<'_>) -> Result<Outcome, SimulationError>,
) -> Answer<()> {
    let overrides = overrides.iter().map(|argument| match argument.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(format!("{argument}: not KEY=VALUE; give a key, as in traffic.load=0.6")),
    });
    let overrides: Vec<(String, String)> = overrides.collect::<Result<_, _>>()?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let scenario = Scenario::parse(&text, file, &overrides)?.resolve(folder)?;
    let (fabric, flows) = (scenario.fabric(), scenario.flows()?);

    let progress = Progress::default();
    let ecmp = Settings { balancing: Balancing::ECMP, ..scenario.settings().clone() };
    let ecmp = simulate(fabric, &flows, &ecmp, &progress)?;
    let own = balancer(Task::new(fabric, &flows, scenario.settings(), &progress)?)?;

    let mut out = stdout().lock();
    let mut line = |first: &str, rest: [&str; 5]| {
        let [flows, ecmp, own, ecmp_p99, own_p99] = rest;
        writeln!(out, "{first:16} {flows:>7} {ecmp:>12} {own:>12} {ecmp_p99:>12} {own_p99:>12}")
    };
    line("FCT in us", ["flows", "mean", "mean", "p99", "p99"])?;
    line("", ["", "ecmp", name, "ecmp", name])?;
    for (class, smallest, largest) in CLASSES {
        let of_class = |records: &[FlowRecord]| {
            let of_class = flows.iter().zip(records);
            let of_class = of_class.filter(|(flow, _)| (smallest..=largest).contains(&flow.size_bytes));
            Times::of(of_class.map(|(_, record)| record.fct_ps))
        };
        let (ecmp, own) = (of_class(&ecmp.flows), of_class(&own.flows));
        line(class, [&ecmp.flows.to_string(), &ecmp.mean(), &own.mean(), &ecmp.p99(), &own.p99()])?;
    }
    let unfinished =
        |records: &[FlowRecord]| Times::of(records.iter().map(|record| record.fct_ps)).unfinished();
    let (ecmp, own) = (unfinished(&ecmp.flows), unfinished(&own.flows));
    Ok(writeln!(out, "unfinished flows, in no mean: ecmp {ecmp}, {name} {own}")?)
}

/// Completion times of some flows.
struct Times {
    flows: usize,
    /// Times of finished flows, ascending, in microseconds.
    finished_us: Vec<f64>,
}

impl Times {
    fn of(fct_ps: impl Iterator<Item = u64>) -> Self {
        let all: Vec<u64> = fct_ps.collect();
        // A flow that has not finished has no completion time.
        let finished = all.iter().filter(|&&fct_ps| fct_ps != u64::MAX);
        let mut finished_us: Vec<f64> = finished.map(|&fct_ps| fct_ps as f64 / 1e6).collect();
        finished_us.sort_by(f64::total_cmp);
        Self { flows: all.len(), finished_us }
    }

    fn unfinished(&self) -> usize {
        self.flows - self.finished_us.len()
    }

    fn mean(&self) -> String {
        let count = self.finished_us.len();
        if count == 0 {
            "-".into()
        } else {
            format!("{:.1}", self.finished_us.iter().sum::<f64>() / count as f64)
        }
    }

    /// Nearest rank; nothing below 100 flows.
    fn p99(&self) -> String {
        let rank = (self.finished_us.len() * 99).div_ceil(100);
        match self.finished_us.get(rank.wrapping_sub(1)) {
            Some(time_us) if self.finished_us.len() >= 100 => format!("{time_us:.1}"),
            _ => "-".into(),
        }
    }
}
