//! Schemes written in Python, asked by the simulator: for weights once per epoch, or for every decision.
//!
//! An exception in a method is kept, the run is cancelled, and its caller raises the same exception.

use crate::error::AnabranchError;
use crate::progress::Progress;
use anabranch_balancers::{MemberStats, PickedPacket, Picker, View as Seen, WeighedGroup, Weigher};
use anabranch_fabric::{Fabric, quantity};
use anabranch_traffic::random::Stream;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use std::collections::HashMap;

/// A group of next hops; see `_core.pyi`.
#[pyclass(frozen, get_all, module = "anabranch._core")]
pub(crate) struct Group {
    number: u32,
    switch: Py<PyString>,
    members: Py<PyTuple>,
    weights: Py<PyTuple>,
    now_ns: u64,
}

/// Counters of a switch at a member's port; see `_core.pyi`.
#[pyclass(frozen, get_all, module = "anabranch._core")]
pub(crate) struct Member {
    name: Py<PyAny>,
    sent_bytes: u64,
    backlog_bytes: u32,
    rate_bps: u64,
    up: bool,
}

/// A packet that needs a decision; see `_core.pyi`.
#[pyclass(frozen, get_all, module = "anabranch._core")]
pub(crate) struct Packet {
    flow: u32,
    size_bytes: u64,
    src: u32,
    dst: u32,
    destination_leaf: Py<PyString>,
    kind: &'static str,
    seq: u64,
    payload_bytes: u16,
    frame_bytes: u16,
    entropy: u32,
}

/// State of a switch when it decides; see `_core.pyi`. One object for the whole run.
#[pyclass(module = "anabranch._core")]
pub(crate) struct View {
    #[pyo3(get)]
    now_ns: u64,
    #[pyo3(get)]
    switch: Py<PyString>,
    #[pyo3(get)]
    group: u32,
    #[pyo3(get)]
    members: Py<PyTuple>,
    backlog_bytes: Vec<u32>,
    up: Vec<bool>,
    seed: u64,
    /// Random numbers, started at the first draw.
    stream: Option<Stream>,
}

#[pymethods]
impl View {
    fn backlog(&self, member: i64) -> PyResult<u32> {
        self.of_member(&self.backlog_bytes, member)
    }

    fn up(&self, member: i64) -> PyResult<bool> {
        self.of_member(&self.up, member)
    }

    fn random(&mut self) -> f64 {
        self.stream.get_or_insert_with(|| Stream::new(self.seed, "own scheme")).unit()
    }
}

impl View {
    fn of_member<T: Copy>(&self, values: &[T], member: i64) -> PyResult<T> {
        let found = usize::try_from(member).ok().and_then(|member| values.get(member));
        found.copied().ok_or_else(|| {
            let count = values.len();
            PyIndexError::new_err(format!("member {member} of {count}; they are counted from 0"))
        })
    }
}

/// Names of a fabric's nodes, made once.
struct Names {
    nodes: Vec<Py<PyString>>,
    /// Node at the other end of each port.
    ends: Vec<u32>,
    /// Nodes that the members of each group lead to.
    members: HashMap<u32, Py<PyTuple>>,
}

impl Names {
    fn of(py: Python<'_>, fabric: &Fabric) -> Self {
        Self {
            nodes: fabric.nodes().iter().map(|node| PyString::intern(py, &node.name).unbind()).collect(),
            ends: fabric.ports().iter().map(|port| port.to).collect(),
            members: HashMap::new(),
        }
    }

    fn node(&self, py: Python<'_>, node: u32) -> Py<PyString> {
        self.nodes[node as usize].clone_ref(py)
    }

    fn members(&mut self, py: Python<'_>, group: u32, ports: &[u32]) -> PyResult<Py<PyTuple>> {
        if let Some(members) = self.members.get(&group) {
            return Ok(members.clone_ref(py));
        }
        let names = ports.iter().map(|&port| &self.nodes[self.ends[port as usize] as usize]);
        let members = PyTuple::new(py, names)?.unbind();
        self.members.insert(group, members.clone_ref(py));
        Ok(members)
    }
}

/// A Python method that gives weights.
pub(crate) struct PythonWeigher<'a> {
    method: Py<PyAny>,
    epoch_ps: u64,
    names: Names,
    progress: &'a Progress,
    /// Exception that the method raised.
    pub(crate) raised: Option<PyErr>,
}

impl<'a> PythonWeigher<'a> {
    pub(crate) fn new(
        py: Python<'_>,
        method: Py<PyAny>,
        epoch: &str,
        fabric: &Fabric,
        progress: &'a Progress,
    ) -> PyResult<Self> {
        let epoch_ps = quantity::time_ps(epoch).filter(|&epoch_ps| epoch_ps > 0).ok_or_else(|| {
            AnabranchError::new_err(format!("epoch: {epoch:?} is no time; give one such as \"100 us\""))
        })?;
        Ok(Self { method, epoch_ps, names: Names::of(py, fabric), progress, raised: None })
    }

    fn ask(
        &mut self,
        py: Python<'_>,
        group: &WeighedGroup<'_>,
        stats: &[MemberStats],
    ) -> PyResult<Option<Vec<u64>>> {
        let members = self.names.members(py, group.number, group.ports)?;
        let names = members.bind(py).iter();
        let shown = names.zip(stats).map(|(name, stats)| {
            let &MemberStats { sent_bytes, backlog_bytes, rate_bps, up } = stats;
            Py::new(py, Member { name: name.unbind(), sent_bytes, backlog_bytes, rate_bps, up })
        });
        let shown = PyList::new(py, shown.collect::<PyResult<Vec<_>>>()?)?;
        let group = Group {
            number: group.number,
            switch: self.names.node(py, group.switch),
            members,
            weights: PyTuple::new(py, group.weights)?.unbind(),
            now_ns: group.now_ps / 1000,
        };
        self.method.call1(py, (group, shown))?.extract(py)
    }
}

impl Weigher for PythonWeigher<'_> {
    fn epoch_ps(&self) -> u64 {
        self.epoch_ps
    }

    fn weigh(&mut self, group: &WeighedGroup<'_>, stats: &[MemberStats]) -> Option<Vec<u64>> {
        match Python::attach(|py| self.ask(py, group, stats)) {
            Ok(weights) => weights,
            Err(error) => {
                self.raised = Some(error);
                self.progress.inner().cancel();
                None
            }
        }
    }
}

/// A Python method that picks.
pub(crate) struct PythonPicker<'a> {
    method: Py<PyAny>,
    view: Py<View>,
    names: Names,
    /// Name of each host's leaf.
    leaves: Vec<Py<PyString>>,
    progress: &'a Progress,
    /// Exception that the method raised.
    pub(crate) raised: Option<PyErr>,
}

impl Packet {
    /// A packet on its way to a leaf of this name.
    pub(crate) fn of(packet: &PickedPacket, destination_leaf: Py<PyString>) -> Self {
        Self {
            flow: packet.flow,
            size_bytes: packet.flow_bytes,
            src: packet.src,
            dst: packet.dst,
            destination_leaf,
            kind: packet.kind.name(),
            seq: packet.seq,
            payload_bytes: packet.payload_bytes,
            frame_bytes: packet.frame_bytes,
            entropy: packet.entropy,
        }
    }
}

/// Name of each host's leaf.
pub(crate) fn leaves(py: Python<'_>, fabric: &Fabric) -> Vec<Py<PyString>> {
    let name = |host| &fabric.nodes()[fabric.leaf_of(host) as usize].name;
    (0..fabric.hosts()).map(|host| PyString::intern(py, name(host)).unbind()).collect()
}

/// Text that Python shows for a value that makes no sense.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string())
}

impl<'a> PythonPicker<'a> {
    pub(crate) fn new(
        py: Python<'_>,
        method: Py<PyAny>,
        fabric: &Fabric,
        progress: &'a Progress,
    ) -> PyResult<Self> {
        let names = Names::of(py, fabric);
        let leaves = leaves(py, fabric);
        let view = View {
            now_ns: 0,
            switch: PyString::new(py, "").unbind(),
            group: 0,
            members: PyTuple::empty(py).unbind(),
            backlog_bytes: Vec::new(),
            up: Vec::new(),
            seed: 0,
            stream: None,
        };
        Ok(Self { method, view: Py::new(py, view)?, names, leaves, progress, raised: None })
    }

    fn ask(&mut self, py: Python<'_>, packet: &PickedPacket, seen: &mut Seen<'_>) -> PyResult<u16> {
        let count = seen.ports.len() as u16;
        {
            let mut view = self.view.borrow_mut(py);
            view.now_ns = seen.now_ns();
            if view.group != seen.group || view.backlog_bytes.is_empty() {
                view.group = seen.group;
                view.switch = self.names.node(py, seen.switch);
                view.members = self.names.members(py, seen.group, seen.ports)?;
            }
            view.backlog_bytes.clear();
            view.backlog_bytes.extend((0..count).map(|member| seen.backlog_bytes(member)));
            view.up.clear();
            view.up.extend((0..count).map(|member| seen.up(member)));
            view.seed = u64::from(seen.random_u32()) << 32 | u64::from(seen.random_u32());
            view.stream = None;
        }
        let packet = Packet::of(packet, self.leaves[packet.dst as usize].clone_ref(py));
        let said = self.method.call1(py, (packet, &self.view))?;
        let member = said.extract::<u16>(py).ok().filter(|&member| member < count);
        member.ok_or_else(|| {
            let said = shown(said.bind(py));
            AnabranchError::new_err(format!(
                "pick: {said} is no member; return an index from 0 to {}, as in view.members",
                count - 1
            ))
        })
    }
}

impl Picker for PythonPicker<'_> {
    fn pick(&mut self, packet: &PickedPacket, view: &mut Seen<'_>) -> u16 {
        // A cancelled run soon ends; until then nobody is asked any more.
        if self.progress.inner().is_cancelled() {
            return 0;
        }
        match Python::attach(|py| self.ask(py, packet, view)) {
            Ok(member) => member,
            Err(error) => {
                self.raised = Some(error);
                self.progress.inner().cancel();
                0
            }
        }
    }
}
