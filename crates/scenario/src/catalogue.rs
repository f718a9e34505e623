//! The list of load balancers: everything that `routing.balance` can name, read from what the engine runs.

use crate::section::routing::{NAMES, Routing};
use crate::section::scheme::{self, Decider};
use anabranch_plan::{Balancing, Weighing};
use anabranch_split::pages;

/// One load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name people type.
    pub name: &'static str,
    /// What it keeps on one path.
    pub granularity: &'static str,
    /// Who decides.
    pub decider: Decider,
    /// Bits of [`anabranch_split::capability`] it cannot do without.
    pub needs: u32,
    /// Its page, in Markdown.
    pub page: &'static str,
}

/// All load balancers, in the order in which tables show them.
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    NAMES
        .iter()
        .map(|name| {
            let routing = Routing::of(name);
            let balancing = Balancing {
                granularity: routing.granularity,
                weighing: Weighing::Equal,
                table: routing.table,
                scheme: routing.scheme.clone(),
            };
            let own = scheme::of(name);
            Entry {
                name,
                granularity: own.map_or_else(|| routing.granularity_name(), |own| own.granularity),
                decider: own.map_or(Decider::Switches, |own| own.decider),
                needs: anabranch_sim::needs(&balancing),
                page: pages::page(name).unwrap_or_default(),
            }
        })
        .collect()
}
