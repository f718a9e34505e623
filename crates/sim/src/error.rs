//! Errors of settings that cannot be simulated.

use anabranch_fabric::FabricError;
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
    /// Switches are configured to hash header fields, and the load balancer does not choose by them.
    #[must_use]
    pub fn no_header_hash() -> Self {
        Self::new(
            "hash: the load balancer does not choose by a hash of header fields alone",
            "choose one that does, such as ecmp, or leave the hash out",
        )
    }

    /// Records of flows that their sink cannot take.
    pub(crate) fn records_unwritten(error: &std::io::Error) -> Self {
        Self::new(
            format!("records of flows cannot be written: {error}"),
            "free space in the folder for temporary files, or name another in TMPDIR",
        )
    }

    /// An error from its two halves.
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }
}

impl From<FabricError> for SimulationError {
    fn from(error: FabricError) -> Self {
        let FabricError { key, problem, hint } = error;
        match key {
            Some(key) => Self::new(format!("{key}: {problem}"), hint),
            None => Self::new(problem, hint),
        }
    }
}

impl From<PlanError> for SimulationError {
    fn from(error: PlanError) -> Self {
        Self { problem: error.problem, hint: error.hint }
    }
}
