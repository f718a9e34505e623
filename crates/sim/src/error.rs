//! Errors of settings that cannot be simulated.

use anabranch_split::PlanError;

/// Why there is no such simulation, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {mend}")]
pub struct SimulationError {
    /// The key and value at fault.
    pub problem: String,
    /// Hint: what would work.
    pub mend: String,
}

impl SimulationError {
    /// An error from its two halves.
    pub fn new(problem: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { problem: problem.into(), mend: mend.into() }
    }
}

impl From<PlanError> for SimulationError {
    fn from(error: PlanError) -> Self {
        Self { problem: error.problem, mend: error.hint }
    }
}
