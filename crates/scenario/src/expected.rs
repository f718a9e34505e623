//! Packet-hops that a run is expected to have, and the time that it takes at least.

use anabranch_balancers::Settings;
use anabranch_fabric::{Fabric, LinkState, NextHops};
use anabranch_traffic::{Flow, FlowSource};
use std::collections::HashMap;
use std::iter::successors;

/// Frames with payload and answers to them, times the ports on a shortest path of the fabric as built: what load balancers
/// add (probes, longer paths) and what is sent again is not foreseen.
pub(crate) fn packet_hops(fabric: &Fabric, settings: &Settings, flows: &impl FlowSource) -> u64 {
    let next_hops = NextHops::shortest(fabric, &LinkState::of(fabric));
    let mut ports: HashMap<(u32, u32), u64> = HashMap::new();
    let of_flow = |flow: Flow| {
        let leaves = (fabric.leaf_of(flow.src), fabric.leaf_of(flow.dst));
        let passed = ports.entry(leaves).or_insert_with(|| path_ports(fabric, &next_hops, leaves));
        let transport = &settings.transports[usize::from(flow.transport)];
        *passed * transport.expected_frames(settings.framing, flow.size_bytes)
    };
    flows.pass().map(of_flow).sum()
}

/// Ports on a shortest path between hosts of two leaves, their own links included; on none, those alone.
fn path_ports(fabric: &Fabric, next_hops: &NextHops, (from, to): (u32, u32)) -> u64 {
    let next = |&node: &u32| {
        let port = next_hops.ports(node, next_hops.destination(to)?).next()?;
        Some(fabric.ports()[port as usize].to)
    };
    successors(Some(from), next).count() as u64 + 1
}

/// Least time in picoseconds from the first start to the last delivery, if nothing ended the run before: that of the starts
/// which are known, and that in which the busiest host sends what it has.
pub(crate) fn duration_ps(fabric: &Fabric, flows: &impl FlowSource) -> u64 {
    let (first_ps, last_ps) = flows.outline().starts_ps.unwrap_or_default();
    let mut sent_bytes = vec![0u64; fabric.hosts() as usize];
    flows.pass().for_each(|flow| sent_bytes[flow.src as usize] += flow.size_bytes);
    let sending_ps = |(host, &bytes): (u32, &u64)| {
        let port = &fabric.ports()[fabric.ports_of(host)[0] as usize];
        port.rate.serialization().bytes_ps(bytes)
    };
    let sending_ps = (0..).zip(&sent_bytes).map(sending_ps).max().unwrap_or(0);
    last_ps.saturating_sub(first_ps).max(sending_ps)
}
