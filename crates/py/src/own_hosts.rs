//! Schemes written in Python behind the door of hosts: entropy for packets, and what comes back.
//!
//! An exception in a method is kept, the run is cancelled, and its caller raises the same exception.

use crate::error::AnabranchError;
use crate::own_scheme::{Packet, leaves, shown};
use crate::progress::Progress;
use anabranch_balancers::{Acknowledgement, HostRule, HostView, PickedPacket, RandomBits};
use anabranch_fabric::Fabric;
use anabranch_sim::Opened;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Number of values of a 32-bit draw.
const DRAWS: f64 = 4_294_967_296.0;

/// A connection at its sender; see `_core.pyi`. One object from its opening to its end.
#[pyclass(module = "anabranch._core")]
pub(crate) struct Connection {
    #[pyo3(get)]
    flow: u32,
    #[pyo3(get)]
    size_bytes: u64,
    #[pyo3(get)]
    src: u32,
    #[pyo3(get)]
    dst: u32,
    #[pyo3(get)]
    entropy: u16,
    #[pyo3(get)]
    now_ns: u64,
    #[pyo3(get, set)]
    state: Py<PyAny>,
    random: RandomBits,
}

#[pymethods]
impl Connection {
    fn random(&mut self) -> f64 {
        f64::from(self.random.next_u32()) / DRAWS
    }

    fn draw_entropy(&mut self) -> u16 {
        self.random.next_u32() as u16
    }
}

/// An acknowledgement; see `_core.pyi`.
#[pyclass(frozen, get_all, module = "anabranch._core")]
pub(crate) struct Ack {
    entropy: Option<u16>,
    marked: bool,
    bytes: u32,
    marked_bytes: u32,
    round_ended: bool,
    idle: bool,
    rtt_ns: u32,
}

/// Methods that a scheme overrides, each called by its name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Methods {
    opened: Option<Py<PyAny>>,
    send: Option<Py<PyAny>>,
    acknowledged: Option<Py<PyAny>>,
    timed_out: Option<Py<PyAny>>,
    closed: Option<Py<PyAny>>,
}

/// Python methods that give packets their entropy.
pub(crate) struct PythonHosts {
    methods: Methods,
    /// Open connections, keyed by their names.
    connections: HashMap<u32, Py<Connection>>,
    leaves: Vec<Py<PyString>>,
    progress: Py<Progress>,
    raised: Arc<OnceLock<PyErr>>,
}

impl PythonHosts {
    /// Hosts that ask these methods. An exception is written into `raised`.
    pub(crate) fn new(
        py: Python<'_>,
        methods: Methods,
        fabric: &Fabric,
        progress: Py<Progress>,
        raised: Arc<OnceLock<PyErr>>,
    ) -> Self {
        Self { methods, connections: HashMap::new(), leaves: leaves(py, fabric), progress, raised }
    }

    /// Runs `act`, unless the run was cancelled: it soon ends, and until then nobody is asked any more.
    fn attached<T>(&self, act: impl FnOnce(Python<'_>) -> PyResult<Option<T>>) -> Option<T> {
        let progress = self.progress.get().inner();
        if progress.is_cancelled() {
            return None;
        }
        Python::attach(act).unwrap_or_else(|error| {
            // After the first nobody is asked.
            let _ = self.raised.set(error);
            progress.cancel();
            None
        })
    }

    /// Asks a method about a connection. `fact` is its first argument, if it has two.
    fn ask(
        &self,
        (name, method): (&str, Option<&Py<PyAny>>),
        connection: u32,
        host: &mut HostView,
        fact: impl FnOnce(Python<'_>) -> PyResult<Option<Py<PyAny>>>,
    ) -> Option<u16> {
        let (method, connection) = (method?, self.connections.get(&connection)?);
        self.attached(|py| {
            {
                let mut shown = connection.borrow_mut(py);
                shown.now_ns = host.now_ns;
                shown.random = host.random.clone();
            }
            let arguments: Vec<Py<PyAny>> =
                fact(py)?.into_iter().chain([connection.clone_ref(py).into_any()]).collect();
            let said = method.call1(py, PyTuple::new(py, arguments)?)?;
            let said = entropy(name, said.bind(py))?;
            let mut shown = connection.borrow_mut(py);
            host.random = shown.random.clone();
            shown.entropy = said.unwrap_or(shown.entropy);
            Ok(said)
        })
    }
}

/// An entropy value that a method returned.
fn entropy(method: &str, said: &Bound<'_, PyAny>) -> PyResult<Option<u16>> {
    said.extract::<Option<u16>>().map_err(|_| {
        AnabranchError::new_err(format!(
            "{method}: {} is no entropy; return an integer from 0 to {}, or None to keep it as it is",
            shown(said),
            u16::MAX
        ))
    })
}

impl HostRule for PythonHosts {
    fn opened(&mut self, flow: &Opened, host: &mut HostView) -> Option<u16> {
        let &Opened { connection, flow, src, dst, size_bytes, .. } = flow;
        let random = host.random.clone();
        let made = self.attached(|py| {
            let state = py.None();
            let made = Connection { flow, size_bytes, src, dst, entropy: 0, now_ns: 0, state, random };
            Py::new(py, made).map(Some)
        })?;
        self.connections.insert(connection, made);
        self.ask(("opened", self.methods.opened.as_ref()), connection, host, |_| Ok(None))
    }

    fn resumed(&mut self, flow: &Opened) {
        if let Some(connection) = self.connections.get(&flow.connection) {
            Python::attach(|py| {
                let mut shown = connection.borrow_mut(py);
                (shown.flow, shown.size_bytes) = (flow.flow, flow.size_bytes);
            });
        }
    }

    fn send(&mut self, connection: u32, packet: &PickedPacket, host: &mut HostView) -> Option<u16> {
        self.ask(("send", self.methods.send.as_ref()), connection, host, |py| {
            let leaf = self.leaves[packet.dst as usize].clone_ref(py);
            Ok(Some(Py::new(py, Packet::of(packet, leaf))?.into_any()))
        })
    }

    fn acknowledged(&mut self, connection: u32, ack: &Acknowledgement, host: &mut HostView) -> Option<u16> {
        self.ask(("acknowledged", self.methods.acknowledged.as_ref()), connection, host, |py| {
            let known = ack.acknowledged;
            let shown = Ack {
                entropy: known.entropy,
                marked: known.marked,
                bytes: known.bytes,
                marked_bytes: known.marked_bytes,
                round_ended: known.round_ended,
                idle: known.idle,
                rtt_ns: ack.rtt_ns,
            };
            Ok(Some(Py::new(py, shown)?.into_any()))
        })
    }

    fn timed_out(&mut self, connection: u32, host: &mut HostView) -> Option<u16> {
        self.ask(("timed_out", self.methods.timed_out.as_ref()), connection, host, |_| Ok(None))
    }

    fn closed(&mut self, connection: u32) {
        let ended = self.connections.remove(&connection);
        if let (Some(ended), Some(method)) = (ended, &self.methods.closed) {
            self.attached(|py| method.call1(py, (ended,)).map(|_| Some(())));
        }
    }
}
