//! Parameters of TDLB: choices that its rule leaves open, with the readings of its paper.

use crate::tdlb::pick::delays::Algorithm;
use crate::tdlb::pick::separator::Record;

/// Position at which congestion is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Detect {
    /// In the queues of the source leaf's uplinks.
    #[default]
    Uplink,
    /// In the queues of the destination leaf's ports to hosts; the source leaf is notified.
    LastHop,
    /// In both.
    Both,
    /// Nowhere: no path is ever congested, and no flow is rerouted. To see what detection gains.
    Nowhere,
}

impl Detect {
    /// Whether uplinks are tested.
    #[must_use]
    pub const fn at_uplink(self) -> bool {
        matches!(self, Self::Uplink | Self::Both)
    }

    /// Whether ports to hosts are tested.
    #[must_use]
    pub const fn at_last_hop(self) -> bool {
        matches!(self, Self::LastHop | Self::Both)
    }
}

/// Path of the first packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Initial {
    /// Path of the flow's hash, unless it is congested.
    Ecmp,
    /// Fastest path that is not congested. Algorithm 1 takes a flow that is not in the array for innocent, as a new one
    /// is, and innocent flowlets go by the path of the lowest delay (section 3.3).
    #[default]
    Fastest,
}

/// Time at which recorded flows are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Clear {
    /// When the queue is at half the threshold, or congestion was not found again for [`Parameters::hold_ns`].
    #[default]
    Relief,
    /// Never, as in Algorithm 1: in the end all flows are recorded.
    Never,
}

/// Parameters of TDLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Position at which congestion is detected.
    pub detect: Detect,
    /// Choice of the flows that are then recorded.
    pub record: Record,
    /// Time at which they are forgotten.
    pub clear: Clear,
    /// Time for which congestion is assumed to last if it is not found again, in nanoseconds; zero: twice the slowest
    /// path's delay.
    pub hold_ns: u64,
    /// Multiple of its shortest delay above which a path is slow, in thousandths.
    pub delay_factor_milli: u32,
    /// Algorithm of the flowlet timeout.
    pub algorithm: Algorithm,
    /// Lower bound of the flowlet timeout, in nanoseconds.
    pub timeout_min_ns: u64,
    /// Upper bound of the flowlet timeout, in nanoseconds. It is also the timeout before there is a delay.
    pub timeout_max_ns: u64,
    /// Difference from the fastest path within which paths are drawn at random, in nanoseconds; zero: the fastest
    /// alone.
    pub tie_ns: u64,
    /// Path of new flows.
    pub initial: Initial,
    /// Pause after which a flow counts as new, in nanoseconds.
    pub idle_ns: u64,
}

impl Default for Parameters {
    /// Defaults: timeouts from a packet time at 10 Gb/s to the fixed one of LetFlow.
    fn default() -> Self {
        Self {
            detect: Detect::Uplink,
            record: Record::Queue,
            clear: Clear::Relief,
            hold_ns: 0,
            delay_factor_milli: 1000,
            algorithm: Algorithm::Table,
            timeout_min_ns: 1_230,
            timeout_max_ns: 500_000,
            tie_ns: 0,
            initial: Initial::Fastest,
            idle_ns: 10_000_000,
        }
    }
}

impl Parameters {
    /// Bounded flowlet timeout for a difference of delays.
    #[inline(always)]
    #[must_use]
    pub fn timeout_ns(&self, difference_ns: Option<i64>) -> u64 {
        let timeout_ns =
            difference_ns.map_or(self.timeout_max_ns, |difference| u64::try_from(difference).unwrap_or(0));
        timeout_ns.min(self.timeout_max_ns).max(self.timeout_min_ns)
    }
}
