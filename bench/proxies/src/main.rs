//! The splitter beside the load balancers of proxies and datapaths, by their published rules: the error of shares, what a
//! change moves, and what it costs. `cargo run --release --package anabranch-proxies -- 10` compares over ten sets of
//! weights and prints the table of `docs/proxies.md`.

mod backends;
mod comparison;
mod contender;
mod lookup;
mod maglev;
mod murmur3;
mod ring;

use comparison::{MEMBERS, Outcome, Spread, measured};
use std::io::{Write, stdout};
use std::process::ExitCode;

const SETS: u64 = 10;

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let Some(sets) = argument.map_or(Some(SETS), |text| text.parse().ok()).filter(|sets| *sets > 0) else {
        let _ = writeln!(std::io::stderr(), "proxies: SETS: no whole number above 0; give 10, say");
        return ExitCode::from(2);
    };
    match print(sets) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Prints a row for each contender, as a table of Markdown.
fn print(sets: u64) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{MEMBERS} members, weights 1 to 100, {sets} sets; mean (worst)\n")?;
    writeln!(out, "| | error, % | moved, one leaves | moved, +10 % | update, us | pick, ns |")?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    for contender in contender::all() {
        let name = contender.name();
        match measured(&contender, sets) {
            Ok(row) => {
                let update = row.update_ns.map_or("-".to_owned(), |ns| number(ns / 1e3));
                writeln!(out, "{} {update} | {} |", figures(&row), number(row.pick_ns))?;
            }
            Err(refused) => writeln!(out, "| {name} | {refused} | | | | |")?,
        }
    }
    Ok(())
}

/// The part of a row that is the same on every machine.
fn figures(row: &Outcome) -> String {
    let (error, removal, growth) = (shown(row.error), shown(row.removal), shown(row.growth));
    format!("| {} | {error} | {removal} | {growth} |", row.name)
}

fn shown(spread: Spread) -> String {
    format!("{} ({})", number(spread.mean()), number(spread.worst))
}

/// Three digits, or two after the point of what is near one.
fn number(value: f64) -> String {
    match value {
        v if v < 1e-6 => "0".to_owned(),
        v if v < 0.0995 => format!("{v:.3}"),
        v if v < 9.95 => format!("{v:.2}"),
        v if v < 99.5 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(rows: &'a [Outcome], name: &str) -> &'a Outcome {
        rows.iter().find(|row| row.name == name).expect(name)
    }

    /// `make test-slow` has it: the page's table is of twenty sets, which take a minute.
    #[test]
    #[ignore = "takes a minute"]
    fn the_page_has_these_figures() {
        let page = include_str!("../../../docs/proxies.md");
        for contender in contender::all() {
            let figures = figures(&measured(&contender, 20).unwrap());
            assert!(page.contains(&figures), "{figures}");
        }
    }

    /// Claims of the page about `min-move`: the least mean error of all rules with a table, and the least moves.
    #[test]
    fn min_move_is_ahead_of_every_other_program() {
        let rivals = contender::all().into_iter().filter(|one| !one.name().starts_with('`'));
        let own = contender::all().into_iter().take(1);
        let rows = own.chain(rivals).map(|one| measured(&one, 1).unwrap()).collect::<Vec<_>>();
        assert_eq!(rows.len(), 8);
        let own = of(&rows, "`min-move`");
        assert!((own.removal.mean() - 1.0).abs() < 0.002, "{}", own.removal.mean());
        assert!((own.growth.mean() - 1.0).abs() < 0.01, "{}", own.growth.mean());
        for row in &rows[1..] {
            assert!(own.error.mean() < row.error.mean(), "{}", row.name);
            if row.name == "Katran, Maglev V1" {
                continue; // It all but ignores weights whose sum is not the table's length, so they move next to nothing.
            }
            // HAProxy's points move alone: what moves is what the member held, which is not quite its share.
            let chance =
                if row.name.starts_with("HAProxy") || row.name.contains("ring hash") { 0.1 } else { 0.0 };
            assert!(own.removal.mean() < row.removal.mean() + chance, "{}", row.name);
            assert!(own.growth.mean() < row.growth.mean() + chance, "{}", row.name);
        }
        assert!(of(&rows, "Katran, Maglev V1").error.mean() > 50.0);
        assert!(of(&rows, "Katran, Maglev V1, weights summing to 65537").error.mean() < 0.1);
    }
}
