//! Flows and settings against the fabric, before anything runs.

use crate::transport::Transport;
use crate::{Settings, SimulationError, check_switches};
use anabranch_fabric::{Fabric, What};
use anabranch_traffic::{Flow, FlowSource, PlacedWork, Ports, Start};
use anabranch_work::Act;
use std::collections::BTreeMap;

/// Refuses what cannot be simulated.
///
/// # Errors
/// Settings that contradict the fabric or the flows.
pub fn check<B>(
    fabric: &Fabric,
    flows: &dyn FlowSource,
    settings: &Settings<B>,
) -> Result<(), SimulationError> {
    for (index, flow) in flows.pass().enumerate() {
        check_flow(fabric, index, &flow, &settings.transports)?;
    }
    let outline = flows.outline();
    if !outline.in_order {
        check_barriers(flows)?;
    }
    check_works(fabric, flows, settings)?;
    check_switches(fabric, settings.framing, &settings.nic)?;
    for (index, transport) in settings.transports.iter().enumerate() {
        if let Err((problem, hint)) = transport.protocol().check() {
            return Err(SimulationError::new(format!("transport {index}: {problem}"), hint));
        }
        if transport.reads_telemetry() && fabric.switches().is_none() {
            return Err(SimulationError::new(
                format!("transport {index}: HPCC reads telemetry, which only ports with classes write"),
                "set fabric.preset, for example to \"lossless-roce\"",
            ));
        }
        let (bytes, most) =
            (transport.payload_bytes_max(settings.framing), settings.framing.payload_bytes_max);
        if bytes == 0 || bytes > most {
            return Err(SimulationError::new(
                format!("transport {index}: segments of {bytes} bytes"),
                format!("give a payload from 1 to {most} bytes, the framing's"),
            ));
        }
    }
    let switches = fabric.nodes().len() - fabric.hosts() as usize;
    if !settings.switch_hashes.is_empty() && settings.switch_hashes.len() != switches {
        return Err(SimulationError::new(
            format!("switch_hashes: {} for {switches} switches", settings.switch_hashes.len()),
            "give one for each switch, or none",
        ));
    }
    let ports = fabric.ports().len() as u32;
    let observe = &settings.observe;
    if let Some(port) = observe.queue_ports.iter().chain(&observe.capture_ports).find(|&&port| port >= ports)
    {
        return Err(SimulationError::new(
            format!("record: port {port} of a fabric with {ports} ports"),
            format!("name ports below {ports}"),
        ));
    }
    if let Some(flow) = observe.window_flows.iter().find(|&&flow| u64::from(flow) >= outline.flows) {
        return Err(SimulationError::new(
            format!("record: flow {flow} of {} flows", outline.flows),
            "name flows of the list, counted from 0",
        ));
    }
    for change in &settings.changes {
        let (what, number, most) = match change.what {
            What::PortDown(port) | What::PortUp(port) | What::PortRate(port, _) | What::PortLoss(port, _) => {
                ("port", port, ports)
            }
            What::NodeDown(node) | What::NodeUp(node) | What::NodeBlackhole(node, _) => {
                ("node", node, fabric.nodes().len() as u32)
            }
        };
        if number >= most {
            return Err(SimulationError::new(
                format!("change: {what} {number} of {most}"),
                format!("name a {what} of the fabric"),
            ));
        }
        if matches!(change.what, What::NodeBlackhole(node, _) if node < fabric.hosts()) {
            return Err(SimulationError::new(
                format!("change: node {number} is a host, and hosts forward nothing"),
                "name a switch as blackhole",
            ));
        }
    }
    Ok(())
}

/// Refuses a flow, by its number, that cannot be simulated.
///
/// # Errors
/// A flow that contradicts the fabric or the transports.
pub fn check_flow(
    fabric: &Fabric,
    index: usize,
    flow: &Flow,
    transports: &[Transport],
) -> Result<(), SimulationError> {
    let hosts = fabric.hosts();
    if flow.src >= hosts || flow.dst >= hosts || flow.src == flow.dst {
        return Err(SimulationError::new(
            format!("flow {index}: from host {} to host {}", flow.src, flow.dst),
            format!("name two different hosts below {hosts}"),
        ));
    }
    if flow.size_bytes == 0 {
        return Err(SimulationError::new(
            format!("flow {index}: size 0"),
            "give every flow at least one byte",
        ));
    }
    let Some(transport) = transports.get(usize::from(flow.transport)) else {
        return Err(SimulationError::new(
            format!("flow {index}: transport {} of {}", flow.transport, transports.len()),
            "name a transport of the list, counted from 0",
        ));
    };
    if flow.ports.destination.is_some() && transport.queue_pairs().is_some() {
        return Err(SimulationError::new(
            format!("flow {index}: it is given a destination port, and RDMA has one of its own"),
            "leave out dst_port",
        ));
    }
    let more = transport.connections_max() - 1;
    if let Some(port) = flow.ports.source
        && port.checked_add(more.into()).is_none()
    {
        return Err(SimulationError::new(
            format!("flow {index}: source port {port}, and it has {} connections from there on", more + 1),
            format!("give one of at most {}", u16::MAX - u16::from(more)),
        ));
    }
    if flow.ports != Ports::CHOSEN && transport.keeps_connections() {
        return Err(SimulationError::new(
            format!(
                "flow {index}: it is given ports, but its hosts keep their connections from flow to flow"
            ),
            "leave out src_port and dst_port, or set persistent = false; queue pairs that are kept have source_ports",
        ));
    }
    if matches!(flow.start, Start::After { flow: awaited, .. } if awaited as usize >= index) {
        return Err(SimulationError::new(
            format!("flow {index}: it waits for a flow that is not before it"),
            "let a flow wait only for one with a smaller number",
        ));
    }
    Ok(())
}

/// A job that is waited for has flows, and all of them come before.
fn check_barriers(flows: &dyn FlowSource) -> Result<(), SimulationError> {
    let mut last_of: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, flow) in flows.pass().enumerate() {
        if let Some(job) = flow.job {
            last_of.insert(job, index);
        }
    }
    for (index, flow) in flows.pass().enumerate() {
        if let Start::AfterJob { job, .. } = flow.start
            && last_of.get(&job).is_none_or(|&last| last >= index)
        {
            return Err(SimulationError::new(
                format!("flow {index}: it waits for job {job}, whose flows are not all before it"),
                "let a flow wait only for a job whose flows have smaller numbers",
            ));
        }
    }
    Ok(())
}

/// Graphs have a host for each rank, and flows that name a node are its message.
fn check_works<B>(
    fabric: &Fabric,
    flows: &dyn FlowSource,
    settings: &Settings<B>,
) -> Result<(), SimulationError> {
    let mut nodes = 0u64;
    for (index, PlacedWork { graph, hosts, .. }) in settings.works.iter().enumerate() {
        nodes += graph.nodes().len() as u64 + 1;
        if hosts.len() as u64 != u64::from(graph.ranks()) || hosts.iter().any(|&host| host >= fabric.hosts())
        {
            return Err(SimulationError::new(
                format!("work {index}: {} hosts for {} ranks", hosts.len(), graph.ranks()),
                format!("name a host below {} for each rank", fabric.hosts()),
            ));
        }
    }
    if nodes > u32::MAX.into() {
        return Err(SimulationError::new(
            format!("works: {nodes} nodes"),
            "ask for fewer steps or ranks: nodes are counted by 32 bits",
        ));
    }
    if flows.outline().in_order {
        return Ok(());
    }
    for (index, flow) in flows.pass().enumerate() {
        let Start::Ready { work, node } = flow.start else { continue };
        let placed = settings.works.get(work as usize);
        let act = placed.and_then(|placed| placed.graph.nodes().get(node as usize)).map(|node| node.act);
        if !matches!(act, Some(Act::Send { bytes, .. }) if bytes == flow.size_bytes) {
            return Err(SimulationError::new(
                format!("flow {index}: it is no message of node {node} of work {work}"),
                "give the settings the works that the flows were made of",
            ));
        }
    }
    Ok(())
}
