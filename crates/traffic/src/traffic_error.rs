//! Errors in the settings of traffic.

/// Error in a workload: what is wrong, and what would work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {mend}")]
pub struct TrafficError {
    /// Setting and value at fault.
    pub problem: String,
    /// Values that would work.
    pub mend: String,
}

impl TrafficError {
    /// Joins the two halves of an error.
    pub(crate) fn new(problem: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { problem: problem.into(), mend: mend.into() }
    }
}
