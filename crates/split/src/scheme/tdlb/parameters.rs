//! What the rule of TDLB leaves open, with the readings of its paper.

use super::delays::Algorithm;
use super::separator::Record;

/// Where congestion is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Detect {
    /// In the queues of the source leaf's uplinks.
    #[default]
    Uplink,
    /// In the queues of the destination leaf's ports to hosts; the source leaf hears of it.
    LastHop,
    /// In both.
    Both,
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

/// Where the first packet of a flow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Initial {
    /// By its hash, unless that path is congested.
    #[default]
    Ecmp,
    /// By the fastest path.
    Fastest,
}

/// When recorded flows are forgotten.
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
    /// Where congestion is detected.
    pub detect: Detect,
    /// Which flows are recorded then.
    pub record: Record,
    /// When they are forgotten.
    pub clear: Clear,
    /// How long congestion is believed if it is not found again, in nanoseconds; zero: twice the slowest path's delay.
    pub hold_ns: u64,
    /// A path is slow above its least delay ever times this, in thousandths.
    pub delay_factor_milli: u32,
    /// How the flowlet timeout is computed.
    pub algorithm: Algorithm,
    /// Bounds of the flowlet timeout, in nanoseconds.
    pub timeout_min_ns: u64,
    /// See [`Self::timeout_min_ns`]. Also the timeout before there is a delay.
    pub timeout_max_ns: u64,
    /// Paths within this of the fastest are drawn at random, in nanoseconds; zero: the fastest alone.
    pub tie_ns: u64,
    /// Where new flows go.
    pub initial: Initial,
    /// Pause after which a flow counts as new, in nanoseconds.
    pub idle_ns: u64,
}

impl Default for Parameters {
    /// Timeouts from a packet time at 10 Gb/s to the fixed one of LetFlow.
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
            initial: Initial::Ecmp,
            idle_ns: 10_000_000,
        }
    }
}

impl Parameters {
    /// The flowlet timeout for a difference of delays.
    #[inline(always)]
    #[must_use]
    pub fn timeout_ns(&self, difference_ns: Option<i64>) -> u64 {
        let timeout_ns =
            difference_ns.map_or(self.timeout_max_ns, |difference| u64::try_from(difference).unwrap_or(0));
        timeout_ns.min(self.timeout_max_ns).max(self.timeout_min_ns)
    }
}
