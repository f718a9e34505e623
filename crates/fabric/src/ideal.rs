//! The ideal completion time of a flow: alone in the fabric as built.

use crate::{Fabric, LinkState, NextHops, Rate, Serialization};
use std::cmp::Reverse;

/// One link of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Time of bytes on it.
    pub serialization: Serialization,
    /// Time of the signal, in picoseconds.
    pub delay_ps: u64,
}

/// For every pair of hosts one shortest path through the fabric as built: each switch takes the next hop with the widest
/// way behind it, the one of least delay among equals, the first port among these. Where rates of a tier are alike,
/// all shortest paths are worth the same; where they are not, this is what a flow could wish for.
#[derive(Debug)]
pub struct BestPaths<'a> {
    fabric: &'a Fabric,
    hops: NextHops,
    /// By destination, once asked for: each switch's port, [`NO_WAY`] if there is none.
    best: Vec<Option<Vec<u32>>>,
}

const NO_WAY: u32 = u32::MAX;

impl<'a> BestPaths<'a> {
    /// Of a fabric.
    #[must_use]
    pub fn new(fabric: &'a Fabric) -> Self {
        let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
        let best = vec![None; hops.leaves.len()];
        Self { fabric, hops, best }
    }

    /// The links from one host to another. Without a way between their leaves it ends where there is none.
    pub fn path(&mut self, src: u32, dst: u32) -> Vec<Hop> {
        let Self { fabric, hops, best } = self;
        let hop = |port: u32| {
            let port = &fabric.ports()[port as usize];
            Hop { serialization: port.rate.serialization(), delay_ps: port.delay_ps }
        };
        let to = fabric.leaf_of(dst);
        let destination = hops.leaves.partition_point(|&leaf| leaf < to);
        let best = best[destination].get_or_insert_with(|| best_ports(fabric, hops, destination as u32));
        let mut path = vec![hop(fabric.ports_of(src)[0])];
        let mut port = best[hops.switch(fabric.leaf_of(src))];
        while port != NO_WAY {
            path.push(hop(port));
            port = best[hops.switch(fabric.ports()[port as usize].to)];
        }
        path.push(hop(fabric.ports()[fabric.ports_of(dst)[0] as usize].reverse));
        path
    }
}

fn best_ports(fabric: &Fabric, hops: &NextHops, destination: u32) -> Vec<u32> {
    let mut best = vec![NO_WAY; hops.switches()];
    // Of the best way from each switch: its slowest rate and its delay.
    let mut way = vec![(Rate::FASTEST, 0); hops.switches()];
    for node in hops.nearest_first(destination) {
        let by = |port: u32| {
            let link = &fabric.ports()[port as usize];
            let (rate, delay_ps) = way[hops.switch(link.to)];
            (port, (link.rate.min(rate), link.delay_ps + delay_ps))
        };
        let widest = hops
            .ports(node, destination)
            .map(by)
            .min_by_key(|&(port, (rate, delay_ps))| (Reverse(rate), delay_ps, port));
        if let Some((port, behind)) = widest {
            best[hops.switch(node)] = port;
            way[hops.switch(node)] = behind;
        }
    }
    best
}

/// Time until the last byte has arrived, in picoseconds, if `full` frames of `full_bytes` and then one of
/// `last_bytes` (both with preamble and gap) are sent one after the other over an empty path: no window, no
/// handshake, no acknowledgements. Every node stores a frame whole before it forwards it.
///
/// The last frame leaves a hop when it is in and the frame before it is out. Both times are sums over the path: the
/// last of n equal frames ends hop k at the time one frame takes to end it plus n - 1 times the slowest hop so far.
#[must_use]
pub fn ideal_fct_ps(path: &[Hop], full: u64, full_bytes: u32, last_bytes: u32) -> u64 {
    // When the first full frame, and the last full one, are wholly out of each hop, and the last frame of all.
    let (mut first_ps, mut slowest_ps, mut last_ps) = (0, 0, 0);
    let mut delay_ps = 0;
    for hop in path {
        let full_ps = hop.serialization.frame_ps(full_bytes);
        first_ps += full_ps;
        slowest_ps = slowest_ps.max(full_ps);
        let free_ps = if full == 0 { 0 } else { first_ps + (full - 1) * slowest_ps + delay_ps };
        last_ps = free_ps.max(last_ps) + hop.serialization.frame_ps(last_bytes) + hop.delay_ps;
        delay_ps += hop.delay_ps;
    }
    last_ps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Clos, LeafSpine, LinkSettings};
    use crate::{Graph, GraphLink, GraphNode};
    use proptest::prelude::*;

    fn gbps(rate: u64) -> Rate {
        Rate::from_bps(rate * 1_000_000_000).unwrap()
    }

    #[test]
    fn a_flow_wishes_for_the_widest_way_and_then_the_quickest() {
        // Between two leaves three spines: the first slow on the far side, the second far away, the third good.
        let node = |name: &str| GraphNode { name: name.to_owned(), tier: None, pod: None };
        let nodes = ["host0", "host1", "leaf0", "leaf1", "spine0", "spine1", "spine2"].map(node).to_vec();
        let link = |a, b, rate, delay_ps| {
            let settings = LinkSettings { rate: gbps(rate), delay_ps, ..LinkSettings::default() };
            GraphLink { a, b, settings, back: None }
        };
        let links = vec![
            link(0, 2, 10, 10),
            link(1, 3, 10, 20),
            link(2, 4, 40, 1),
            link(4, 3, 1, 1),
            link(2, 5, 40, 900),
            link(5, 3, 40, 1),
            link(2, 6, 25, 30),
            link(6, 3, 40, 40),
            link(6, 3, 40, 35),
        ];
        let fabric = Graph { nodes: nodes.clone(), links: links.clone() }.build().unwrap();
        let delays = |fabric: &Fabric, src, dst| {
            BestPaths::new(fabric).path(src, dst).iter().map(|hop| hop.delay_ps).collect::<Vec<_>>()
        };
        assert_eq!(delays(&fabric, 0, 1), [10, 900, 1, 20], "40 Gbit/s, however far");
        let mut even = links;
        even[6] = link(2, 6, 40, 30);
        let fabric = Graph { nodes, links: even }.build().unwrap();
        assert_eq!(delays(&fabric, 0, 1), [10, 30, 35, 20], "the nearer of two of 40 Gbit/s");
        assert_eq!(delays(&fabric, 1, 0), [20, 35, 30, 10]);
    }

    #[test]
    fn paths_have_the_length_of_their_tiers() {
        let leaf_spine = LeafSpine::default().build().unwrap();
        let mut best = BestPaths::new(&leaf_spine);
        assert_eq!([best.path(0, 1).len(), best.path(0, leaf_spine.hosts() - 1).len()], [2, 4]);
        let clos = Clos::default().build().unwrap();
        let mut best = BestPaths::new(&clos);
        assert_eq!(best.path(0, clos.hosts() - 1).len(), 6);
    }

    proptest! {
        /// Against the recurrence frame by frame.
        #[test]
        fn agrees_with_every_frame_on_its_way(
            hops in prop::collection::vec((0usize..5, 0u64..3_000_000), 1..7),
            full in 0u64..40,
            full_bytes in 84u32..1539,
            last_share in 0.0f64..1.0,
        ) {
            const RATES: [u64; 5] = [1_000_000_000, 10_000_000_000, 25_000_000_000, 40_000_000_000, 3_000_000_000];
            let path: Vec<Hop> = hops
                .iter()
                .map(|&(rate, delay_ps)| Hop { serialization: Rate::from_bps(RATES[rate]).unwrap().serialization(), delay_ps })
                .collect();
            let last_bytes = 84.max((f64::from(full_bytes) * last_share) as u32);
            let mut free_ps = vec![0u64; path.len()];
            let mut arrived_ps = 0;
            for frame in 0..=full {
                let bytes = if frame == full { last_bytes } else { full_bytes };
                arrived_ps = 0;
                for (hop, free_ps) in path.iter().zip(&mut free_ps) {
                    let end_ps = arrived_ps.max(*free_ps) + hop.serialization.frame_ps(bytes);
                    *free_ps = end_ps;
                    arrived_ps = end_ps + hop.delay_ps;
                }
            }
            prop_assert_eq!(ideal_fct_ps(&path, full, full_bytes, last_bytes), arrived_ps);
        }
    }
}
