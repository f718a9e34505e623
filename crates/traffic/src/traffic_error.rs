//! Errors in the settings of traffic.

/// Error in a workload: what is wrong, and what would work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}; {hint}", .key.map_or(String::new(), |key| format!("{key}: ")))]
pub struct TrafficError {
    /// Setting at fault, as scenarios name it; nothing where it is none alone.
    pub key: Option<&'static str>,
    /// Its value, and what is wrong with it.
    pub problem: String,
    /// Values that would work.
    pub hint: String,
}

impl TrafficError {
    /// Joins the parts of an error.
    pub(crate) fn new(
        key: impl Into<Option<&'static str>>,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), problem: problem.into(), hint: hint.into() }
    }
}
