//! The list of load balancers: everything that `routing.balance` can name, and the transport that balances.

use anabranch_balancers::{Decider, Elsewhere, Runs, registry};
use anabranch_sim::transport::Mptcp;
use anabranch_split::capability;

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
    /// Unit it keeps on one path.
    pub granularity: &'static str,
    /// Decider of the path.
    pub decider: Decider,
    /// Bits of [`anabranch_split::capability`] it cannot do without.
    pub needs: u32,
    /// Its page, in Markdown.
    pub page: &'static str,
    /// Environments beside the simulator.
    pub runs: Runs,
    /// State of other switches or hosts that it reads.
    pub reads_elsewhere: Option<Elsewhere>,
}

/// All load balancers, in the order in which tables show them.
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    let balances = registry::all().map(|descriptor| Entry {
        key: BALANCE,
        name: descriptor.name,
        granularity: descriptor.granularity,
        decider: descriptor.decider,
        needs: descriptor.needs(),
        page: descriptor.page,
        runs: descriptor.runs,
        reads_elsewhere: descriptor.reads_elsewhere,
    });
    let mptcp = Entry {
        key: TRANSPORT,
        name: "mptcp",
        granularity: "packet",
        decider: Decider::Hosts,
        needs: capability::FEEDBACK,
        page: Mptcp::PAGE,
        runs: Runs::SIMULATOR,
        reads_elsewhere: None,
    };
    balances.chain([mptcp]).collect()
}
