//! Settings of Clove, and the times that a fabric gives to those which are left open.

use crate::GravityRule;
use crate::clove::pick::{Parameters, Selection};

/// Least default of the longest pause within a flowlet, in nanoseconds: what the VALO paper gives Clove (section 5.5).
const GAP_LEAST_NS: u64 = 150_000;

/// Clove.
#[derive(Clone, Debug, PartialEq)]
pub struct Clove {
    /// The rule; of its times only those count that nothing below stands for.
    pub rules: Parameters,
    /// Gravities of the weights, where paths are chosen by scores.
    pub gravity: GravityRule,
    /// Longest pause within a flowlet, in nanoseconds; nothing: the round trip of an empty path, 150 us at least.
    pub gap_ns: Option<u64>,
    /// Shortest time between two cuts of one path's weight, in nanoseconds; nothing: half that round trip.
    pub half_rtt_ns: Option<u64>,
    /// Time for which a mark makes a path congested, in nanoseconds; nothing: that round trip.
    pub congested_ns: Option<u64>,
}

impl Clove {
    /// The defaults under this selection.
    #[must_use]
    pub fn new(selection: Selection) -> Self {
        let rules = Parameters { selection, ..Parameters::default() };
        Self { rules, gravity: GravityRule::default(), gap_ns: None, half_rtt_ns: None, congested_ns: None }
    }

    /// The rule between hosts whose round trip takes so long while nothing is in the way.
    pub(crate) fn over(&self, round_trip_ns: u64) -> Parameters {
        Parameters {
            gap_ns: self.gap_ns.unwrap_or(round_trip_ns.max(GAP_LEAST_NS)),
            interval_ns: self.half_rtt_ns.unwrap_or(round_trip_ns / 2),
            congested_ns: self.congested_ns.unwrap_or(round_trip_ns),
            ..self.rules.clone()
        }
    }
}
