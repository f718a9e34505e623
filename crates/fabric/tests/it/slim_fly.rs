//! Slim Fly against its paper: Besta, Hoefler, "Slim Fly: A Cost Effective Low-Diameter Network Topology", SC 2014,
//! sections II and III.

use anabranch_fabric::topology::SlimFly;
use anabranch_fabric::{Fabric, LinkState, NextHops, Tier};
use std::collections::BTreeSet;

/// Neighbours of each router, ascending, by routers counted from zero.
fn neighbours(fabric: &Fabric) -> Vec<Vec<u32>> {
    let hosts = fabric.hosts();
    let of = |router: u32| {
        let others = fabric.ports_of(router).iter().map(|&port| fabric.ports()[port as usize].to);
        let mut others: Vec<u32> = others.filter(|&to| to >= hosts).map(|to| to - hosts).collect();
        others.sort_unstable();
        others
    };
    (hosts..fabric.nodes().len() as u32).map(of).collect()
}

/// Length of the shortest circle, from the first router at which two paths from a root meet.
fn girth(neighbours: &[Vec<u32>]) -> u32 {
    let of_root = |root: u32| {
        let mut seen = vec![None; neighbours.len()];
        seen[root as usize] = Some((0, root));
        let mut queue = std::collections::VecDeque::from([root]);
        let mut least = u32::MAX;
        while let Some(here) = queue.pop_front() {
            let (distance, parent) = seen[here as usize].unwrap();
            for &next in neighbours[here as usize].iter().filter(|&&next| next != parent) {
                match seen[next as usize] {
                    Some((other, _)) => least = least.min(distance + other + 1),
                    None => {
                        seen[next as usize] = Some((distance + 1, here));
                        queue.push_back(next);
                    }
                }
            }
        }
        least
    };
    (0..neighbours.len() as u32).map(of_root).min().unwrap()
}

/// Routers 2 q^2, links of each (3 q - d) / 2 for q = 4 w + d, and every router two links from any other at most; the last router
/// of the example of section II is number 722 of 10,830 hosts.
#[test]
fn routers_links_and_diameter_are_those_of_the_paper() {
    for (q, routers, radix, hosts) in [
        (3, 18, 5, 3),
        (5, 50, 7, 4),
        (7, 98, 11, 6),
        (11, 242, 17, 9),
        (13, 338, 19, 10),
        (17, 578, 25, 13),
        (19, 722, 29, 15),
    ] {
        let shape = SlimFly { q, ..SlimFly::default() };
        let fabric = shape.build().unwrap();
        assert_eq!((shape.network_radix(), shape.hosts_of_router()), (radix, hosts), "{q}");
        assert_eq!(fabric.hosts(), routers * hosts, "{q}");
        let graph = neighbours(&fabric);
        assert_eq!(graph.len() as u32, routers, "{q}");
        for (router, others) in (0..).zip(&graph) {
            let distinct: BTreeSet<u32> = others.iter().copied().collect();
            assert!(distinct.len() == radix as usize && others.len() == distinct.len(), "{q} {router}");
            assert!(!distinct.contains(&router));
            let mut reached: BTreeSet<u32> =
                others.iter().flat_map(|&other| graph[other as usize].iter().copied()).collect();
            reached.extend(distinct);
            assert_eq!(reached.len() as u32, routers, "{q} {router}");
        }
    }
    let hosts = SlimFly { q: 19, ..SlimFly::default() }.build().unwrap().hosts();
    assert_eq!(hosts, 10_830);
}

/// Of q = 5 it is the Hoffman-Singleton graph, the only one of 50 routers with 7 links each and girth 5: no two routers have two
/// paths of two links between them, so that every pair has one shortest path.
#[test]
fn of_five_it_is_the_graph_of_hoffman_and_singleton() {
    let fabric = SlimFly { hosts_per_router: 1, ..SlimFly::default() }.build().unwrap();
    assert_eq!(girth(&neighbours(&fabric)), 5);
    let hops = NextHops::shortest(&fabric, &LinkState::of(&fabric));
    let mut pairs = [0; 3];
    for from in fabric.hosts()..fabric.nodes().len() as u32 {
        for to in 0..50 {
            let distance = hops.distance(from, to).unwrap();
            pairs[distance as usize] += 1;
            assert_eq!(hops.ports(from, to).count(), usize::from(distance > 0));
        }
    }
    assert_eq!(pairs, [50, 50 * 7, 50 * 42]);
    assert!(fabric.nodes()[50..].iter().all(|node| node.tier == Tier::Leaf));
}

#[test]
fn orders_that_are_no_primes_are_refused() {
    let error = |q| SlimFly { q, ..SlimFly::default() }.build().unwrap_err().to_string();
    for (q, hint) in [(0, "3"), (2, "3"), (4, "3 or 5"), (9, "7 or 11"), (25, "23 or 29"), (65_536, "719")] {
        assert_eq!(
            error(q),
            format!(
                "q: {q} is no odd prime from 3 to 719; give a prime, such as {hint}; powers of primes are not built"
            )
        );
    }
    assert!(error(719).contains(" nodes; build"), "{}", error(719));
}
