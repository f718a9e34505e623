//! Packet-hops that a run is expected to have.

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
