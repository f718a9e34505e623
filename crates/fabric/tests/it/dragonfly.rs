//! Dragonfly against its definition: Kim, Dally, Scott, Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology",
//! ISCA 2008, sections 3 and 4.

use anabranch_fabric::capacity::bisection_bps;
use anabranch_fabric::paths::{path, path_counts};
use anabranch_fabric::topology::Dragonfly;
use anabranch_fabric::{Fabric, LinkState, NextHops};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const TEN: u64 = 10_000_000_000;

fn group(fabric: &Fabric, router: u32) -> u32 {
    fabric.nodes()[router as usize].pod.unwrap()
}

/// Links between routers of two groups, by those groups, each from the first to the second.
fn global_links(fabric: &Fabric) -> BTreeMap<(u32, u32), Vec<(u32, u32)>> {
    let mut links: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
    for port in fabric.ports().iter().filter(|port| port.from.min(port.to) >= fabric.hosts()) {
        let groups = (group(fabric, port.from), group(fabric, port.to));
        if groups.0 != groups.1 {
            links.entry(groups).or_default().push((port.from, port.to));
        }
    }
    links
}

/// Routers of every minimal path of section 4.1: over one link between the groups, with a step within each group where that
/// link does not begin or end there; of these the shortest.
fn minimal(fabric: &Fabric, from: u32, to: u32) -> BTreeSet<Vec<u32>> {
    let groups = (group(fabric, from), group(fabric, to));
    let paths: Vec<Vec<u32>> = if groups.0 == groups.1 {
        vec![vec![from, to]]
    } else {
        let over = |&(near, far): &(u32, u32)| {
            let mut routers = vec![from, near, far, to];
            routers.dedup();
            routers
        };
        global_links(fabric)[&groups].iter().map(over).collect()
    };
    let least = paths.iter().map(Vec::len).min().unwrap();
    paths.into_iter().filter(|path| path.len() == least).collect()
}

/// Routers of every path that routing uses.
fn routed(fabric: &Fabric, hops: &NextHops, from: u32, to: u32) -> BTreeSet<Vec<u32>> {
    let destination = hops.destination(to).unwrap();
    let counts = path_counts(fabric, hops, destination);
    let routers = |index| {
        let ports = path(fabric, hops, &counts, from, destination, index).unwrap().ports;
        [from].into_iter().chain(ports.iter().map(|&port| fabric.ports()[port as usize].to)).collect()
    };
    (0..counts[hops.switch(from)]).map(routers).collect()
}

#[test]
fn the_example_of_the_paper_has_its_counts() {
    // Figure 5: p = h = 2, a = 4, which gives g = 9 groups and N = 72 terminals.
    let fabric = Dragonfly::default().build().unwrap();
    assert_eq!((fabric.hosts(), fabric.nodes().len()), (72, 72 + 36));
    // 72 links of hosts, 9 complete graphs of 4 routers, a link for each pair of groups.
    assert_eq!(fabric.ports().len(), 2 * (72 + 9 * 6 + 36));
    for router in fabric.hosts()..108 {
        // Radix k = p + a + h - 1.
        assert_eq!(fabric.ports_of(router).len(), 2 + 4 + 2 - 1);
    }
}

#[test]
fn half_of_the_groups_reach_the_other_half_over_the_links_between_them() {
    // Four groups of three routers, one link for each pair: two groups face two.
    let fabric = Dragonfly {
        routers_per_group: 3,
        global_links_per_router: 1,
        hosts_per_router: 1,
        ..Dragonfly::default()
    };
    assert_eq!(bisection_bps(&fabric.build().unwrap()), 4 * TEN);
}

proptest! {
    #[test]
    fn routing_takes_the_minimal_paths_of_the_paper_and_no_others(
        (routers_per_group, global_links_per_router, groups) in (1..6u32, 1..4u32)
            .prop_flat_map(|(a, h)| (Just(a), Just(h), 1..=a * h + 1)),
    ) {
        let shape = Dragonfly {
            routers_per_group, global_links_per_router, groups, hosts_per_router: 1, ..Dragonfly::default()
        };
        let fabric = shape.build().unwrap();
        let links = global_links(&fabric);
        // Every pair of groups has the same number of links, as many as there can be.
        let copies = routers_per_group * global_links_per_router / groups.saturating_sub(1).max(1);
        prop_assert_eq!(links.len() as u32, groups * (groups - 1));
        prop_assert!(links.values().all(|pair| pair.len() as u32 == copies));
        let hops = NextHops::shortest(&fabric, &LinkState::of(&fabric));
        let routers = fabric.hosts()..fabric.nodes().len() as u32;
        for from in routers.clone() {
            let own = links.values().flatten().filter(|link| link.0 == from).count() as u32;
            prop_assert!(own <= global_links_per_router);
            prop_assert!(groups < shape.most_groups() || own == global_links_per_router);
            for to in routers.clone().filter(|&to| to != from) {
                let paths = routed(&fabric, &hops, from, to);
                prop_assert_eq!(&paths, &minimal(&fabric, from, to));
                // Diameter 3: four routers.
                prop_assert!(paths.iter().all(|path| path.len() <= 4));
            }
        }
    }
}

#[test]
fn a_dead_link_between_two_groups_is_gone_round_over_a_third() {
    let fabric = Dragonfly::default().build().unwrap();
    let (near, far) = global_links(&fabric)[&(0, 1)][0];
    let mut state = LinkState::of(&fabric);
    let port = fabric.ports().iter().position(|port| (port.from, port.to) == (near, far)).unwrap();
    state.up[port] = false;
    let hops = NextHops::shortest(&fabric, &state);
    for path in routed(&fabric, &hops, near, far) {
        let groups: BTreeSet<u32> = path.iter().map(|&router| group(&fabric, router)).collect();
        assert_eq!(groups.len(), 3, "{path:?}");
    }
}

#[test]
fn groups_that_no_link_leads_to_are_refused() {
    let error = |shape: Dragonfly| shape.build().unwrap_err().to_string();
    assert_eq!(
        error(Dragonfly { groups: 10, ..Dragonfly::default() }),
        "groups: 10; give at most routers_per_group x global_links_per_router + 1 = 9"
    );
    assert_eq!(
        error(Dragonfly { routers_per_group: 0, ..Dragonfly::default() }),
        "routers_per_group: 0; give at least 1"
    );
    assert!(error(Dragonfly { routers_per_group: 65_536, ..Dragonfly::default() }).contains(" nodes; build"));
}
