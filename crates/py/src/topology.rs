//! Fabric and its changes, as plain columns.

use anabranch_fabric::{Change, Fabric, Marking, Port, What};
use anabranch_scenario::tier_name;
use pyo3::BoundObject;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::hash::Hash;

const PS_PER_NS: f64 = 1000.0;

/// Nodes, ports and changes; see `_core.pyi`.
pub(crate) fn topology<'py>(
    py: Python<'py>,
    fabric: &Fabric,
    changes: &[Change],
) -> PyResult<Bound<'py, PyDict>> {
    let nodes = PyDict::new(py);
    nodes.set_item("name", fabric.nodes().iter().map(|node| node.name.as_str()).collect::<Vec<_>>())?;
    nodes.set_item("tier", fabric.nodes().iter().map(|node| tier_name(node.tier)).collect::<Vec<_>>())?;
    nodes.set_item("pod", fabric.nodes().iter().map(|node| node.pod).collect::<Vec<_>>())?;
    let whole = PyDict::new(py);
    whole.set_item("nodes", nodes)?;
    whole.set_item("ports", ports(py, fabric.ports())?)?;
    whole.set_item("hosts", fabric.hosts())?;
    whole.set_item("named_hosts", fabric.named_hosts())?;
    let accelerators = fabric.servers().map(|servers| servers.accelerators().collect::<Vec<_>>());
    whole.set_item("accelerators", accelerators.unwrap_or_default())?;
    let changes = changes.iter().map(|one| change(py, one)).collect::<PyResult<Vec<_>>>()?;
    whole.set_item("changes", PyList::new(py, changes)?)?;
    Ok(whole)
}

fn ports<'py>(py: Python<'py>, ports: &[Port]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("from", shared(py, ports.iter().map(|port| port.from))?)?;
    columns.set_item("to", shared(py, ports.iter().map(|port| port.to))?)?;
    columns.set_item("reverse", ports.iter().map(|port| port.reverse).collect::<Vec<_>>())?;
    columns.set_item("rate_bps", shared(py, ports.iter().map(|port| port.rate.bps()))?)?;
    let delays = shared(py, ports.iter().map(|port| Nanoseconds(port.delay_ps)));
    columns.set_item("delay_ns", delays?)?;
    columns.set_item("cost", shared(py, ports.iter().map(|port| port.cost))?)?;
    let limits = |of: fn(&Port) -> u32| shared(py, ports.iter().map(|port| limit(of(port))));
    columns.set_item("buffer_bytes", limits(|port| port.buffer.bytes)?)?;
    columns.set_item("buffer_packets", limits(|port| port.buffer.packets)?)?;
    columns.set_item("mark_bytes", limits(|port| mark(&port.marking).0)?)?;
    columns.set_item("mark_packets", limits(|port| mark(&port.marking).1)?)?;
    Ok(columns)
}

/// Time in picoseconds that Python has in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Nanoseconds(u64);

impl<'py> IntoPyObject<'py> for Nanoseconds {
    type Target = PyFloat;
    type Output = Bound<'py, PyFloat>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        (self.0 as f64 / PS_PER_NS).into_pyobject(py)
    }
}

/// List of values, equal ones as one object: on large fabrics that is most of the list.
fn shared<'py, T>(py: Python<'py>, values: impl Iterator<Item = T>) -> PyResult<Vec<Bound<'py, PyAny>>>
where
    T: IntoPyObject<'py> + Copy + Eq + Hash,
{
    let mut known: HashMap<T, Bound<'py, PyAny>> = HashMap::new();
    let object = |value: T| match known.entry(value) {
        Entry::Occupied(known) => Ok(known.get().clone()),
        Entry::Vacant(vacant) => {
            let object = value.into_pyobject(py).map_err(Into::into)?.into_bound().into_any();
            Ok(vacant.insert(object).clone())
        }
    };
    values.map(object).collect()
}

/// Converts the number that means no limit to `None`.
fn limit(value: u32) -> Option<u32> {
    (value != u32::MAX).then_some(value)
}

/// Bytes and packets from which on a port marks.
fn mark(marking: &Marking) -> (u32, u32) {
    match *marking {
        Marking::Off => (u32::MAX, u32::MAX),
        Marking::Step { bytes, packets } => (bytes, packets),
        Marking::Ramp { low_bytes, .. } => (low_bytes, u32::MAX),
    }
}

fn change<'py>(py: Python<'py>, change: &Change) -> PyResult<Bound<'py, PyDict>> {
    let (what, key, number, value) = match change.what {
        What::PortDown(port) => ("port_down", "port", port, None),
        What::PortUp(port) => ("port_up", "port", port, None),
        What::PortRate(port, rate) => ("port_rate", "port", port, Some(rate.bps() as f64)),
        What::PortLoss(port, loss) => ("port_loss", "port", port, Some(loss)),
        What::NodeDown(node) => ("node_down", "node", node, None),
        What::NodeUp(node) => ("node_up", "node", node, None),
        What::NodeBlackhole(node, fraction) => ("node_blackhole", "node", node, Some(fraction)),
    };
    let row = PyDict::new(py);
    row.set_item("at_ns", change.at_ps as f64 / PS_PER_NS)?;
    row.set_item("what", what)?;
    row.set_item(key, number)?;
    row.set_item("value", value)?;
    Ok(row)
}
