//! Lanes in which nodes of a rank compute, and the error of computing without a time.

use crate::WorkError;
use std::collections::HashMap;

/// Nodes of a rank that run one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// Stream of the accelerator, by its number if the trace has one.
    Stream(Option<i64>),
    /// Thread of the host, by its number if the trace has one.
    Thread(Option<i64>),
    /// Copies between the accelerator's memory and another.
    Copies,
}

/// Processors of a rank: one for each lane, 0 that of the stream without a number.
pub(super) struct Lanes(HashMap<Lane, u8>);

impl Lanes {
    pub(super) fn new() -> Self {
        Self(HashMap::from([(Lane::Stream(None), 0)]))
    }

    /// Processor of a lane; none beyond 256 lanes.
    pub(super) fn processor(&mut self, lane: Lane) -> Option<u8> {
        if let Some(&processor) = self.0.get(&lane) {
            return Some(processor);
        }
        let next = u8::try_from(self.0.len()).ok()?;
        self.0.insert(lane, next);
        Some(next)
    }
}

/// Error of computing that nothing gives a time.
pub(super) fn no_accelerator(position: String, count: usize, nodes: usize) -> WorkError {
    WorkError::new(
        position,
        format!(
            "it states operations (`num_ops`) or bytes (`tensor_size`) and no duration (`duration_micros`), as do {count} \
             of {nodes} nodes of this trace"
        ),
        "give the speed of the accelerator: accelerator = { flops = \"312 TFLOPS\", memory_bandwidth = \"2 TB/s\" }",
    )
}
