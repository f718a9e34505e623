//! Rows of flows from Python, some at a time.

use crate::columns::dictionary;
use crate::error::AnabranchError;
use anabranch_record::{Column, FlowPieces as Pieces, RecordFile};
use anabranch_scenario::Resolved;
use anabranch_sim::FlowRecord;
use anabranch_traffic::{DrawnPass, Flow};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Records of the flows of a run.
#[derive(Clone)]
pub(crate) enum Records {
    /// In memory.
    InMemory(Arc<Vec<FlowRecord>>),
    /// In a file, because they are many.
    InFile(Arc<RecordFile>),
}

impl Records {
    fn read(&self, first: u64, count: usize) -> io::Result<Vec<FlowRecord>> {
        match self {
            Self::InMemory(records) => Ok(records[first as usize..][..count].to_vec()),
            Self::InFile(file) => file.read(first, count),
        }
    }
}

/// Iterator over pieces of a table of flows; see `_core.pyi`.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct FlowPieces {
    resolved: Arc<Resolved>,
    records: Records,
    rows: usize,
    state: Mutex<State>,
}

struct State {
    flows: DrawnPass,
    pieces: Pieces,
    /// Whether a piece has been made.
    begun: bool,
}

impl FlowPieces {
    pub(crate) fn new(resolved: Arc<Resolved>, flows: DrawnPass, records: Records, rows: usize) -> Self {
        let pieces = Pieces::new(resolved.fabric());
        Self { resolved, records, rows, state: Mutex::new(State { flows, pieces, begun: false }) }
    }

    /// Columns of the next piece, which may have no rows.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Vec<Column>> {
        py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let State { flows, pieces, begun } = &mut *state;
            *begun = true;
            let flows: Vec<Flow> = flows.take(self.rows).collect();
            let records = self.records.read(pieces.first(), flows.len())?;
            Ok(pieces.next(self.resolved.fabric(), self.resolved.settings(), &flows, &records))
        })
        .map_err(|error: io::Error| {
            AnabranchError::new_err(format!("records of flows cannot be read again: {error}"))
        })
    }
}

#[pymethods]
impl FlowPieces {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        let is_first = !self.state.lock().unwrap_or_else(PoisonError::into_inner).begun;
        let columns = self.take(py)?;
        let has_rows = columns.first().is_some_and(|column| !column.values.is_empty());
        (has_rows || is_first).then(|| dictionary(py, columns)).transpose()
    }
}
