//! Errors of settings that cannot be simulated.

use anabranch_split::PlanError;

/// Why there is no such simulation, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {hint}")]
pub struct SimulationError {
    /// The key and value at fault.
    pub problem: String,
    /// Hint: what would work.
    pub hint: String,
}

impl SimulationError {
    /// An error from its two halves.
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }
}

impl From<PlanError> for SimulationError {
    fn from(error: PlanError) -> Self {
        Self { problem: error.problem, hint: error.hint }
    }
}
