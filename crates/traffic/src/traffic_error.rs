//! Errors in the settings of traffic.

/// Error in a workload: what is wrong, and what would work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {hint}")]
pub struct TrafficError {
    /// Setting and value at fault.
    pub problem: String,
    /// Values that would work.
    pub hint: String,
}

impl TrafficError {
    /// Joins the two halves of an error.
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }
}
