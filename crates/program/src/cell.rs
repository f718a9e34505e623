//! A cell of a study: the scenario of a folder simulated, its tables written beside it.

use crate::Answer;
use crate::array_file::write_column;
use anabranch_balancers::Task;
use anabranch_record::{tables, totals, write_captures};
use anabranch_scenario::{Files, Scenario};
use anabranch_sim::{Outcome, Progress, SimulationError};
use anabranch_traffic::Flow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const SCENARIO: &str = "scenario.toml";

/// Runs `folder/scenario.toml`, whose files are in `copies` by digest, and writes tables, totals and captures.
pub(crate) fn run(
    folder: &Path,
    copies: BTreeMap<String, PathBuf>,
    balancer: &impl Fn(Task<'_>) -> Result<Outcome, SimulationError>,
) -> Answer<()> {
    let text = fs::read_to_string(folder.join(SCENARIO))?;
    let scenario = Scenario::parse(&text, SCENARIO, &[])?.resolve_with(&Files { folder, copies })?;
    let (fabric, settings) = (scenario.fabric(), scenario.settings());
    let flows: Vec<Flow> = scenario.flows()?.iter().collect();
    let progress = Progress::default();
    let outcome = balancer(Task::new(fabric, &flows, settings, &progress)?)?;

    let mut columns = String::from("[columns]\n");
    for (table, written) in tables(fabric, settings, &flows, &outcome) {
        let names: Vec<&str> = written.iter().map(|column| column.name).collect();
        writeln!(columns, "{table} = {names:?}")?;
        for column in &written {
            write_column(folder, &format!("{table}.{}", column.name), column)?;
        }
    }
    let (end_ns, counted) = totals(&outcome.totals);
    let mut said = format!("[totals]\nend_ns = {end_ns:?}\n");
    for (name, value) in counted {
        writeln!(said, "{name} = {value}")?;
    }
    said += &columns;
    for (what, count) in &outcome.counts {
        writeln!(said, "[[counts]]\nwhat = {what:?}\ncount = {count}")?;
    }
    if !outcome.captures.is_empty() {
        write_captures(&folder.join("captures"), fabric, settings.framing, &outcome.captures)?;
    }
    Ok(fs::write(folder.join("totals.toml"), said)?)
}
