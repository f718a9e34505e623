//! Program of a load balancer outside the tree: it prints completion times beside ECMP's, and runs cells of studies.
//!
//! A crate of one's own calls [`main`] and has a command line:
//!
//! * `NAME SCENARIO.toml [KEY=VALUE ...]` runs the scenario under the load balancer and under ECMP, for people.
//! * `NAME --about` and `NAME --cell FOLDER [DIGEST=FILE ...]` are for `anabranch sweep`.

mod array_file;
mod cell;
mod comparison;

use anabranch_balancers::Task;
use anabranch_sim::{Outcome, SimulationError};
use std::error::Error;
use std::io::{Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

/// Result of anything that can fail in front of the user.
pub(crate) type Answer<T> = Result<T, Box<dyn Error>>;

/// Runs a program of this name. `balancer` simulates one task; with bad input the program says so and ends with status 2.
pub fn main(name: &str, balancer: impl Fn(Task<'_>) -> Result<Outcome, SimulationError>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match answer(name, &arguments, &balancer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without anybody who reads it the status says enough.
            let _ = writeln!(stderr(), "{name}: error: {error}");
            ExitCode::from(2)
        }
    }
}

fn answer(
    name: &str,
    arguments: &[String],
    balancer: &impl Fn(Task<'_>) -> Result<Outcome, SimulationError>,
) -> Answer<()> {
    match arguments {
        [] => Err("no scenario; give a TOML file".into()),
        [about] if about == "--about" => {
            let (version, model) = (env!("CARGO_PKG_VERSION"), anabranch_scenario::MODEL_VERSION);
            Ok(writeln!(stdout(), "name = {name:?}\nversion = {version:?}\nmodel_version = {model}")?)
        }
        [cell, folder, files @ ..] if cell == "--cell" => {
            let files = files.iter().map(|file| {
                let (digest, path) =
                    file.split_once('=').ok_or_else(|| format!("{file}: not DIGEST=FILE"))?;
                Ok((digest.to_owned(), path.into()))
            });
            cell::run(Path::new(folder), files.collect::<Answer<_>>()?, balancer)
        }
        [option, ..] if option.starts_with('-') => {
            Err(format!("{option}: no such option; give SCENARIO.toml [KEY=VALUE ...]").into())
        }
        [file, overrides @ ..] => comparison::print(name, file, overrides, balancer),
    }
}
