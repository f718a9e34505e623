//! What happens to a fabric while it runs: failures, repairs, slow and lossy links.

use crate::Rate;

/// One change at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When, in picoseconds since the start of the simulation.
    pub at_ps: u64,
    /// What.
    pub what: What,
}

/// A change. A link's change names one port per direction that it concerns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// The port carries nothing any more; what waits there and what is on the wire is lost.
    PortDown(u32),
    /// The port carries again, if the nodes at both ends of its link do.
    PortUp(u32),
    /// The node dies: none of its ports carries, in either direction.
    NodeDown(u32),
    /// The node comes back: those of its ports carry again that are not down themselves, or at another node that is.
    NodeUp(u32),
    /// The port sends at another rate from now on, the waiting frames included.
    PortRate(u32, Rate),
    /// The port loses each frame with this probability, silently. Routing does not learn of it.
    PortLoss(u32, f64),
    /// The node drops every packet of this fraction of flows, chosen by hash, silently (a blackhole).
    NodeBlackhole(u32, f64),
}
