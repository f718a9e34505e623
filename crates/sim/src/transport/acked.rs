//! Acknowledgements, as congestion control takes them.

/// Result of an acknowledgement, as congestion control takes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    /// Newly acknowledged or SACKed bytes.
    pub(super) delivered: u64,
    /// Bytes by which the acknowledgement number grew.
    pub(super) advanced: u64,
    /// Lowest unacknowledged byte now.
    pub(super) una: u64,
    /// Next byte to be sent.
    pub(super) next: u64,
    /// Round trip, if it measures one.
    pub(super) rtt_ps: Option<u64>,
    /// Least round trip so far.
    pub(super) least_rtt_ps: u64,
    /// When it came.
    pub(super) now_ps: u64,
    /// It counts as a duplicate.
    pub(super) duplicate: bool,
    /// Whether segments were found lost by it.
    pub(super) lost: bool,
    /// It echoes a congestion mark.
    pub(super) echo: bool,
}
