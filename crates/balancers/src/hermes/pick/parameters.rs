//! Parameters of Hermes.

use anabranch_split::picks::dre::Estimator;

/// Fraction of one.
pub const ONE: u32 = 1_000_000;

/// Parameters of Hermes. Fractions are in units of 1 / [`ONE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Round trip of an empty path in nanoseconds, to which the thresholds are added; the shortest that was measured if
    /// `None`.
    pub rtt_base_ns: Option<u64>,
    /// Weight of a new sample in the averages of round trips and marks.
    pub sample_weight: u32,
    /// Steps of the round trip by which grey paths are compared first, in nanoseconds; not at all if `None`.
    pub rtt_step_ns: Option<u64>,
    /// Round trips are short below this many nanoseconds above the base.
    pub rtt_low_ns: u64,
    /// Round trips are long above this many nanoseconds above the base.
    pub rtt_high_ns: u64,
    /// Difference of round trips above which a path is notably better, in nanoseconds.
    pub better_rtt_ns: u64,
    /// Fraction of marks from which on they are many.
    pub marked_high: u32,
    /// Difference of the fractions of marks above which a path is notably better.
    pub better_marked: u32,
    /// Whether marks count at all.
    pub by_marks: bool,
    /// Whether a good path need not be notably better.
    pub any_good: bool,
    /// Number of bytes up to which a flow stays (S).
    pub sent_min_bytes: u64,
    /// Fraction of its host's link rate above which a flow stays (R).
    pub rate_max: u32,
    /// Rate of that link, in bits per second, set by the environment.
    pub link_bps: u64,
    /// Estimator by which rates are measured, as CONGA measures links.
    pub estimator: Estimator,
    /// Whether paths are compared by the flows on them instead of the bytes sent.
    pub by_flows: bool,
    /// Probability that a flow that may move does.
    pub move_probability: u32,
    /// Shortest time between two attempts of a flow to move, in nanoseconds.
    pub guard_ns: u64,
    /// Age at which knowledge of a path expires, in nanoseconds; never if `None`.
    pub ageing_ns: Option<u64>,
    /// Number of timeouts without an answer that make a path failed.
    pub timeouts_max: u8,
    /// Fraction of packets sent again in an interval above which a path that is not congested has failed.
    pub loss_high: u32,
    /// Length of that interval, in nanoseconds.
    pub loss_interval_ns: u64,
    /// Smallest number of packets in such an interval that makes a path failed.
    pub loss_packets_min: u32,
    /// Time after which a failed path is tried again, in nanoseconds; never if `None`.
    pub forgive_ns: Option<u64>,
    /// Time between two rounds of probes, in nanoseconds; no probes if zero.
    pub probe_interval_ns: u64,
}

impl Parameters {
    /// Register value, in bytes, of a flow that sends at the highest rate of a flow that may move.
    pub(super) const fn rate_max_bytes(&self) -> u64 {
        self.estimator.full_bytes(self.link_bps / ONE as u64 * self.rate_max as u64)
    }
}

impl Default for Parameters {
    /// Defaults that follow the paper, for links of 10 Gb/s that mark at 65 packets: such a queue takes 80 us.
    fn default() -> Self {
        Self {
            rtt_base_ns: None,
            sample_weight: ONE / 8,
            rtt_step_ns: None,
            rtt_low_ns: 30_000,
            rtt_high_ns: 120_000,
            better_rtt_ns: 80_000,
            marked_high: ONE * 2 / 5,
            better_marked: ONE / 20,
            by_marks: true,
            any_good: false,
            sent_min_bytes: 600_000,
            rate_max: ONE * 3 / 10,
            link_bps: 10_000_000_000,
            estimator: Estimator { period_ns: 30_000, alpha: Estimator::alpha(0.2), level_bits: 3 },
            by_flows: false,
            move_probability: ONE,
            guard_ns: 0,
            ageing_ns: None,
            timeouts_max: 3,
            loss_high: ONE / 100,
            loss_interval_ns: 10_000_000,
            loss_packets_min: 50,
            forgive_ns: None,
            probe_interval_ns: 500_000,
        }
    }
}
