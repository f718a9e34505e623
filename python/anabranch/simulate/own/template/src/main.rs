//! Program of `blank-scheme`: `blank-scheme SCENARIO.toml [KEY=VALUE ...]` runs a scenario under it
//! and under ECMP, and prints both. `anabranch sweep` runs it for `crate:FOLDER`.
//!
//! Weights, what stays together, failures and all else are the scenario's.

use anabranch_balancers::simulate_with;
use blank_scheme::{BlankScheme, Parameters};
use std::process::ExitCode;

fn main() -> ExitCode {
    anabranch_program::main(env!("CARGO_PKG_NAME"), |task| {
        let parameters = Parameters::default();
        simulate_with::<BlankScheme>(parameters, task.fabric, task.flows, task.settings, task.progress)
    })
}
