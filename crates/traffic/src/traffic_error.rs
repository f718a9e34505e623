//! Why there is no such traffic.

/// What is wrong with a workload, and what would work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {mend}")]
pub struct TrafficError {
    /// The setting and value at fault.
    pub problem: String,
    /// What would work.
    pub mend: String,
}

impl TrafficError {
    /// An error from its two halves.
    pub(crate) fn new(problem: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { problem: problem.into(), mend: mend.into() }
    }
}
