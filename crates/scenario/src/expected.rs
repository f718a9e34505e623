//! Packet-hops that a run is expected to have, and the time that it takes at least.

use anabranch_balancers::Settings;
use anabranch_fabric::Fabric;
use anabranch_fabric::ideal::Stages;
use anabranch_traffic::{Flow, FlowSource};
use std::collections::HashMap;

/// Frames with payload and answers to them, times the ports on a shortest path of the fabric as built: what load balancers
/// add (probes, longer paths) and what is sent again is not foreseen.
pub(crate) fn packet_hops(fabric: &Fabric, settings: &Settings, flows: &impl FlowSource) -> u64 {
    let mut stages = Stages::new(fabric);
    let mut ports: HashMap<(u32, u32), u64> = HashMap::new();
    let of_flow = |flow: Flow| {
        let leaves = (fabric.leaf_of(flow.src), fabric.leaf_of(flow.dst));
        let passed =
            ports.entry(leaves).or_insert_with(|| stages.of(fabric, flow.src, flow.dst).len() as u64);
        let transport = &settings.transports[usize::from(flow.transport)];
        *passed * transport.expected_frames(settings.framing, flow.size_bytes)
    };
    flows.pass().map(of_flow).sum()
}

/// Least time in picoseconds from the first start to the last delivery: that of the starts which are known, and that in which
/// the busiest host sends what it has.
pub(crate) fn duration_ps(fabric: &Fabric, settings: &Settings, flows: &impl FlowSource) -> u64 {
    let (first_ps, last_ps) = flows.outline().starts_ps.unwrap_or_default();
    let starting_ps = last_ps.min(settings.end_ps).saturating_sub(first_ps);
    let mut sent_bytes = vec![0u64; fabric.hosts() as usize];
    flows.pass().for_each(|flow| sent_bytes[flow.src as usize] += flow.size_bytes);
    let sending_ps = |(host, &bytes): (u32, &u64)| {
        let port = &fabric.ports()[fabric.ports_of(host)[0] as usize];
        port.rate.serialization().bytes_ps(bytes)
    };
    let sending_ps = (0..).zip(&sent_bytes).map(sending_ps).max().unwrap_or(0);
    starting_ps.max(sending_ps.min(settings.end_ps))
}
