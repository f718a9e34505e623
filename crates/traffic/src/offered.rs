//! Offered load of every tier, computed from the flows.

use crate::{FlowSource, Start};
use anabranch_fabric::{Fabric, LinkState, NextHops, Tier};
use std::collections::BTreeMap;

/// All ports from one tier to another, as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TierLoad {
    /// Tier that sends.
    pub from: Tier,
    /// Tier that receives.
    pub to: Tier,
    /// Number of ports.
    pub ports: u32,
    /// Sum of their rates, in bits per second.
    pub capacity_bps: f64,
    /// Payload that is offered to them, in bits per second.
    pub payload_bps: f64,
    /// Load: `payload_bps / capacity_bps`.
    pub load: f64,
    /// Load of the busiest of these ports if every switch splits evenly over its shortest next hops.
    pub load_busiest: f64,
}

/// Computes the payload of `flows` over `window_ps` and the fabric as built, tier by tier: going up, then down. Flows
/// that wait for others are left out: their start depends on the network.
///
/// If all shortest paths cross the same tiers, as in every fabric of leaves, pods and spines, the traffic between two
/// tiers does not depend on how switches split.
#[must_use]
pub fn offered(fabric: &Fabric, flows: &(impl FlowSource + ?Sized), window_ps: u64) -> Vec<TierLoad> {
    let leaves = fabric.leaves();
    let index = |host: u32| leaves.partition_point(|&leaf| leaf < fabric.leaf_of(host));
    let mut bytes = vec![0.0; fabric.ports().len()];
    // Payload from leaf to leaf, by destination, then source; nothing where nobody sends.
    let mut demand = vec![Vec::new(); leaves.len()];
    for flow in flows.pass().filter(|flow| matches!(flow.start, Start::At(_))) {
        let (out, back) = (fabric.ports_of(flow.src)[0], fabric.ports_of(flow.dst)[0]);
        bytes[out as usize] += flow.size_bytes as f64;
        bytes[fabric.ports()[back as usize].reverse as usize] += flow.size_bytes as f64;
        let sources: &mut Vec<f64> = &mut demand[index(flow.dst)];
        sources.resize(leaves.len(), 0.0);
        sources[index(flow.src)] += flow.size_bytes as f64;
    }
    let state = LinkState::of(fabric);
    let hops = NextHops::shortest(fabric, &state);
    for (destination, sources) in demand.iter().enumerate().filter(|(_, sources)| !sources.is_empty()) {
        spread(fabric, &hops, destination as u32, &leaves, sources, &mut bytes);
    }
    by_tier(fabric, &bytes, window_ps)
}

/// Adds the bytes that leaves send to one of them to the ports on their paths, split evenly at every switch.
fn spread(
    fabric: &Fabric,
    hops: &NextHops,
    destination: u32,
    leaves: &[u32],
    sources: &[f64],
    bytes: &mut [f64],
) {
    let mut at_node = vec![0.0; fabric.nodes().len()];
    for (&leaf, sent) in leaves.iter().zip(sources) {
        at_node[leaf as usize] = *sent;
    }
    // From far to near, the destination itself left out.
    for node in hops.nearest_first(destination).into_iter().skip(1).rev() {
        if at_node[node as usize] == 0.0 {
            continue;
        }
        let next: Vec<u32> = hops.ports(node, destination).collect();
        for &port in &next {
            let part = at_node[node as usize] / next.len() as f64;
            bytes[port as usize] += part;
            at_node[fabric.ports()[port as usize].to as usize] += part;
        }
    }
}

fn by_tier(fabric: &Fabric, bytes: &[f64], window_ps: u64) -> Vec<TierLoad> {
    let tier = |node: u32| fabric.nodes()[node as usize].tier;
    let bps = |bytes: f64| bytes * 8e12 / window_ps as f64;
    let mut rows = BTreeMap::new();
    for (port, &bytes) in fabric.ports().iter().zip(bytes) {
        let (from, to) = (tier(port.from), tier(port.to));
        // Up from the hosts, then down to them.
        let down = (from > to).then_some(std::cmp::Reverse(from));
        let order = (down, from, to);
        let row = rows.entry(order).or_insert(TierLoad {
            from,
            to,
            ports: 0,
            capacity_bps: 0.0,
            payload_bps: 0.0,
            load: 0.0,
            load_busiest: 0.0,
        });
        let rate_bps = port.rate.bps() as f64;
        row.ports += 1;
        row.capacity_bps += rate_bps;
        row.payload_bps += bps(bytes);
        row.load_busiest = row.load_busiest.max(bps(bytes) / rate_bps);
    }
    let with_load = |row: TierLoad| TierLoad { load: row.payload_bps / row.capacity_bps, ..row };
    rows.into_values().map(with_load).collect()
}
