//! Connections of one thread, driven with NumPy arrays.

use crate::splitter::{Splitter, column};
use anabranch_split::Connections as Known;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Connections of one splitter: see `anabranch.Connections`.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct Connections {
    splitter: Py<Splitter>,
    known: Mutex<Known>,
}

#[pymethods]
impl Connections {
    #[new]
    fn new(splitter: Py<Splitter>) -> Self {
        Self { splitter, known: Mutex::new(Known::new()) }
    }

    fn pick<'py>(
        &self,
        py: Python<'py>,
        keys: PyReadonlyArray1<'py, u64>,
        begins: PyReadonlyArray1<'py, bool>,
        times_ns: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<u16>>> {
        let flows = column("keys", Some(&keys), keys.len()?)?;
        let begins = column("begins", Some(&begins), flows.len())?;
        let times_ns = column("times_ns", Some(&times_ns), flows.len())?;
        let group = &self.splitter.get().group;
        let picked = py.detach(|| {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let packets = flows.iter().zip(begins).zip(times_ns);
            packets.map(|((&flow, &begins), &now_ns)| known.pick(group, flow, begins, now_ns)).collect()
        });
        Ok(PyArray1::from_vec(py, picked))
    }

    #[getter]
    fn state_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.known.lock().unwrap_or_else(PoisonError::into_inner).state_bytes())
    }
}
