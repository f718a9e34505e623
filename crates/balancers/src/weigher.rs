//! Weights from outside: someone else's rule, asked once per epoch, while the scenario's own tables pick at full speed.

/// A group of next hops, as a [`Weigher`] is shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeighedGroup<'a> {
    /// Its number. Routing makes new groups when it learns that links changed.
    pub number: u32,
    /// The switch: a node of the fabric.
    pub switch: u32,
    /// The ports of the members.
    pub ports: &'a [u32],
    /// Weights of the members as routing and the scenario have them; zero: dead, or no way leads on from there.
    pub weights: &'a [u64],
    /// Now, in picoseconds.
    pub now_ps: u64,
}

/// Counters of a switch at a member's port. The port may be in other groups as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberStats {
    /// Frame bytes sent in the epoch that ends now; a frame counts when it begins to be sent.
    pub sent_bytes: u64,
    /// Frame bytes that wait now, the frame in service included.
    pub backlog_bytes: u32,
    /// Rate of the link now, in bit/s.
    pub rate_bps: u64,
    /// Whether it may be used: the port is alive, and as far as routing knows a way leads on from there.
    pub up: bool,
}

/// A rule for weights that is asked once per epoch: at time zero, and whenever an epoch has passed, for every group that
/// is in use, has several members and one of them up. Groups come in the order of their numbers.
///
/// A weigher that cannot go on keeps its reason, cancels the [`anabranch_sim::Progress`] of the simulation and returns nothing.
pub trait Weigher {
    /// Length of an epoch, in picoseconds.
    fn epoch_ps(&self) -> u64;

    /// Weights for the members, one each, or nothing to keep what it said last (at first: routing's). A member that is not
    /// up gets nothing whatever its weight. If all that have a weight die before the next epoch, routing's weights stand in.
    fn weigh(&mut self, group: &WeighedGroup<'_>, stats: &[MemberStats]) -> Option<Vec<u64>>;
}
