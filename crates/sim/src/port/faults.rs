//! Faults of a port, and packets that compete for its last slot.

use anabranch_traffic::random::Stream;

/// Faults of a port, and the random numbers for them. A port has it once it needs it: few ever do.
pub(super) struct Faults {
    pub(super) down: bool,
    pub(super) loss: f64,
    pub(super) ramp: Option<(u32, u32, f64)>,
    pub(super) stream: Stream,
    pub(super) contest: Contest,
}

impl Faults {
    pub(super) fn new(seed: u64) -> Self {
        let stream = Stream::new(seed, "port");
        Self { down: false, loss: 0.0, ramp: None, stream, contest: Contest::default() }
    }
}

/// Packets that competed for the last slot of a full queue.
#[derive(Default)]
pub(super) struct Contest {
    /// The port's `tail` since one of them has it.
    pub(super) tail: u32,
    pub(super) packets: u32,
}
