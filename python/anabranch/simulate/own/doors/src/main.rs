//! Program of `blank-scheme`: `blank-scheme SCENARIO.toml [KEY=VALUE ...]` runs a scenario under it
//! and under ECMP, and prints both. `anabranch sweep` runs it for `crate:FOLDER`.

use anabranch_balancers::LoadBalancer;
use blank_scheme::BlankScheme;
use std::process::ExitCode;

fn main() -> ExitCode {
    anabranch_program::main(env!("CARGO_PKG_NAME"), |task| BlankScheme::default().simulate(task))
}
