//! The list of load balancers: everything that `routing.balance` can name, and the transport that balances, read from what
//! the engine runs.

use crate::section::routing::{NAMES, Routing};
use crate::section::scheme::{self, Decider};
use anabranch_plan::{Balancing, Weighing};
use anabranch_sim::transport::Mptcp;
use anabranch_split::{capability, pages};

/// The key of all load balancers but one.
pub const BALANCE: &str = "routing.balance";
/// The key of the one that is a transport.
pub const TRANSPORT: &str = "transport.kind";

/// One load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key of a scenario that names it: [`BALANCE`] or [`TRANSPORT`].
    pub key: &'static str,
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
    let balances = NAMES.iter().map(|name| {
        let routing = Routing::of(name);
        let balancing = Balancing {
            granularity: routing.granularity,
            weighing: Weighing::Equal,
            table: routing.table,
            scheme: routing.scheme.clone(),
        };
        let own = scheme::of(name);
        Entry {
            key: BALANCE,
            name,
            granularity: own.map_or_else(|| routing.granularity_name(), |own| own.granularity),
            decider: own.map_or(Decider::Switches, |own| own.decider),
            needs: anabranch_sim::needs(&balancing),
            page: pages::page(name).unwrap_or_default(),
        }
    });
    let mptcp = Entry {
        key: TRANSPORT,
        name: "mptcp",
        granularity: "packet",
        decider: Decider::Hosts,
        needs: capability::FEEDBACK,
        page: Mptcp::PAGE,
    };
    balances.chain([mptcp]).collect()
}
