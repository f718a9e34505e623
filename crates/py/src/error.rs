//! Errors of the crates as one Python exception, which `anabranch/files/errors.py` defines.

use anabranch_form::FormError;
use anabranch_sim::SimulationError;
use anabranch_split::PlanError;
use anabranch_traffic::SourceError;
use pyo3::PyErr;

pyo3::import_exception!(anabranch.files.errors, AnabranchError);

/// Converts the refusal of a plan, for `?`: `From` cannot be implemented here, as both types are foreign.
pub(crate) fn plan(error: PlanError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}

/// A source that cannot be read.
pub(crate) fn source(error: SourceError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}

/// A scenario that makes no sense.
pub(crate) fn scenario(error: FormError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}

/// Converts a refusal of the simulator.
pub(crate) fn simulation(error: SimulationError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}
