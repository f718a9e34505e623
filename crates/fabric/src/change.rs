//! Changes of a running fabric: failures, repairs, slow and lossy links.

use crate::Rate;

/// One change at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Moment of the change, in picoseconds since the start of the simulation.
    pub at_ps: u64,
    /// Kind of the change, with the port or node it concerns.
    pub what: What,
}

/// Kind of a change. A change of a link names one port for each direction that it concerns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// Port goes down: it carries nothing any more, and frames that wait in it or are on the wire are lost.
    PortDown(u32),
    /// Port comes up: it carries again if the nodes at both ends of its link do.
    PortUp(u32),
    /// Node goes down: none of its ports carries, in either direction.
    NodeDown(u32),
    /// Node comes up: a port of its link carries again unless it is down itself or the node at the other end is down.
    NodeUp(u32),
    /// Port sends at another rate from now on; this includes the frames that wait already.
    PortRate(u32, Rate),
    /// Port loses each frame with this probability, silently: routing does not learn of it.
    PortLoss(u32, f64),
    /// Node drops every packet of this fraction of flows, chosen by hash, silently (a blackhole).
    NodeBlackhole(u32, f64),
}
