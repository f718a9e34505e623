//! Settings of VMS, and the times that a fabric gives to those which are left open.

use crate::GravityRule;
use crate::vms::pick::{Parameters, Selection};

/// Default of the time after which packets count as lost: so many round trips, and so long in nanoseconds at least.
const LOST_AFTER_ROUND_TRIPS: u64 = 3;
const LOST_AFTER_LEAST_NS: u64 = 1_000_000;

/// VMS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vms {
    /// The rule; of its times only those count that nothing below stands for.
    pub rules: Parameters,
    /// Gravities of the weights, where paths are chosen by scores.
    pub gravity: GravityRule,
    /// Length of a round, in nanoseconds; nothing: the round trip of an empty path.
    pub round_ns: Option<u64>,
    /// Time after which packets without feedback are lost, in nanoseconds; nothing: three of those round trips, 1 ms at
    /// least.
    pub lost_after_ns: Option<u64>,
}

impl Vms {
    /// The defaults under this selection.
    #[must_use]
    pub fn new(selection: Selection) -> Self {
        let rules = Parameters { selection, ..Parameters::default() };
        Self { rules, gravity: GravityRule::default(), round_ns: None, lost_after_ns: None }
    }

    /// The rule between hosts whose round trip takes so long while nothing is in the way.
    pub(crate) fn over(&self, round_trip_ns: u64) -> Parameters {
        let lost_after_ns = (LOST_AFTER_ROUND_TRIPS * round_trip_ns).max(LOST_AFTER_LEAST_NS);
        Parameters {
            round_ns: self.round_ns.unwrap_or(round_trip_ns),
            lost_after_ns: self.lost_after_ns.unwrap_or(lost_after_ns),
            ..self.rules.clone()
        }
    }
}
