//! Topologies of ns-3's RDMA simulators and of htsim, in files of our own making.

use anabranch_fabric::topology::{Clos, LeafSpine, LinkSettings, RailOptimised};
use anabranch_fabric::topology_file::{Format, TopologyFile};
use anabranch_fabric::{Buffer, Fabric, LinkState, Marking, NextHops, Port, Rate, Tier};
use proptest::prelude::*;
use std::fmt::Write;

fn parse(format: Format, text: &str) -> Result<TopologyFile, String> {
    format.parse(text, "topology.txt", &LinkSettings::default()).map_err(|error| error.to_string())
}

fn fabric(format: Format, text: &str) -> Fabric {
    parse(format, text).unwrap().graph.build().unwrap()
}

fn link(gbps: u64, delay_ps: u64) -> LinkSettings {
    LinkSettings { rate: Rate::from_bps(gbps * 1_000_000_000).unwrap(), delay_ps, ..LinkSettings::default() }
}

/// Ports without names of nodes, which files number.
fn ports(fabric: &Fabric) -> Vec<Port> {
    fabric.ports().to_vec()
}

fn tiers(fabric: &Fabric) -> Vec<Tier> {
    fabric.nodes().iter().map(|node| node.tier).collect()
}

/// File in the form of HPCC that describes `fabric`, whose nodes have their numbers.
fn ns3(fabric: &Fabric) -> String {
    let switches: Vec<usize> = (fabric.hosts() as usize..fabric.nodes().len()).collect();
    let links: Vec<&Port> = fabric
        .ports()
        .iter()
        .enumerate()
        .filter(|(at, port)| port.reverse as usize > *at)
        .map(|(_, port)| port)
        .collect();
    let mut text = format!("{} {} {}\n", fabric.nodes().len(), switches.len(), links.len());
    for switch in switches {
        write!(text, "{switch} ").unwrap();
    }
    text.push('\n');
    for port in links {
        let (rate, delay_ns) = (port.rate.bps() / 1_000_000_000, port.delay_ps / 1000);
        writeln!(text, "{} {} {rate}Gbps {delay_ns}ns 0", port.from, port.to).unwrap();
    }
    text
}

#[test]
fn a_fabric_written_for_ns_3_is_read_again() {
    let leaf_spine =
        LeafSpine { host_link: link(25, 500_000), uplink: link(100, 2_000_000), ..LeafSpine::default() };
    for built in [leaf_spine.build().unwrap(), Clos::default().build().unwrap()] {
        let found = fabric(Format::Ns3, &ns3(&built));
        assert_eq!(ports(&found), ports(&built));
        assert_eq!(tiers(&found), tiers(&built));
        assert_eq!(found.nodes()[0].name, "host0");
        assert_eq!(found.nodes()[built.hosts() as usize].name, format!("switch{}", built.hosts()));
    }
}

#[test]
fn hosts_keep_their_numbers_as_names_where_switches_come_first() {
    let text = "5 2 4\n0 3\n1 0 10Gbps 0.001ms 0\n2 3 10Gbps 0.001ms 0.25\n4 0 10Gbps 1us 0\n0 3 40Gbps 1000ns 0.5\n";
    let read = parse(Format::Ns3, text).unwrap();
    assert_eq!(read.losses, [(1, 0.25), (3, 0.5)]);
    assert!(read.warnings.is_empty());
    let found = read.graph.build().unwrap();
    let names: Vec<&str> = found.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["host1", "host2", "host4", "switch0", "switch3"]);
    let first = &found.ports()[0];
    assert_eq!((first.from, first.to, first.rate.bps(), first.delay_ps), (0, 3, 10_000_000_000, 1_000_000));
    assert_eq!(first.buffer, Buffer::UNLIMITED);
    assert_eq!(found.ports()[1].marking, LinkSettings::default().marking);
    assert_ne!(found.ports()[1].marking, Marking::Off);
}

/// Two servers of two accelerators on two rails and two spines, as SimAI writes it.
const SIMAI: &str = include_str!("../topologies/servers.txt");

#[test]
fn accelerators_of_simai_have_a_network_card_and_a_scale_up_port() {
    let found = fabric(Format::Ns3, SIMAI);
    let rails = RailOptimised {
        servers_per_segment: 2,
        accelerators_per_server: 2,
        spines: 2,
        host_link: link(400, 500_000),
        uplink: link(400, 500_000),
        scale_up: link(2880, 25_000),
        ..RailOptimised::default()
    };
    let built = rails.build().unwrap();
    assert_eq!((found.hosts(), found.servers()), (8, built.servers()));
    // The same links between the same tiers, in another order: scale-up switches have lower numbers there.
    let facts = |fabric: &Fabric| {
        let tier = |node: u32| (fabric.nodes()[node as usize].tier, if node < 8 { node } else { 0 });
        let mut facts: Vec<_> = fabric
            .ports()
            .iter()
            .map(|port| (tier(port.from), tier(port.to), port.rate, port.delay_ps))
            .collect();
        facts.sort_unstable();
        facts
    };
    assert_eq!(facts(&found), facts(&built));
    let error = |old: &str, new: &str| parse(Format::Ns3, &SIMAI.replace(old, new)).unwrap_err();
    assert!(
        error("2 5 2880", "2 4 2880").starts_with("topology.txt:7: link 2 - 4: no accelerator's only link")
    );
    assert!(
        error("2 6 400", "2 5 400").starts_with("topology.txt:8: link 2 - 5: no accelerator's only link")
    );
    assert!(
        error("3 5 2880", "3 7 2880")
            .starts_with("topology.txt: accelerator 3 has no link to a scale-up switch")
    );
    // A second link to the network is one of the card, not of the scale-up port.
    let two = SIMAI.replace("4 12 H", "4 13 H").replace("6 8", "0 7 400Gbps 1us 0\n6 8");
    let two = parse(Format::Ns3, &two).unwrap().graph.build().unwrap();
    assert_eq!((two.hosts(), two.servers()), (8, found.servers()));
    let card = two.leaf_of(0);
    assert_eq!((two.nodes()[card as usize].tier, two.ports_of(card).len()), (Tier::Nic, 3));
}

#[test]
fn faults_of_ns_3_files_are_named_with_line_and_hint() {
    for (text, expected) in [
        ("", "topology.txt: it is empty; begin with `nodes switches links`"),
        ("3 1\n", "topology.txt:1: `3 1` is no first line; begin with"),
        ("3 x 2\n", "topology.txt:1: switches: `x` is out of range"),
        ("3 3 2\n0 1 2\n", "topology.txt:1: 3 switches of 3 nodes leave no hosts"),
        ("3 1 2\n3\n", "topology.txt:2: switch: `3` is out of range; give a whole number from 0 to 2"),
        ("3 1 2\n2 1\n", "topology.txt:2: 2 switches where the first line says 1"),
        ("4 2 2\n2 2\n", "topology.txt:2: switch 2 stands twice"),
        (
            "3 1 2\n2\n0 2 1Gbps 1us\n",
            "topology.txt:3: `0 2 1Gbps 1us`: 4 fields, not 5; write `node node rate",
        ),
        ("3 1 2\n2\n\n0 7 1Gbps 1us 0\n", "topology.txt:4: link: `7` is out of range"),
        ("3 1 2\n2\n0 2 1Gbs 1us 0\n", "topology.txt:3: link 0 - 2: rate: `1Gbs` is no rate; give one from"),
        (
            "3 1 2\n2\n0 2 1Gbps soon 0\n",
            "topology.txt:3: link 0 - 2: delay: `soon` is no time; give one such",
        ),
        ("3 1 2\n2\n0 2 1Gbps 1us 7\n", "topology.txt:3: link 0 - 2: error rate: `7` is no probability"),
        (
            "3 1 2\n2\n0 2 1Gbps 1us 0\n",
            "topology.txt:1: 1 links where the first line says 2; count the links",
        ),
    ] {
        let error = parse(Format::Ns3, text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let more = parse(Format::Ns3, "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n").unwrap();
    assert_eq!(more.graph.links.len(), 2);
    assert_eq!(
        more.warnings,
        ["line 5 and what follows is not read, as in ns-3: the first line says 2 links"]
    );
}

/// Two pods of two leaves of two hosts, two aggregations a pod, four cores, of which each aggregation has two.
const THREE: &str = include_str!("../topologies/three-tiers.topo");

#[test]
fn three_tiers_of_htsim_are_a_clos_with_cores_in_turn() {
    let found = fabric(Format::Htsim, THREE);
    let clos = Clos {
        pods: 2,
        hosts_per_leaf: 2,
        host_link: link(100, 1_000_000),
        uplink: link(100, 500_000),
        core_link: link(100, 250_000),
        ..Clos::default()
    };
    let built = clos.build().unwrap();
    assert_eq!(tiers(&found), tiers(&built));
    assert_eq!(ports(&found).len(), ports(&built).len());
    // Aggregation a of a pod has cores a, a + 2: csg-htsim's `podpos + agg_switches_per_pod * l`.
    let cores = |agg: &str| -> Vec<&str> {
        let node = found.nodes().iter().position(|node| node.name == agg).unwrap() as u32;
        let to = |&port: &u32| found.nodes()[found.ports()[port as usize].to as usize].name.as_str();
        found.ports_of(node).iter().map(to).filter(|name| name.starts_with("core")).collect()
    };
    assert_eq!([cores("agg0"), cores("agg3")], [["core0", "core2"], ["core1", "core3"]]);
    // Every leaf reaches every other: by two next hops wherever it is.
    let hops = NextHops::shortest(&found, &LinkState::of(&found));
    for (destination, leaf) in (0..).zip(found.leaves()) {
        for from in found.leaves().into_iter().filter(|&from| from != leaf) {
            assert_eq!(hops.ports(from, destination).count(), 2);
        }
    }
}

#[test]
fn two_tiers_of_htsim_are_a_leaf_spine_with_bundles_latencies_and_queues() {
    let text = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\n\
                Downlink_Latency_ns 1000\nSwitch_Latency_ns 300\nQueue_Up 5000\nTier 1\nDownlink_speed_Gbps 50\n\
                Radix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 500\nBundle 2\nQueue_Down 7000\n\
                Oversubscribed 1\n";
    let found = fabric(Format::Htsim, text);
    let built =
        LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 4, parallel_links: 2, ..LeafSpine::default() };
    let built = built.build().unwrap();
    let ends =
        |fabric: &Fabric| -> Vec<_> { fabric.ports().iter().map(|port| (port.from, port.to)).collect() };
    assert_eq!(ends(&found), ends(&built));
    let facts = |port: usize| {
        let port = &found.ports()[port];
        (port.rate.bps() / 1_000_000_000, port.delay_ps / 1000, port.buffer.bytes)
    };
    // A switch takes its time with what comes in: from host to host 1,300 + 1,500 + 1,300 + 1,000 ns.
    assert_eq!([facts(0), facts(1)], [(100, 1300, u32::MAX), (100, 1000, 300_000)]);
    assert_eq!([facts(16), facts(17)], [(50, 1500, 5000), (50, 1300, 7000)]);
}

#[test]
fn faults_of_htsim_files_are_named_with_line_and_hint() {
    for (old, new, expected) in [
        ("Podsize 4", "Podsize 3", "topology.txt: Nodes by Podsize: 8 is no multiple of 3"),
        ("Podsize 4\n", "", "topology.txt: podsize is missing; begin with Nodes"),
        ("Tiers 3", "Tiers 4", "topology.txt: Tiers 4; htsim has fabrics of 2 and of 3 tiers"),
        ("Tiers 3", "Tiers 2", "topology.txt: Tier 2 of 2; count it in Tiers"),
        ("Tier 2", "Tier 1", "topology.txt:16: Tier 1: no tier, or one that stands twice"),
        ("Radix_Up 2", "Radix_Upp 2", "topology.txt:9: `Radix_Upp` is unknown; known here: Nodes"),
        ("Radix_Up 2", "Radix_Up two", "topology.txt:9: Radix_Up: `two` is out of range"),
        ("Radix_Up 2", "Radix_Up", "topology.txt:9: `Radix_Up`: 1 fields, not 2; write a key and its value"),
        (
            "Radix_Up 2\nDownlink_Latency_ns 500",
            "Downlink_Latency_ns 500",
            "topology.txt: Tier 1: radix_up is missing",
        ),
        (
            "Radix_Down 2\nDownlink_Latency_ns 250",
            "Radix_Down 8\nDownlink_Latency_ns 250",
            "topology.txt:18: Tier 2: radix_down 8, where the other sizes make 2",
        ),
        (
            "Radix_Up 2\nDownlink_Latency_ns 1000",
            "Radix_Up 2\nOversubscribed 4\nDownlink_Latency_ns 1000",
            "topology.txt:10: Tier 0: oversubscribed 4, where the other sizes make 1",
        ),
        (
            "Downlink_speed_Gbps 100",
            "Downlink_speed_Gbps 200000",
            "topology.txt: Tier 0: Downlink_speed_Gbps 200000",
        ),
    ] {
        assert!(THREE.contains(old), "{old}");
        let error = parse(Format::Htsim, &THREE.replacen(old, new, 1)).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

proptest! {
    /// Damages a file: the result is an error or another graph, never a panic.
    #[test]
    fn damaged_files_do_no_harm(htsim in any::<bool>(), at in any::<prop::sample::Index>(), length in 0..9usize, instead in "[-0-9a-zA-Z \n.]{0,4}") {
        let (format, mut text) = if htsim { (Format::Htsim, THREE.to_owned()) } else { (Format::Ns3, SIMAI.to_owned()) };
        let start = at.index(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &instead);
        let _ = parse(format, &text).map(|read| read.graph.build());
    }
}
