//! Which runs can be simulated in parts, each on a thread of its own.

use crate::cut::Cut;
use crate::timers::CONNECTIONS_MAX;
use crate::transport::{Completion, Transport};
use crate::{Partition, Settings, pausing, waits};
use anabranch_fabric::{Fabric, Marking, What};
use anabranch_traffic::{Flow, FlowSource, Start};

/// Flows of which each part holds all records, at most: 0.7 GB a part.
const FLOWS_MAX: u64 = 1 << 22;

/// Time in picoseconds for which the parts of a run go on before they meet again.
#[must_use]
pub fn lookahead_ps<C>(
    fabric: &Fabric,
    flows: &dyn FlowSource,
    settings: &Settings<C>,
    partition: &Partition,
) -> u64 {
    Cut::of(fabric, partition.part_of_nodes(), (flows, settings)).lookahead_ps()
}

/// Reason why one thread simulates a run, if it takes one.
#[must_use]
pub fn one_thread<C>(
    fabric: &Fabric,
    flows: &dyn FlowSource,
    settings: &Settings<C>,
    partition: &Partition,
) -> Option<&'static str> {
    let outline = flows.outline();
    let is_apart = outline.in_order && settings.works.is_empty();
    let begins_later = |flow: Flow| !matches!(flow.start, Start::At(_));
    let losing = settings.changes.iter().any(|change| matches!(change.what, What::PortLoss(..)));
    // Ports with classes draw their marks apart.
    let ramps = || {
        fabric.switches().is_none()
            && fabric.ports().iter().any(|port| matches!(port.marking, Marking::Ramp { .. }))
    };
    if pausing::may_wait_in_circles(fabric, settings, outline.pinned) {
        Some("pauses that may wait for each other in a circle")
    } else if let Some(reason) = settings.transports.iter().find_map(of_transport) {
        Some(reason)
    } else if settings.transports.iter().any(is_late) && !is_apart && flows.pass().any(begins_later) {
        Some("flows that finish when they are acknowledged, where flows wait for others")
    } else if settings.replay.is_some() {
        Some("messages that are replayed")
    } else if !settings.switch_hashes.is_empty() {
        Some("switches that hash header fields")
    } else if losing && ramps() {
        Some("links that lose frames beside RED")
    } else if outline.flows > FLOWS_MAX {
        Some("more than 4,194,304 flows")
    } else if lookahead_ps(fabric, flows, settings, partition) == 0 {
        Some("links without delay")
    } else if is_apart {
        None
    } else {
        waits::one_thread(fabric, flows, settings, &partition.part_of_nodes())
    }
}

/// Whether flows finish at their senders.
fn is_late(transport: &Transport) -> bool {
    transport.protocol().completion() == Completion::Acknowledged
}

/// Reason why a transport takes one thread, if it does.
fn of_transport(transport: &Transport) -> Option<&'static str> {
    match transport {
        Transport::Tcp(_) => {
            return transport.keeps_connections().then_some("connections of TCP that are kept");
        }
        Transport::Mptcp(mptcp) => {
            return (u32::from(mptcp.subflows) > CONNECTIONS_MAX)
                .then_some("MPTCP over more than 64 subflows");
        }
        Transport::Roce(_) | Transport::Uec(_) => {}
        _ => return Some("transports other than TCP, MPTCP, RoCE and UEC"),
    }
    if transport.needs_receives() {
        Some("messages that need a receive")
    } else if is_late(transport)
        && transport.queue_pairs().is_some_and(|pairs| pairs.count > 1 || pairs.persistent)
    {
        Some("flows that finish when they are acknowledged, over several queue pairs or kept ones")
    } else {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail.
mod tests {
    use super::*;
    use crate::Framing;
    use anabranch_fabric::Change;
    use anabranch_fabric::topology::{FatTree, LeafSpine};

    /// A pod stays together, hosts are with their leaf, and the parts are of a size.
    #[test]
    fn parts_by_leaves_keep_pods() {
        let fabric = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
        let cut =
            Cut::new(&fabric, Partition::by_leaves(&fabric, 2).part_of_nodes(), (Framing::ETHERNET, 64), &[]);
        let neighbours =
            |node: u32| fabric.ports_of(node).iter().map(|&port| fabric.ports()[port as usize].to);
        let leaf = |node: u32| neighbours(node).any(|other| other < fabric.hosts());
        let core = |node: u32| neighbours(node).all(|other| other >= fabric.hosts() && !leaf(other));
        for (index, port) in (0..).zip(fabric.ports()) {
            let crosses = cut.crosses_to(index).is_some();
            assert!(!crosses || core(port.from) != core(port.to), "only links of cores cross");
        }
        let of =
            |part: u32| (0..fabric.nodes().len() as u32).filter(|&node| cut.part_of(node) == part).count();
        assert_eq!((cut.parts(), of(0), of(1)), (2, 18, 18));
    }

    #[test]
    fn the_look_ahead_is_a_delay_and_the_shortest_frame() {
        let fabric = LeafSpine { leaves: 2, spines: 1, ..LeafSpine::default() }.build().unwrap();
        let partition = Partition::by_leaves(&fabric, 2);
        let crossing =
            |cut: &Cut| (0..fabric.ports().len() as u32).find(|&port| cut.crosses_to(port).is_some());
        let cut = Cut::new(&fabric, partition.part_of_nodes(), (Framing::ETHERNET, 64), &[]);
        let port = crossing(&cut).unwrap();
        let link = &fabric.ports()[port as usize];
        assert_eq!(cut.lookahead_ps(), link.delay_ps + 84 * 8 * 1_000_000_000_000 / link.rate.bps());
        let faster = Change { at_ps: 5, what: What::PortRate(port, link.rate) };
        let cut = Cut::new(&fabric, partition.part_of_nodes(), (Framing::ETHERNET, 64), &[faster]);
        assert_eq!(cut.lookahead_ps(), link.delay_ps);
    }
}
