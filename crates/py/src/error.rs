//! Errors of the crates as one Python exception.

use anabranch_scenario::ScenarioError;
use anabranch_sim::SimulationError;
use anabranch_split::PlanError;
use anabranch_traffic::SourceError;
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(
    anabranch,
    AnabranchError,
    PyValueError,
    "What the user gave cannot be done; the message names the key, the value and the mend."
);

/// A refused plan, for `?`: neither type is ours to implement `From` between.
pub(crate) fn plan(error: PlanError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}

/// A source that cannot be read.
pub(crate) fn source(error: SourceError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}

/// A scenario that makes no sense.
pub(crate) fn scenario(error: ScenarioError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}

/// What the simulator refuses.
pub(crate) fn simulation(error: SimulationError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}
