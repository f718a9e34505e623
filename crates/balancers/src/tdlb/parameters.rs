//! Settings of TDLB.

use crate::tdlb::pick as tdlb;
use crate::tdlb::pick::delays::Preference;
use crate::tdlb::pick::probe_frame_bytes;

/// How a source leaf learns the delays of its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DelayFeedback {
    /// The other end answers a probe with the delay it measured.
    #[default]
    Echo,
    /// The delay of the other end's probe, in the opposite direction, is taken for it.
    Symmetric,
}

/// Destinations that a leaf probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Probing {
    /// Leaves to which a packet left within [`tdlb::Parameters::idle_ns`].
    #[default]
    PairsInUse,
    /// All other leaves.
    AllPairs,
}

/// TDLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tdlb {
    /// Thresholds and readings.
    pub rules: tdlb::Parameters,
    /// Queue above which a port may be congested (phi), in bytes; nothing: half of its buffer.
    pub threshold_bytes: Option<u64>,
    /// Least flowlet timeout, in nanoseconds; nothing: the time of the longest frame on the fastest link of the fabric.
    pub timeout_min_ns: Option<u64>,
    /// Time between two probes of a path, in nanoseconds.
    pub period_ns: u64,
    /// Which destinations are probed.
    pub probing: Probing,
    /// How delays come back.
    pub feedback: DelayFeedback,
    /// A probe's frame, in bytes.
    pub probe_bytes: u16,
    /// Clocks of leaves differ from true time by at most this, in nanoseconds.
    pub skew_ns: u64,
    /// Entries of a leaf's hash array: a power of two, at most 2^16. Zero: no flow is ever recorded (a mutation).
    pub array: u32,
    /// Path that new flows and moved flowlets go by.
    pub preference: Preference,
}

impl Default for Tdlb {
    fn default() -> Self {
        Self {
            rules: tdlb::Parameters::default(),
            threshold_bytes: None,
            timeout_min_ns: None,
            period_ns: 100_000,
            probing: Probing::default(),
            feedback: DelayFeedback::default(),
            probe_bytes: probe_frame_bytes(4) as u16,
            skew_ns: 0,
            array: 1 << 16,
            preference: Preference::default(),
        }
    }
}
