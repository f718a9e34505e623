//! What can be set of Hermes.

use crate::scheme::dre::Estimator;

/// One, as fractions count it.
pub const ONE: u32 = 1_000_000;

/// What can be set. Fractions are in units of 1 / [`ONE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Round trip of an empty path in nanoseconds, above which the thresholds are; the least that was measured if not given.
    pub rtt_base_ns: Option<u64>,
    /// A round trip is short below this, in nanoseconds above the base.
    pub rtt_low_ns: u64,
    /// A round trip is long above this, in nanoseconds above the base.
    pub rtt_high_ns: u64,
    /// A path is notably better if its round trip is shorter by more than this, in nanoseconds.
    pub better_rtt_ns: u64,
    /// Marks are many from this fraction on.
    pub marked_high: u32,
    /// A path is notably better if its fraction of marks is lower by more than this.
    pub better_marked: u32,
    /// Whether marks count at all.
    pub by_marks: bool,
    /// Whether a good path need not be notably better.
    pub any_good: bool,
    /// A flow that sent no more than this stays (S), in bytes.
    pub sent_min_bytes: u64,
    /// A flow that sends faster than this fraction of its host's link stays (R).
    pub rate_max: u32,
    /// Rate of that link, in bits per second: the place's to say.
    pub link_bps: u64,
    /// How rates are measured: as CONGA measures links.
    pub estimator: Estimator,
    /// Whether paths are compared by flows on them instead of bytes sent.
    pub by_flows: bool,
    /// Probability that a flow that may move does.
    pub move_probability: u32,
    /// Least time between two attempts of a flow to move, in nanoseconds.
    pub guard_ns: u64,
    /// Age at which nothing is known of a path any more, in nanoseconds; never if not given.
    pub ageing_ns: Option<u64>,
    /// Timeouts without an answer that make a path failed.
    pub timeouts_max: u8,
    /// A path that is not congested has failed if more than this fraction of packets was sent again,
    pub loss_high: u32,
    /// in an interval of this length, in nanoseconds,
    pub loss_interval_ns: u64,
    /// and at least so many packets.
    pub loss_packets_min: u32,
    /// Time after which a failed path is tried again, in nanoseconds; never if not given.
    pub forgive_ns: Option<u64>,
    /// Time between two rounds of probes, in nanoseconds; zero: no probes.
    pub probe_interval_ns: u64,
}

impl Parameters {
    /// Bytes at which the register of a flow stands that sends as fast as may move.
    pub(super) const fn rate_max_bytes(&self) -> u64 {
        self.estimator.full_bytes(self.link_bps / ONE as u64 * self.rate_max as u64)
    }
}

impl Default for Parameters {
    /// Of the paper as generally known, for links of 10 Gb/s that mark at 65 packets: such a queue takes 80 us.
    fn default() -> Self {
        Self {
            rtt_base_ns: None,
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
