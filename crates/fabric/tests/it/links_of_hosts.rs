//! Hosts of several links: dual ToR as it is built and as a graph describes it, and accelerators with scale-up ports.

use anabranch_fabric::capacity::{Reference, bisection_bps, reference_bps};
use anabranch_fabric::paths::path_counts;
use anabranch_fabric::topology::{Clos, LeafSpine, LinkSettings, RailOptimised};
use anabranch_fabric::{Fabric, Graph, GraphLink, GraphNode, LinkState, NextHops, Racks, Tier};
use proptest::prelude::*;

const TEN: u64 = 10_000_000_000;

fn paths_between(fabric: &Fabric, state: &LinkState, src: u32, dst: u32) -> u64 {
    let hops = NextHops::shortest(fabric, state);
    let destination = hops.destination(fabric.leaf_of(dst)).unwrap();
    path_counts(fabric, &hops, destination)[hops.switch(fabric.leaf_of(src))]
}

/// Ports by the names of their ends, with rate and delay, sorted.
fn facts(fabric: &Fabric, rename: impl Fn(&str) -> String) -> Vec<(String, String, u64, u64)> {
    let name = |node: u32| rename(&fabric.nodes()[node as usize].name);
    let ports = fabric.ports().iter();
    let mut facts: Vec<_> =
        ports.map(|port| (name(port.from), name(port.to), port.rate.bps(), port.delay_ps)).collect();
    facts.sort_unstable();
    facts
}

fn graph(nodes: &[(&str, Option<Tier>)], links: &[(&str, &str)]) -> Graph {
    let number = |name: &str| nodes.iter().position(|node| node.0 == name).unwrap() as u32;
    let settings = LinkSettings::default();
    Graph {
        nodes: nodes
            .iter()
            .map(|&(name, tier)| GraphNode { name: name.to_owned(), tier, pod: None })
            .collect(),
        links: links
            .iter()
            .map(|&(a, b)| GraphLink { a: number(a), b: number(b), settings, back: None })
            .collect(),
    }
}

proptest! {
    #[test]
    fn hosts_of_several_links_have_paths_by_each(
        links_per_host in 1..4u32, racks in 1..4u32, spines in 1..4u32, hosts_per_leaf in 1..4u32,
    ) {
        let leaves = racks * links_per_host;
        let shape = LeafSpine { leaves, spines, hosts_per_leaf, links_per_host, ..LeafSpine::default() };
        let fabric = shape.build().unwrap();
        let hosts = racks * hosts_per_leaf;
        prop_assert_eq!(fabric.hosts(), hosts);
        let cards = if links_per_host > 1 { hosts } else { 0 };
        prop_assert_eq!(fabric.nodes().len() as u32, hosts + cards + leaves + spines);
        prop_assert_eq!(fabric.ports().len() as u32, 2 * (cards + hosts * links_per_host + leaves * spines));
        prop_assert_eq!(reference_bps(&fabric, Reference::Host), u64::from(hosts * links_per_host) * TEN);
        prop_assert_eq!(reference_bps(&fabric, Reference::Uplink), u64::from(leaves * spines) * TEN);
        let found = Racks::of(&fabric);
        prop_assert_eq!(found.leaves.len() as u32, racks);
        prop_assert!(found.leaves.iter().all(|leaves| leaves.len() as u32 == links_per_host));
        for src in 0..hosts {
            prop_assert_eq!(found.of[src as usize], src / hosts_per_leaf);
            for dst in (0..hosts).filter(|&dst| dst != src) {
                let k = u64::from(links_per_host);
                let same_rack = src / hosts_per_leaf == dst / hosts_per_leaf;
                let paths = if same_rack { k } else { k * u64::from(spines) * k };
                prop_assert_eq!(paths_between(&fabric, &LinkState::of(&fabric), src, dst), paths);
            }
        }
    }
}

#[test]
fn a_dead_leaf_takes_one_of_two_links() {
    let shape = Clos { leaves_per_pod: 4, links_per_host: 2, ..Clos::default() };
    let fabric = shape.build().unwrap();
    // Sixteen leaves in racks of two, four hosts a rack.
    assert_eq!((fabric.hosts(), fabric.nodes()[fabric.leaf_of(5) as usize].pod), (32, Some(0)));
    assert_eq!(bisection_bps(&fabric), 2 * 2 * 2 * TEN);
    let node = |name: &str| fabric.nodes().iter().position(|node| node.name == name).unwrap();
    let mut state = LinkState::of(&fabric);
    state.node_up[node("leaf0")] = false;
    // Two links of the host, two aggregations, two cores of each, two links down.
    assert_eq!(paths_between(&fabric, &state, 4, 31), 2 * 2 * 2 * 2);
    assert_eq!(paths_between(&fabric, &state, 0, 31), 2 * 2 * 2);
    state.node_up[node("leaf1")] = false;
    assert_eq!(paths_between(&fabric, &state, 0, 31), 0);
    let odd = Clos { leaves_per_pod: 3, links_per_host: 2, ..Clos::default() }.build().unwrap_err();
    assert_eq!(
        odd.to_string(),
        "links_per_host: 2, where leaves_per_pod is 3; racks are of so many leaves: give a divisor of their number"
    );
}

#[test]
fn a_graph_of_dual_homed_hosts_is_the_fabric_that_is_built() {
    let built =
        LeafSpine { leaves: 4, spines: 2, hosts_per_leaf: 2, links_per_host: 2, ..LeafSpine::default() };
    let built = built.build().unwrap();
    let (host, leaf, spine) = (Some(Tier::Host), None, None);
    let nodes = [
        ("leaf0", leaf),
        ("leaf1", leaf),
        ("host0", host),
        ("host1", host),
        ("host2", host),
        ("host3", host),
        ("leaf2", leaf),
        ("leaf3", leaf),
        ("spine0", spine),
        ("spine1", spine),
    ];
    let mut links = Vec::new();
    for (leaf, hosts) in [("leaf0", 0), ("leaf1", 0), ("leaf2", 2), ("leaf3", 2)] {
        links.extend([("spine0", leaf), (leaf, "spine1")]);
        links.extend([(nodes[2 + hosts].0, leaf), (leaf, nodes[3 + hosts].0)]);
    }
    let found = graph(&nodes, &links).build().unwrap();
    let card = |name: &str| name.replace("nic", "host") + if name.starts_with("nic") { ".nic" } else { "" };
    assert_eq!(facts(&found, str::to_owned), facts(&built, card));
    let tiers = |fabric: &Fabric| fabric.nodes().iter().map(|node| node.tier).collect::<Vec<_>>();
    assert_eq!(tiers(&found), tiers(&built));
    assert_eq!(Racks::of(&found), Racks::of(&built));
    // The two ports of link n are 2n and 2n + 1, cards or not.
    for (index, &(a, b)) in links.iter().enumerate() {
        let end = |node: u32| found.nodes()[node as usize].name.trim_end_matches(".nic").to_owned();
        let port = &found.ports()[2 * index];
        assert_eq!((end(port.from), end(port.to)), (a.to_owned(), b.to_owned()));
    }
}

#[test]
fn links_to_scale_up_switches_are_a_port_of_their_own() {
    let built = RailOptimised {
        servers_per_segment: 2,
        accelerators_per_server: 2,
        spines: 1,
        scale_up: LinkSettings::default(),
        ..RailOptimised::default()
    };
    let built = built.build().unwrap();
    let (host, up) = (Some(Tier::Host), Some(Tier::Server));
    let nodes = [
        ("host0", host),
        ("host1", host),
        ("server0", up),
        ("host2", host),
        ("host3", host),
        ("server1", up),
        ("leaf0.0", None),
        ("leaf0.1", None),
        ("spine0", None),
    ];
    let links = [
        ("host0", "server0"),
        ("host1", "server0"),
        ("host2", "server1"),
        ("server1", "host3"),
        ("host0", "leaf0.0"),
        ("leaf0.1", "host1"),
        ("host2", "leaf0.0"),
        ("host3", "leaf0.1"),
        ("leaf0.0", "spine0"),
        ("leaf0.1", "spine0"),
    ];
    let found = graph(&nodes, &links).build().unwrap();
    let port = |name: &str| match name.strip_prefix("scaleup") {
        Some(number) => format!("host{number}.scaleup"),
        None => name.to_owned(),
    };
    assert_eq!(facts(&found, str::to_owned), facts(&built, port));
    assert_eq!((found.servers(), found.named_hosts()), (built.servers(), 4));
}

/// One server of two accelerators with two scale-up switches and two network ports each, and a machine of neither.
#[test]
fn servers_may_differ() {
    let (host, up) = (Some(Tier::Host), Some(Tier::Server));
    let nodes = [
        ("plain", host),
        ("a", host),
        ("b", host),
        ("nv0", up),
        ("nv1", up),
        ("left", None),
        ("right", None),
    ];
    let links = [
        ("a", "nv0"),
        ("a", "nv1"),
        ("b", "nv1"),
        ("b", "nv0"),
        ("a", "left"),
        ("a", "right"),
        ("b", "left"),
        ("b", "right"),
        ("plain", "left"),
        ("left", "right"),
    ];
    let fabric = graph(&nodes, &links).build().unwrap();
    let names: Vec<&str> = fabric.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "plain",
            "a",
            "b",
            "a.scaleup",
            "b.scaleup",
            "a.nic",
            "b.nic",
            "a.scaleup.nic",
            "b.scaleup.nic",
            "nv0",
            "nv1",
            "left",
            "right",
        ]
    );
    let servers = fabric.servers().unwrap();
    assert_eq!((servers.ends(1, 2), servers.ends(0, 1), servers.ends(2, 0)), ((3, 4), (0, 1), (2, 0)));
    let whole = LinkState::of(&fabric);
    assert_eq!(paths_between(&fabric, &whole, 3, 4), 2);
    assert_eq!(paths_between(&fabric, &whole, 1, 0), 1, "by the leaf that both are on");
    assert_eq!(paths_between(&fabric, &whole, 3, 0), 0, "a scale-up port leads nowhere else");
    // Those on one leaf, and the leaf that shares its hosts.
    assert_eq!(Racks::of(&fabric).leaves.len(), 1);
}

/// Accelerators joined by cables: a card for each, a path where there is a cable, and none through another accelerator.
#[test]
fn hosts_that_are_linked_to_each_other_are_no_way_for_others() {
    let hosts = ["a", "b", "c", "d"].map(|name| (name, Some(Tier::Host)));
    let links = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("a", "b")];
    let fabric = graph(&hosts, &links).build().unwrap();
    assert_eq!((fabric.hosts(), fabric.nodes().len(), fabric.ports().len()), (4, 8, 2 * (4 + 5)));
    let paths = |src, dst| paths_between(&fabric, &LinkState::of(&fabric), src, dst);
    let all: Vec<u64> = (0..4)
        .flat_map(|src| (0..4).map(move |dst| (src, dst)))
        .map(|(src, dst)| if src == dst { 0 } else { paths(src, dst) })
        .collect();
    assert_eq!(all, [0, 2, 1, 0, 2, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]);
    assert_eq!(Racks::of(&fabric).leaves.len(), 4);
    assert_eq!(reference_bps(&fabric, Reference::Host), (3 + 3 + 3 + 1) * TEN);
}

#[test]
fn hosts_are_not_faster_than_links_can_be() {
    let rate = anabranch_fabric::Rate::from_bps(60_000_000_000_000).unwrap();
    let host_link = LinkSettings { rate, ..LinkSettings::default() };
    let error = LeafSpine { links_per_host: 2, host_link, ..LeafSpine::default() }.build().unwrap_err();
    assert!(
        error.to_string().starts_with("links_per_host: 2: the links of a host carry 120000000000000 bps")
    );
    let mut twice = graph(
        &[("a", Some(Tier::Host)), ("b", Some(Tier::Host)), ("s", None)],
        &[("a", "s"), ("a", "s"), ("b", "s")],
    );
    twice.links.iter_mut().for_each(|link| link.settings = host_link);
    assert!(twice.build().unwrap_err().to_string().starts_with("host a: the links of a host carry"));
}

#[test]
fn what_a_scale_up_switch_cannot_be_is_refused() {
    let (host, up) = (Some(Tier::Host), Some(Tier::Server));
    let nodes = [("a", host), ("b", host), ("nv", up), ("leaf", None)];
    let error = |links: &[(&str, &str)]| graph(&nodes, links).build().unwrap_err().to_string();
    let all = [("a", "leaf"), ("b", "leaf"), ("a", "nv"), ("b", "nv")];
    assert!(graph(&nodes, &all).build().is_ok());
    let through = [&all[..], &[("nv", "leaf")]].concat();
    assert!(error(&through).starts_with("link nv - leaf: a scale-up switch joins the hosts of a server"));
    assert!(error(&all[1..]).starts_with("host a: it has links to scale-up switches alone"));
    assert_eq!(error(&all[..2]), "node nv: there is no way to it from a; link them, or leave the node out");
}
