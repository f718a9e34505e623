//! Flows that wait for others, and graphs, where a run is simulated in parts.
//!
//! What has been delivered lets the next thing begin in the same moment, without a look-ahead. So what waits must be in the
//! part in which that is delivered: in a ring each worker waits for what itself receives. What crosses is messages alone.

use crate::Settings;
use crate::transport::Transport;
use anabranch_traffic::{FlowSource, PlacedWork, Start};

/// Reason why flows and graphs take one thread, if they do; `part_of` has the part of each node.
pub(crate) fn one_thread<C>(
    flows: &dyn FlowSource,
    settings: &Settings<C>,
    part_of: &[u32],
) -> Option<&'static str> {
    let part = |host: u32| part_of[host as usize];
    if let Some(reason) = settings.works.iter().find_map(|work| of_graph(work, &part)) {
        return Some(reason);
    }
    let mut delivered_in: Vec<u32> = Vec::new();
    for flow in flows.pass() {
        delivered_in.push(part(flow.dst));
        match flow.start {
            Start::At(_) => {}
            Start::After { flow: awaited, .. } if delivered_in[awaited as usize] == part(flow.src) => {}
            Start::After { .. } => return Some("flows that wait for others of another part"),
            Start::AfterJob { .. } => return Some("flows that wait for a job"),
            Start::Ready { work, node } => {
                let PlacedWork { graph, hosts, ordered, .. } = &settings.works[work as usize];
                let part_of = |rank: u32| part(hosts[rank as usize]);
                // Within a server messages go between other hosts than those of the ranks.
                if (part_of(graph.rank_of(node)), part_of(graph.ends_at(node)))
                    != (part(flow.src), part(flow.dst))
                {
                    return Some("graphs on servers of which each has ports in several parts");
                }
                if *ordered && matches!(settings.transports[usize::from(flow.transport)], Transport::Tcp(_)) {
                    return Some("messages of graphs that follow each other over TCP");
                }
            }
        }
    }
    None
}

/// Reason why a graph takes one thread, if it does.
fn of_graph(work: &PlacedWork, part: &impl Fn(u32) -> u32) -> Option<&'static str> {
    let graph = &work.graph;
    let part_of = |rank: u32| part(work.hosts[rank as usize]);
    if !graph.is_matched() {
        return Some("graphs of which one message may be taken for another");
    }
    for rank in 0..graph.ranks() {
        let own = part_of(rank);
        for node in graph.nodes_of(rank) {
            let ends = part_of(graph.ends_at(node));
            let mut by_start = graph.after_start(node).iter();
            let mut by_end = graph.after_end(node).iter();
            if by_start.any(|&after| part_of(graph.rank_of(after)) != own)
                || by_end.any(|&after| part_of(graph.rank_of(after)) != ends)
            {
                return Some("graphs that wait for what ends in another part");
            }
        }
    }
    None
}
