//! Flows that wait for others, and graphs, where a run is simulated in parts.
//!
//! What has been delivered lets the next thing begin in the same moment. In a ring each worker waits for what itself receives,
//! so what crosses is messages alone. What waits in another part hears of a delivery before it happens
//! (`hosts/announcements.rs`).

use crate::Settings;
use crate::transport::{Reorder, Transport};
use anabranch_fabric::{Change, Fabric, What};
use anabranch_traffic::{FlowSource, PlacedWork, Start};
use rustc_hash::FxHashMap;

/// Reason why flows and graphs take one thread, if they do; `part_of` has the part of each node.
pub(crate) fn one_thread<C>(
    fabric: &Fabric,
    flows: &dyn FlowSource,
    settings: &Settings<C>,
    part_of: &[u32],
) -> Option<&'static str> {
    if settings.works.iter().any(|work| !work.graph.is_matched()) {
        return Some("graphs of which one message may be taken for another");
    }
    let part = |host: u32| part_of[host as usize];
    for flow in flows.pass() {
        let Start::Ready { work, node } = flow.start else { continue };
        let PlacedWork { graph, hosts, ordered, .. } = &settings.works[work as usize];
        let of_rank = |rank: u32| part(hosts[rank as usize]);
        // Within a server messages go between other hosts than those of the ranks.
        if (of_rank(graph.rank_of(node)), of_rank(graph.ends_at(node))) != (part(flow.src), part(flow.dst)) {
            return Some("graphs on servers of which each has ports in several parts");
        }
        let carrier = &settings.transports[usize::from(flow.transport)];
        if *ordered && matches!(carrier, Transport::Tcp(_) | Transport::Mptcp(_)) {
            return Some("messages of graphs that follow each other over TCP");
        }
    }
    if !cross(flows, settings, part_of) {
        return None;
    }
    let is_apart = |host: u32| part_of[host as usize] != part_of[fabric.leaf_of(host) as usize];
    let holds =
        |transport: &Transport| matches!(transport, Transport::Tcp(tcp) if tcp.reorder != Reorder::None);
    // Whether a frame is lost, it is drawn when it arrives.
    let loses = |change: &Change| matches!(change.what, What::PortLoss(port, _) if fabric.ports()[port as usize].to < fabric.hosts());
    if (0..fabric.hosts()).any(is_apart) {
        Some("flows that wait for others, on hosts apart from their leaves")
    } else if settings.changes.iter().any(loses) {
        Some("flows that wait for others, on links to hosts that lose frames")
    } else if settings.transports.iter().any(|transport| matches!(transport, Transport::Mptcp(_))) {
        Some("flows that wait for others, over MPTCP")
    } else if settings.transports.iter().any(holds) {
        Some("flows that wait for others, over receivers that hold segments back")
    } else {
        None
    }
}

/// Whether something waits for what is delivered in another part.
pub(crate) fn cross<C>(flows: &dyn FlowSource, settings: &Settings<C>, part_of: &[u32]) -> bool {
    let outline = flows.outline();
    if outline.in_order && settings.works.is_empty() {
        return false;
    }
    let part = |host: u32| part_of[host as usize];
    let mut delivered_in: Vec<u32> = Vec::new();
    // Part in which all flows of a job are delivered, if it is one.
    let mut jobs: FxHashMap<u32, Option<u32>> = FxHashMap::default();
    let flows_cross = flows.pass().any(|flow| {
        let own = part(flow.dst);
        delivered_in.push(own);
        if let Some(job) = flow.job {
            let of_job = jobs.entry(job).or_insert(Some(own));
            *of_job = of_job.filter(|&other| other == own);
        }
        match flow.start {
            Start::At(_) | Start::Ready { .. } => false,
            Start::After { flow: awaited, .. } => delivered_in[awaited as usize] != part(flow.src),
            Start::AfterJob { job, .. } => jobs.get(&job) != Some(&Some(part(flow.src))),
        }
    });
    flows_cross || settings.works.iter().any(|work| crosses(work, &part))
}

/// Whether a node of a graph waits for what ends in another part.
fn crosses(work: &PlacedWork, part: &impl Fn(u32) -> u32) -> bool {
    let graph = &work.graph;
    let part_of = |rank: u32| part(work.hosts[rank as usize]);
    let waits_elsewhere = |node: u32| {
        let ends = part_of(graph.ends_at(node));
        graph.after_end(node).iter().any(|&after| part_of(graph.rank_of(after)) != ends)
    };
    (0..graph.ranks()).any(|rank| graph.nodes_of(rank).any(waits_elsewhere))
}
