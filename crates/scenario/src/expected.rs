//! Packet-hops that a run is expected to have.

use anabranch_balancers::Settings;
use anabranch_fabric::Fabric;
use anabranch_fabric::ideal::Stages;
use anabranch_sim::Framing;
use anabranch_sim::transport::{Mptcp, Transport};
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
        *passed * frames(transport, settings.framing, flow.size_bytes)
    };
    flows.pass().map(of_flow).sum()
}

/// Frames with payload, and answers to them.
fn frames(transport: &Transport, framing: Framing, size_bytes: u64) -> u64 {
    let payload_bytes = transport.payload_bytes_max(framing);
    let data = size_bytes.div_ceil(payload_bytes.into());
    let each = |bytes: u32| data * u64::from(framing.frame_bytes(payload_bytes)) / u64::from(bytes);
    let answers = match transport {
        Transport::Tcp(tcp) | Transport::Mptcp(Mptcp { tcp, .. }) => data.div_ceil(tcp.ack_every.into()),
        Transport::Udp(_) => 0,
        Transport::Roce(_) => data,
        // The first packet and the last are answered at once.
        Transport::Uec(uec) => {
            let granted = uec.credits.map_or(0, |credits| each(credits.grant_bytes));
            data.min(2 + each(uec.ack_bytes)) + granted
        }
    };
    data + answers
}
