//! Fabric and its changes, as plain columns.

use anabranch_fabric::{Change, Fabric, Marking, Port, What};
use anabranch_scenario::tier_name;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

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
    let changes = changes.iter().map(|one| change(py, one)).collect::<PyResult<Vec<_>>>()?;
    whole.set_item("changes", PyList::new(py, changes)?)?;
    Ok(whole)
}

fn ports<'py>(py: Python<'py>, ports: &[Port]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("from", ports.iter().map(|port| port.from).collect::<Vec<_>>())?;
    columns.set_item("to", ports.iter().map(|port| port.to).collect::<Vec<_>>())?;
    columns.set_item("reverse", ports.iter().map(|port| port.reverse).collect::<Vec<_>>())?;
    columns.set_item("rate_bps", ports.iter().map(|port| port.rate.bps()).collect::<Vec<_>>())?;
    let delays = ports.iter().map(|port| port.delay_ps as f64 / PS_PER_NS);
    columns.set_item("delay_ns", delays.collect::<Vec<_>>())?;
    let limits = |of: fn(&Port) -> u32| ports.iter().map(move |port| limit(of(port))).collect::<Vec<_>>();
    columns.set_item("buffer_bytes", limits(|port| port.buffer.bytes))?;
    columns.set_item("buffer_packets", limits(|port| port.buffer.packets))?;
    columns.set_item("mark_bytes", limits(|port| mark(&port.marking).0))?;
    columns.set_item("mark_packets", limits(|port| mark(&port.marking).1))?;
    Ok(columns)
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
