//! Keys of scenarios as data, for programs that write scenarios: all of them, or those that one has.

use crate::Scenario;
use crate::reference::{rows, variants};
use crate::section::routing::Routing;
use anabranch_balancers::registry;
use anabranch_form::{FormError, Row};

/// Every key and table of a scenario, each once, with the default of the first kind that has it.
#[must_use]
pub fn every_key() -> Vec<Row> {
    let mut keys: Vec<Row> = Vec::new();
    let mut add = |row: Row| {
        if keys.iter().all(|known| known.path != row.path) {
            keys.push(row);
        }
    };
    for top in rows(&Scenario::named("scenario")).into_iter().filter(|row| !row.path.contains('.')) {
        let table = top.path.clone();
        add(top);
        // Each load balancer has keys of its own.
        let schemes = registry::all().filter(|_| table == "routing");
        let routing = schemes
            .map(|descriptor| Scenario { routing: Routing::of(descriptor), ..Scenario::named("scenario") });
        let kinds = variants(&table).into_iter().map(|(_, scenario)| scenario);
        for scenario in kinds.chain(routing) {
            let below = |row: &Row| row.path.split_once('.').is_some_and(|(top, _)| top == table);
            rows(&scenario).into_iter().filter(below).for_each(&mut add);
        }
    }
    keys
}

/// Keys and tables that the scenario `text` has or may have, with its values as defaults where it gives some. Of
/// several tables of one name the last counts.
///
/// # Errors
/// A text that is no TOML.
pub fn keys_of(text: &str) -> Result<Vec<Row>, FormError> {
    Ok(rows(&Scenario::draft(text, "scenario")?))
}
