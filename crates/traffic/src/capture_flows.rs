//! Connections of a capture as flows between hosts.

use crate::{Connections, Direction, Flow, Ports, Start, TrafficError};
use anabranch_fabric::{Fabric, Racks};
use std::collections::HashMap;

/// Flows made from a capture's connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFlows {
    /// One flow per direction of a conversation, in the order of their first packets.
    pub flows: Vec<Flow>,
    /// Number of directions whose two addresses map to the same host: they cross no link and are left out.
    pub local: u64,
    /// Number of addresses seen. If there are more than hosts, several share a host.
    pub addresses: u64,
}

/// Makes one flow per direction of a conversation: all its bytes (as counted on the wire) from the time of its first
/// packet, counted from the capture's first. Addresses are dealt to hosts in the order in which they appear, source
/// before destination: one to each leaf in turn, each time to the leaf's next host, and around again when all hosts
/// have one.
///
/// # Errors
/// Refuses connections that are not counted by direction, or of which none crosses a link.
pub fn capture_flows(
    connections: &Connections,
    fabric: &Fabric,
    transport: u8,
) -> Result<CaptureFlows, TrafficError> {
    if connections.direction() != Direction::Each {
        return Err(TrafficError::new(
            None,
            "a capture whose conversations are counted both ways together",
            "count every direction as a connection of its own",
        ));
    }
    let deal = dealing_order(fabric);
    if deal.len() < 2 {
        return Err(TrafficError::new(
            None,
            format!("traffic in a fabric of {} hosts", deal.len()),
            "give the fabric two hosts or more",
        ));
    }
    let mut hosts: HashMap<[u8; 16], u32> = HashMap::new();
    let mut host_of = |address: [u8; 16]| {
        let next = deal[hosts.len() % deal.len()];
        *hosts.entry(address).or_insert(next)
    };
    let first_ns = connections.first_ns().iter().copied().min().unwrap_or(0);
    let mut local = 0;
    let mut flows = Vec::with_capacity(connections.len());
    for ((tuple, bytes), &at_ns) in connections.tuples().zip(connections.bytes()).zip(connections.first_ns())
    {
        let (src, dst) = (host_of(tuple.source), host_of(tuple.destination));
        if src == dst {
            local += 1;
            continue;
        }
        let after_ns = at_ns - first_ns;
        flows.push(Flow {
            src,
            dst,
            size_bytes: bytes.max(1),
            start: Start::At(after_ns.checked_mul(1000).ok_or_else(|| {
                TrafficError::new(
                    None,
                    format!("a capture of {} days", after_ns / 86_400_000_000_000),
                    "cut it to 213 days, the longest simulation",
                )
            })?),
            path: None,
            job: None,
            transport,
            ports: Ports::CHOSEN,
        });
    }
    if flows.is_empty() {
        return Err(TrafficError::new(
            None,
            "a capture without a connection between two addresses on different hosts",
            "give a capture of IP traffic between several addresses",
        ));
    }
    Ok(CaptureFlows { flows, local, addresses: hosts.len() as u64 })
}

/// Hosts in the order in which addresses are dealt to them: the first of each rack, the second of each rack, and so on.
fn dealing_order(fabric: &Fabric) -> Vec<u32> {
    let racks = Racks::of(fabric);
    let mut dealt = vec![0u32; racks.leaves.len()];
    let mut order: Vec<(u32, u32, u32)> = (0..)
        .zip(&racks.of)
        .map(|(host, &rack)| {
            dealt[rack as usize] += 1;
            (dealt[rack as usize], rack, host)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, _, host)| host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Headers, PacketRecord};
    use anabranch_fabric::topology::LeafSpine;
    use anabranch_split::FiveTuple;

    fn capture(direction: Direction, packets: &[(u8, u8, u64, u64)]) -> Connections {
        let mut connections = Connections::new(direction);
        for &(src, dst, bytes, time_ns) in packets {
            let tuple = FiveTuple::v4([10, 0, 0, src], [10, 0, 0, dst], 6, src.into(), dst.into());
            connections.observe(&PacketRecord { time_ns, bytes, tuple, headers: Headers::default() });
        }
        connections
    }

    #[test]
    fn addresses_are_dealt_leaf_by_leaf() {
        let fabric =
            LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap();
        // Hosts 0 and 1 are on one leaf, 2 and 3 on the other. Address 9 comes fifth and shares host 0 with 5.
        let packets =
            [(5, 6, 100, 50), (6, 5, 10, 52), (5, 6, 200, 60), (7, 8, 1, 55), (9, 6, 4, 57), (9, 5, 3, 58)];
        let made = capture_flows(&capture(Direction::Each, &packets), &fabric, 1).unwrap();
        let rows: Vec<_> = made.flows.iter().map(|f| (f.src, f.dst, f.size_bytes, f.start)).collect();
        let at = |ns: u64| Start::At(ns * 1000);
        assert_eq!(rows, [(0, 2, 300, at(0)), (2, 0, 10, at(2)), (1, 3, 1, at(5)), (0, 2, 4, at(7))]);
        assert_eq!((made.local, made.addresses), (1, 5));
        assert!(made.flows.iter().all(|flow| flow.transport == 1));
    }

    #[test]
    fn what_is_no_traffic_is_refused() {
        let fabric = LeafSpine::default().build().unwrap();
        assert!(capture_flows(&capture(Direction::Conversation, &[(1, 2, 1, 0)]), &fabric, 0).is_err());
        assert!(capture_flows(&capture(Direction::Each, &[]), &fabric, 0).is_err());
        assert!(capture_flows(&capture(Direction::Each, &[(1, 1, 1, 0)]), &fabric, 0).is_err());
    }
}
