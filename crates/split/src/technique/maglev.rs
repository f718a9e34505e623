//! Maglev hashing with weights.

use super::table::{Layout, Rule, Table};
use super::{Granularity, Row};
use crate::apportion::maglev::{is_prime, table};
use crate::hash::FACTOR_16;
use crate::{Members, PlanError};
use std::format;

/// The paper's table size for small disruption (section 5.3).
const ENTRIES: u32 = 65_537;
const ENTRIES_MAX: u32 = 1 << 24;

pub(super) const ROW: Row = Row {
    name: "maglev",
    granularity: Granularity::Stateless,
    summary: "members claim entries of a prime-sized table (65537) in turns by weight; few flows move",
    source: "Eisenbud et al., NSDI 2016, sec. 3.4; weights as in Envoy",
    build: |members, parameters| {
        let entries = parameters.take("entries", ENTRIES)?;
        if entries > ENTRIES_MAX || !is_prime(entries) {
            return Err(PlanError::new(
                format!("entries: {entries} is not a prime up to {ENTRIES_MAX}"),
                "give a prime, as 251, 4099 or 65537",
            ));
        }
        if entries == FACTOR_16 {
            return Err(PlanError::new(
                format!(
                    "entries: {entries} is the factor of all keys of 16-bit hashes: they would take one entry"
                ),
                "give another prime, as 65521 or 65537",
            ));
        }
        Table::planned(Maglev { entries }, members)
    },
};

#[derive(Clone)]
struct Maglev {
    entries: u32,
}

impl Rule for Maglev {
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError> {
        let weights = members.effective();
        let living = weights.iter().filter(|&&w| w > 0).count();
        if living > self.entries as usize {
            return Err(PlanError::new(
                format!("entries: {} for {living} paths with a positive weight", self.entries),
                "give a larger prime: a hundred times the paths keeps the error near 1 %",
            ));
        }
        Ok(Layout::Entries(table(&weights, self.entries)))
    }
}
