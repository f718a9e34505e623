//! Progress of a run, for other threads to read, and its cancellation.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

const PS_PER_S: f64 = 1e12;

/// Progress of a run; see `_core.pyi`.
#[pyclass(frozen, module = "anabranch._core")]
#[derive(Default)]
pub(crate) struct Progress {
    inner: anabranch_sim::Progress,
    end_ps: AtomicU64,
    flows_total: AtomicU64,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[getter]
    fn simulated_s(&self) -> f64 {
        self.inner.now_ps() as f64 / PS_PER_S
    }

    #[getter]
    fn end_s(&self) -> f64 {
        self.end_ps.load(Ordering::Relaxed) as f64 / PS_PER_S
    }

    #[getter]
    fn packet_hops(&self) -> u64 {
        self.inner.events()
    }

    #[getter]
    fn flows_begun(&self) -> u64 {
        self.inner.flows_begun()
    }

    #[getter]
    fn flows_finished(&self) -> u64 {
        self.inner.flows_finished()
    }

    #[getter]
    fn flows_total(&self) -> u64 {
        self.flows_total.load(Ordering::Relaxed)
    }

    #[getter]
    fn cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }

    fn cancel(&self) {
        self.inner.cancel();
    }
}

impl Progress {
    /// Sets the end of the simulation and the number of flows.
    pub(crate) fn expect(&self, end_ps: u64, flows: usize) {
        self.end_ps.store(end_ps, Ordering::Relaxed);
        self.flows_total.store(flows as u64, Ordering::Relaxed);
    }

    /// Progress that the simulator writes.
    pub(crate) fn inner(&self) -> &anabranch_sim::Progress {
        &self.inner
    }
}
