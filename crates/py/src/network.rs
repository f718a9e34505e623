//! Networks that Python drives.

use crate::error::{AnabranchError, scenario as refused, simulation as impossible};
use crate::simulation::{Run, Scenario, placed};
use anabranch_network::{DrivenNetwork, Message, MessageEnd};
use anabranch_sim::SimulationError;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Numbers of messages, times of their ends in picoseconds, and whether all of each was delivered.
type Ends<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<bool>>);

/// Network that Python drives; see `_core.pyi`.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct Network(Mutex<DrivenNetwork>);

impl Network {
    /// The network, which one thread drives at a time.
    fn lock(&self) -> PyResult<MutexGuard<'_, DrivenNetwork>> {
        match self.0.try_lock() {
            Ok(network) => Ok(network),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(AnabranchError::new_err(
                "network: another thread drives it; let one thread at a time call it",
            )),
        }
    }

    /// Lets time pass without the interpreter lock; a signal such as Ctrl-C ends that between two events.
    fn advance(
        &self,
        py: Python<'_>,
        go: impl FnOnce(&mut DrivenNetwork, &mut dyn FnMut() -> bool) -> Result<bool, SimulationError> + Send,
    ) -> PyResult<()> {
        py.detach(|| {
            let mut network = self.lock()?;
            let mut raised = None;
            let mut goes_on = || {
                raised = raised.take().or_else(|| Python::attach(|py| py.check_signals()).err());
                raised.is_none()
            };
            let gone = go(&mut network, &mut goes_on).map_err(impossible);
            raised.map_or(gone.map(drop), Err)
        })
    }
}

fn ends<'py>(py: Python<'py>, ends: &[MessageEnd]) -> Ends<'py> {
    (
        ends.iter().map(|end| end.message).collect::<Vec<_>>().into_pyarray(py),
        ends.iter().map(|end| end.at_ps).collect::<Vec<_>>().into_pyarray(py),
        ends.iter().map(|end| end.whole).collect::<Vec<_>>().into_pyarray(py),
    )
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (scenario, *, background=true))]
    fn new(py: Python<'_>, scenario: &Scenario, background: bool) -> PyResult<Self> {
        let resolved = Arc::clone(scenario.resolved());
        let network = py.detach(|| DrivenNetwork::new(resolved, background)).map_err(impossible)?;
        Ok(Self(Mutex::new(network)))
    }

    fn host(&self, name: &str) -> PyResult<u32> {
        self.lock()?.host(name).map_err(impossible)
    }

    fn now_ps(&self) -> PyResult<u64> {
        Ok(self.lock()?.now_ps())
    }

    fn next_event_ps(&self) -> PyResult<Option<u64>> {
        Ok(self.lock()?.next_event_ps())
    }

    #[getter]
    fn hosts(&self) -> PyResult<u32> {
        Ok(self.lock()?.resolved().fabric().hosts())
    }

    #[getter]
    fn open(&self) -> PyResult<usize> {
        Ok(self.lock()?.open())
    }

    fn ideal_ps(&self, src: u32, dst: u32, bytes: u64, transport: u8) -> PyResult<u64> {
        let message = Message { src, dst, bytes, at_ps: None, transport };
        self.lock()?.ideal_ps(message).map_err(impossible)
    }

    fn send(&self, src: u32, dst: u32, bytes: u64, at_ps: Option<u64>, transport: u8) -> PyResult<u32> {
        let message = Message { src, dst, bytes, at_ps, transport };
        Ok(self.lock()?.send(&[message]).map_err(impossible)?.start)
    }

    /// Numbers of the first message and of the one after the last.
    fn send_many(
        &self,
        src: PyReadonlyArray1<'_, u32>,
        dst: PyReadonlyArray1<'_, u32>,
        bytes: PyReadonlyArray1<'_, u64>,
        at_ps: Option<PyReadonlyArray1<'_, u64>>,
        transport: u8,
    ) -> PyResult<(u32, u32)> {
        let (src, dst, bytes) = (src.as_slice()?, dst.as_slice()?, bytes.as_slice()?);
        let at_ps = at_ps.as_ref().map(|at_ps| at_ps.as_slice()).transpose()?;
        let message = |(index, ((&src, &dst), &bytes))| Message {
            src,
            dst,
            bytes,
            at_ps: at_ps.and_then(|at_ps: &[u64]| at_ps.get(index).copied()),
            transport,
        };
        let messages = src.iter().zip(dst).zip(bytes).enumerate().map(message);
        let numbers = self.lock()?.send_all(messages).map_err(impossible)?;
        Ok((numbers.start, numbers.end))
    }

    /// Changes as a text with `[[change]]`.
    fn change(&self, text: &str) -> PyResult<()> {
        let mut network = self.lock()?;
        // Nobody has seen the text, hence no line of it.
        let changes = network.resolved().changes_of(text, "change");
        let changes = changes.map_err(|error| refused(placed(error, false)))?;
        network.change(&changes).map_err(impossible)
    }

    fn run_until(&self, py: Python<'_>, time_ps: u64) -> PyResult<()> {
        self.advance(py, |network, goes_on| network.run_until(time_ps, goes_on))
    }

    fn run_until_any_done(&self, py: Python<'_>, time_ps: Option<u64>) -> PyResult<()> {
        self.advance(py, |network, goes_on| network.run_until_any_done(time_ps, goes_on))
    }

    fn take_done<'py>(&self, py: Python<'py>) -> PyResult<Ends<'py>> {
        Ok(ends(py, &self.lock()?.take_done()))
    }

    fn results(&self, py: Python<'_>) -> PyResult<Run> {
        let (resolved, settings, finished) = py.detach(|| {
            let mut network = self.lock()?;
            let finished = network.finish().map_err(impossible)?;
            PyResult::Ok((Arc::clone(network.resolved()), network.settings().clone(), finished))
        })?;
        let (flows, outcome) = finished;
        Run::of(py, &resolved, &settings, flows, outcome, None)
    }

    fn close(&self) -> PyResult<()> {
        self.lock()?.close();
        Ok(())
    }
}
