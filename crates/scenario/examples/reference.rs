//! Prints the reference page of all keys: `cargo run -p anabranch-scenario --example reference > docs/scenario.md`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(anabranch_scenario::reference().as_bytes())
}
