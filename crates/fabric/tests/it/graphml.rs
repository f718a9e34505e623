//! GraphML files that networkx and igraph wrote (`graphml/write.py`), and files that are refused.

use anabranch_fabric::capacity::{Reference, bisection_bps, reference_bps};
use anabranch_fabric::topology::{LeafSpine, LinkSettings};
use anabranch_fabric::topology_file::{TopologyFileError, graphml};
use anabranch_fabric::{Buffer, Fabric, Graph, Marking, Rate, Tier};
use proptest::prelude::*;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/graphml").join(name)
}

fn parse(text: &str, file: &str, defaults: &LinkSettings) -> Result<Graph, TopologyFileError> {
    graphml::parse(text, file, defaults).map(|read| read.graph)
}

fn fabric(name: &str) -> Fabric {
    let text = std::fs::read_to_string(path(name)).unwrap();
    parse(&text, name, &LinkSettings::default()).unwrap().build().unwrap()
}

fn link(gbps: u64, delay_ps: u64) -> LinkSettings {
    LinkSettings { rate: Rate::from_bps(gbps * 1_000_000_000).unwrap(), delay_ps, ..LinkSettings::default() }
}

/// Ends, rate and delay of a port.
type Direction<'a> = (&'a str, &'a str, u64, u64);

/// Names and tiers of the nodes, and all ports, each sorted.
fn facts(fabric: &Fabric) -> (Vec<(&str, Tier)>, Vec<Direction<'_>>) {
    let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
    let mut nodes: Vec<_> = fabric.nodes().iter().map(|node| (node.name.as_str(), node.tier)).collect();
    let ports = fabric.ports().iter();
    let mut ports: Vec<_> =
        ports.map(|port| (name(port.from), name(port.to), port.rate.bps(), port.delay_ps)).collect();
    nodes.sort_unstable();
    ports.sort_unstable();
    (nodes, ports)
}

#[test]
fn a_multigraph_of_networkx_keeps_parallel_links_pods_and_units() {
    let found = fabric("networkx-multigraph.graphml");
    // What the script builds, less one of the two parallel links to the second spine.
    let (host_link, uplink) = (link(25, 500_000), link(100, 1_000_000));
    let counts =
        LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, parallel_links: 2, ..LeafSpine::default() };
    let shape = LeafSpine { host_link, uplink, ..counts };
    let built = shape.build().unwrap();
    let (nodes, mut ports) = facts(&built);
    for leaf in ["leaf0", "leaf1"] {
        for ends in [(leaf, "spine1"), ("spine1", leaf)] {
            ports.remove(ports.iter().position(|port| (port.0, port.1) == ends).unwrap());
        }
    }
    assert_eq!(facts(&found), (nodes, ports));
    let hosts: Vec<_> = found.nodes()[..4].iter().map(|node| (node.name.as_str(), node.pod)).collect();
    assert_eq!(hosts, [("host0", Some(0)), ("host1", Some(0)), ("host2", Some(1)), ("host3", Some(1))]);
    assert_eq!(reference_bps(&found, Reference::Uplink), 6 * 100_000_000_000);
    for port in found.ports() {
        let at_host = port.from < found.hosts();
        assert_eq!(port.buffer == Buffer::UNLIMITED, at_host);
        assert_eq!(port.marking == Marking::Off, at_host);
    }
}

#[test]
fn a_directed_graph_of_networkx_has_links_whose_directions_differ() {
    let found = fabric("networkx-directed.graphml");
    let (_, ports) = facts(&found);
    assert_eq!((found.hosts(), ports.len()), (4, 10));
    assert!(ports.contains(&("10", "20", 1_000_000_000, 2_500_000)));
    assert!(ports.contains(&("20", "10", 500_000_000, 2_500_000)));
    assert!(ports.contains(&("4", "20", 10_000_000_000, 1_000_000)));
    assert_eq!(bisection_bps(&found), 1_000_000_000, "from left to right");
    let hosts: Vec<&str> = found.nodes()[..4].iter().map(|node| node.name.as_str()).collect();
    assert_eq!(hosts, ["1", "2", "3", "4"]);
}

#[test]
fn tiers_of_igraph_are_understood_and_hosts_follow_their_leaves() {
    let found = fabric("igraph-tiers.graphml");
    let nodes: Vec<_> = found.nodes().iter().map(|node| (node.name.as_str(), node.tier, node.pod)).collect();
    use Tier::{Aggregation, Host, Leaf, Spine};
    let expected = [
        ("h0", Host, Some(0)),
        ("h1", Host, Some(1)),
        ("core", Spine, None),
        ("agg0", Aggregation, Some(0)),
        ("agg1", Aggregation, Some(1)),
        ("tor0", Leaf, Some(0)),
        ("tor1", Leaf, Some(1)),
    ];
    assert_eq!(nodes, expected);
    assert!(found.ports().iter().all(|port| port.delay_ps == LinkSettings::default().delay_ps));
    assert_eq!(reference_bps(&found, Reference::Host), 20_000_000_000);
    // Without the tiers that the file gives, distance from the hosts says the same.
    let text = std::fs::read_to_string(path("igraph-tiers.graphml")).unwrap();
    let derived = parse(&text.replace("\"type\"", "\"kind\""), "file", &LinkSettings::default()).unwrap();
    assert!(derived.nodes.iter().all(|node| node.tier.is_none()));
    assert_eq!(derived.build().unwrap(), found);
}

/// GraphML file of a switch with two hosts, `nodes` and `edges`.
fn file(keys: &str, nodes: &str, edges: &str) -> String {
    format!(
        "<graphml>\n{keys}\n<graph edgedefault=\"undirected\">\n<node id=\"s\"/><node id=\"a\"/><node id=\"b\"/>\n\
         {nodes}\n<edge source=\"a\" target=\"s\"/><edge source=\"b\" target=\"s\"/>\n{edges}\n</graph></graphml>"
    )
}

const KEYS: &str = "<key id=\"r\" for=\"edge\" attr.name=\"Rate\"/><key id=\"l\" for=\"edge\" attr.name=\"delay\">\
                    <default>3 us</default></key><key id=\"t\" for=\"node\" attr.name=\"tier\"/>\
                    <key id=\"u\" for=\"graph\" attr.name=\"rate_unit\"/>";

#[test]
fn defaults_and_units_of_the_file_count() {
    let edge = "<data key=\"u\">Gbps</data><node id=\"c\"/>\
                <edge source=\"s\" target=\"c\"><data key=\"r\">40</data><data key=\"l\">2e-6</data></edge>";
    let graph = parse(&file(KEYS, "", edge), "file", &LinkSettings::default()).unwrap();
    let settings = [0, 2]
        .map(|link: usize| (graph.links[link].settings.rate.bps(), graph.links[link].settings.delay_ps));
    assert_eq!(settings, [(10_000_000_000, 3_000_000), (40_000_000_000, 2_000_000)]);
}

#[test]
fn a_host_by_type_is_one_whatever_its_layer() {
    let keys =
        "<key id=\"t\" for=\"node\" attr.name=\"type\"/><key id=\"l\" for=\"node\" attr.name=\"layer\"/>";
    let nodes = "<node id=\"c\"><data key=\"l\">leaf</data><data key=\"t\">host</data></node>\
                 <node id=\"d\"><data key=\"l\">edge</data><data key=\"t\">switch</data></node>";
    let graph = parse(&file(keys, nodes, ""), "file", &LinkSettings::default()).unwrap();
    let tiers: Vec<_> = graph.nodes.iter().map(|node| node.tier).collect();
    assert_eq!(tiers, [None, None, None, Some(Tier::Host), Some(Tier::Leaf)]);
}

/// Settings of the third link of [`file`], an edge with this attribute.
fn third_link(attribute: &str, value: &str) -> Result<LinkSettings, String> {
    let keys = format!("<key id=\"k\" for=\"edge\" attr.name=\"{attribute}\"/>");
    let edge =
        format!("<node id=\"c\"/><edge source=\"s\" target=\"c\">\n<data key=\"k\">{value}</data></edge>");
    let graph = parse(&file(&keys, "", &edge), "zoo.graphml", &LinkSettings::default());
    graph.map(|graph| graph.links[2].settings).map_err(|error| error.to_string())
}

#[test]
fn rates_and_delays_of_other_names_are_read_where_they_say_what_they_are() {
    for (attribute, value, expected) in [
        ("LinkSpeedRaw", "100000000000.0", link(100, 1_000_000)),
        ("rate_gbps", "40", link(40, 1_000_000)),
        ("Bandwidth_Mbps", "25000", link(25, 1_000_000)),
        ("capacity_gbps", "40000 Mbps", link(40, 1_000_000)),
        ("delay_us", "2.5", link(10, 2_500_000)),
        ("latency-ns", "300", link(10, 300_000)),
    ] {
        assert_eq!(third_link(attribute, value), Ok(expected), "{attribute}");
    }
    // The Topology Zoo's own three.
    let keys = "<key id=\"a\" for=\"edge\" attr.name=\"LinkSpeed\"/>\
                <key id=\"b\" for=\"edge\" attr.name=\"LinkSpeedUnits\"/>\
                <key id=\"c\" for=\"edge\" attr.name=\"LinkSpeedRaw\"/>";
    let edge = "<node id=\"c\"/><edge source=\"s\" target=\"c\"><data key=\"a\">40</data><data key=\"b\">G</data>\
                <data key=\"c\">40000000000.0</data></edge>";
    let graph = parse(&file(keys, "", edge), "file", &LinkSettings::default()).unwrap();
    assert_eq!(graph.links[2].settings, link(40, 1_000_000));
}

#[test]
fn what_looks_like_a_rate_or_a_delay_and_is_not_understood_is_refused() {
    for attribute in
        ["LinkSpeed", "linkRate", "link-rate", "bw", "max_throughput", "propagation_delay", "RTT"]
    {
        let error = third_link(attribute, "10").unwrap_err();
        assert_eq!(
            error,
            format!(
                "zoo.graphml:8: edge s - c: {attribute}: `10`: it looks like a rate or a delay and is not understood; give \
                 edges their rate as rate, capacity, bandwidth, LinkSpeedRaw in bits per second and their delay as \
                 delay, latency in seconds, with a unit in the value or at the end of the name (`rate_gbps`, \
                 `delay_us`), or give it a name that does not say rate or delay"
            )
        );
    }
    for attribute in ["weight", "generated", "LinkLabel", "Latitude", "length"] {
        assert_eq!(third_link(attribute, "10"), Ok(LinkSettings::default()), "{attribute}");
    }
    let error = |keys: &str, nodes: &str| {
        parse(&file(keys, nodes, ""), "dc.graphml", &LinkSettings::default()).unwrap_err().to_string()
    };
    let node = error(
        "<key id=\"k\" for=\"node\" attr.name=\"bandwidth\"/>",
        "<node id=\"c\">\n<data key=\"k\">1e9</data></node>",
    );
    assert!(node.starts_with("dc.graphml:6: node: bandwidth: `1e9`: it looks like a rate"), "{node}");
    let graph = error("<key id=\"k\" for=\"graph\" attr.name=\"delay\"/>", "<data key=\"k\">1 ms</data>");
    assert!(graph.starts_with("dc.graphml:5: graph: delay: `1 ms`: it looks like a rate"), "{graph}");
    let keys = "<key id=\"a\" for=\"edge\" attr.name=\"rate\"/><key id=\"b\" for=\"edge\" attr.name=\"capacity\">\
                <default>1e9</default></key>";
    let twice = "<node id=\"c\"/><edge source=\"s\" target=\"c\"><data key=\"a\">2e9</data></edge>";
    assert!(
        error(keys, twice)
            .ends_with(": edge s - c: capacity: `1e9` is another rate than `2e9` of rate; keep one of them")
    );
}

#[test]
fn what_is_refused_is_named_with_line_and_mend() {
    let error = |text: &str| parse(text, "dc.graphml", &LinkSettings::default()).unwrap_err().to_string();
    let edge = |data: &str| file(KEYS, "", &format!("<edge source=\"a\" target=\"s\">\n{data}</edge>"));
    assert_eq!(
        error(&edge("<data key=\"r\">10 Gbs</data>")),
        "dc.graphml:8: edge a - s: rate: `10 Gbs` is no rate; give bits per second from 64 kbps to 100 Tbps, or text such as \
         10 Gbps"
    );
    assert_eq!(
        error(&edge("<data key=\"l\">soon</data>")),
        "dc.graphml:8: edge a - s: delay: `soon` is no delay; give seconds, or text such as 1 us"
    );
    assert_eq!(
        error(&file("", "", "<edge source=\"a\" target=\"x\"/>")),
        "dc.graphml:7: edge: its target x is no node; name the id of a node of the graph"
    );
    assert_eq!(
        error(&file("", "", "<edge source=\"s\" target=\"b\" directed=\"true\"/>")),
        "dc.graphml:7: edge s -> b: there is none back; add an edge b -> s, or write the graph undirected"
    );
    assert!(
        error(&file(KEYS, "<node id=\"c\"><data key=\"t\">lief</data></node>", ""))
            .starts_with("dc.graphml:5: node c: tier: `lief` is unknown; known here: host, ")
    );
    assert!(
        error(&file("", "<node id=\"a\"/>", "")).starts_with("dc.graphml:5: node a: a second of this id")
    );
    assert!(error(&file("", "<node/>", "")).starts_with("dc.graphml:5: <node>: its id is missing"));
    assert!(error(&file("", "", "<hyperedge/>")).starts_with("dc.graphml:7: a hyperedge is no link"));
    assert!(
        error(&file("", "<node id=\"c\"><graph/></node>", "")).starts_with("dc.graphml:5: a second <graph>")
    );
    assert!(error("graph {\n a -- b }").starts_with("dc.graphml:1: not XML: "));
    assert!(error("<gexf/>").starts_with("dc.graphml:1: <gexf> is not <graphml>"));
    let hint = error("144 16 192\n128 129\n");
    assert!(
        hint.ends_with("`anabranch import FILE` reads these and GML, DOT, JSON and containerlab"),
        "{hint}"
    );
}

proptest! {
    /// Damages a file: the result is an error or another graph, never a panic.
    #[test]
    fn damaged_files_do_no_harm(at: prop::sample::Index, length in 0..40usize, instead in "[<>/\"=a-z0-9]{0,4}") {
        let mut text = std::fs::read_to_string(path("networkx-directed.graphml")).unwrap();
        let start = at.index(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &instead);
        if let Err(error) = parse(&text, "dc.graphml", &LinkSettings::default()).map(|graph| graph.build()) {
            prop_assert!(error.to_string().starts_with("dc.graphml:"));
        }
    }
}
