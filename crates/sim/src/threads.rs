//! Which runs can be simulated in parts, each on a thread of its own.

use crate::cut::Cut;
use crate::transport::Transport;
use crate::{Partition, Settings};
use anabranch_fabric::{Fabric, Marking, What};
use anabranch_traffic::{FlowSource, Start};

/// Flows of which each part holds all records, at most: 0.7 GB a part.
const FLOWS_MAX: u64 = 1 << 22;

/// Time in picoseconds for which the parts of a run go on before they meet again.
#[must_use]
pub fn lookahead_ps<C>(fabric: &Fabric, settings: &Settings<C>, partition: &Partition) -> u64 {
    Cut::new(fabric, partition, settings.framing, &settings.changes).lookahead_ps()
}

/// What keeps a run on one thread, if anything does.
#[must_use]
pub fn one_thread<C>(
    fabric: &Fabric,
    flows: &dyn FlowSource,
    settings: &Settings<C>,
    partition: &Partition,
) -> Option<&'static str> {
    let observe = &settings.observe;
    let outline = flows.outline();
    let losing = settings.changes.iter().any(|change| matches!(change.what, What::PortLoss(..)));
    let ramps = || fabric.ports().iter().any(|port| matches!(port.marking, Marking::Ramp { .. }));
    let plain =
        |transport: &Transport| matches!(transport, Transport::Tcp(_)) && !transport.keeps_connections();
    if fabric.switches().is_some() {
        Some("ports with classes of traffic")
    } else if !settings.works.is_empty() {
        Some("workload graphs")
    } else if !settings.transports.iter().all(plain) {
        Some("transports other than TCP with a connection for each flow")
    } else if !settings.switch_hashes.is_empty() {
        Some("switches that hash header fields")
    } else if !observe.capture_ports.is_empty() || !observe.window_flows.is_empty() || observe.events_max > 0
    {
        Some("records of single packets or windows")
    } else if losing && ramps() {
        Some("links that lose frames beside RED")
    } else if outline.flows > FLOWS_MAX {
        Some("more than 4,194,304 flows")
    } else if !outline.in_order && flows.pass().any(|flow| !matches!(flow.start, Start::At(_))) {
        Some("flows that wait for others")
    } else if lookahead_ps(fabric, settings, partition) == 0 {
        Some("links without delay")
    } else {
        None
    }
}
