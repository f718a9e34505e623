//! What the network cards of a workload graph's hosts carry at least.

use anabranch_fabric::Fabric;
use anabranch_traffic::PlacedWork;
use anabranch_work::Act;
use std::collections::BTreeMap;

/// Bytes that each host sends to others, and receives, in each part of a graph.
pub(crate) struct CardLoads {
    of_part: Vec<BTreeMap<u32, [u64; 2]>>,
}

impl CardLoads {
    pub(crate) fn of(placed: &PlacedWork, fabric: &Fabric) -> Self {
        let (graph, hosts) = (&placed.graph, &placed.hosts);
        let mut of_part: Vec<BTreeMap<u32, [u64; 2]>> = vec![BTreeMap::new(); graph.parts().len()];
        for rank in 0..graph.ranks() {
            for node in graph.nodes_of(rank) {
                let Act::Send { to, bytes, .. } = graph.node(node).act else { continue };
                if to != rank {
                    let ends = (hosts[rank as usize], hosts[to as usize]);
                    let ends = fabric.servers().map_or(ends, |servers| servers.ends(ends.0, ends.1));
                    let part = &mut of_part[graph.node(node).part as usize];
                    part.entry(ends.0).or_default()[0] += bytes;
                    part.entry(ends.1).or_default()[1] += bytes;
                }
            }
        }
        Self { of_part }
    }

    /// Time that the busiest card needs for the bytes that it sends, or receives, in some parts, in picoseconds.
    pub(crate) fn busiest_ps(&self, parts: &[usize], fabric: &Fabric) -> u64 {
        let mut sums: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
        for (host, [sent, received]) in parts.iter().flat_map(|&part| &self.of_part[part]) {
            let sum = sums.entry(*host).or_default();
            *sum = [sum[0] + sent, sum[1] + received];
        }
        let ps = |(host, [sent, received]): (u32, [u64; 2])| {
            let rate_bps = fabric.ports()[fabric.ports_of(host)[0] as usize].rate.bps();
            (u128::from(sent.max(received)) * 8_000_000_000_000 / u128::from(rate_bps)) as u64
        };
        sums.into_iter().map(ps).max().unwrap_or(0)
    }
}
