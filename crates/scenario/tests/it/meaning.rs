//! Meaning of a scenario: numbers of ports and nodes, settings, flows, identity.

use anabranch_balancers::{Granularity, Table};
use anabranch_fabric::{Change, Fabric, Rate, What};
use anabranch_form::FormError;
use anabranch_plan::Weighing;
use anabranch_scenario::{Files, Resolved, Scenario};
use anabranch_sim::transport::{Control, Coupling, Transport};
use anabranch_traffic::Start;
use std::path::Path;

const TRAFFIC: &str = "[[traffic]]\nload = 0.5\nduration = \"1 ms\"\n";

fn try_resolve(text: &str, overrides: &[(&str, &str)]) -> Result<Resolved, FormError> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(text, "s.toml", &overrides)?
        .resolve(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").as_path())
}

fn resolve(text: &str) -> Resolved {
    try_resolve(&format!("{text}\n{TRAFFIC}"), &[]).unwrap()
}

/// The only port between two nodes.
fn port(fabric: &Fabric, from: &str, to: &str) -> u32 {
    let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
    let is = |port: &&anabranch_fabric::Port| name(port.from) == from && name(port.to) == to;
    let found: Vec<_> = fabric.ports().iter().filter(is).collect();
    assert_eq!(found.len(), 1, "{from}>{to}");
    fabric.ports()[found[0].reverse as usize].reverse
}

fn warnings_of(resolved: &Resolved) -> Vec<String> {
    let flows = resolved.flows().unwrap();
    resolved.warnings(&flows, &resolved.offered_load(&flows))
}

#[test]
fn changes_concern_both_directions_or_one() {
    let resolved = resolve(
        "[[change]]\nat = \"5 ms\"\nlink = \"leaf0-spine1\"\nset = \"down\"\n\
         [[change]]\nlink = [\"spine2>leaf1\", \"leaf3 > spine0\"]\nrate = \"1 Gbps\"\n\
         [[change]]\nat = \"7 ms\"\nswitch = \"spine3\"\nblackhole = 0.25\n",
    );
    let fabric = resolved.fabric();
    let slow = Rate::from_bps(1_000_000_000).unwrap();
    let spine3 = fabric.nodes().iter().position(|node| node.name == "spine3").unwrap() as u32;
    let at = |ms: u64, what| Change { at_ps: ms * 1_000_000_000, what };
    assert_eq!(
        resolved.settings().changes,
        [
            at(0, What::PortRate(port(fabric, "spine2", "leaf1"), slow)),
            at(0, What::PortRate(port(fabric, "leaf3", "spine0"), slow)),
            at(5, What::PortDown(port(fabric, "leaf0", "spine1"))),
            at(5, What::PortDown(port(fabric, "spine1", "leaf0"))),
            at(7, What::NodeBlackhole(spine3, 0.25)),
        ]
    );
}

#[test]
fn parallel_links_are_meant_together_or_by_number() {
    let count = |link: &str| {
        let text = format!("[fabric]\nparallel_links = 3\n[[change]]\nlink = \"{link}\"\nset = \"down\"\n");
        resolve(&text).settings().changes.len()
    };
    assert_eq!([count("leaf0-spine1"), count("leaf0>spine1"), count("leaf0-spine1#2")], [6, 3, 2]);
}

#[test]
fn a_preset_is_three_choices_and_each_may_be_replaced() {
    let balancing = |text: &str| resolve(&format!("[routing]\n{text}")).settings().balancing.clone();
    let ecmp = balancing("");
    assert_eq!((ecmp.granularity, ecmp.table), (Granularity::Flow, Table::Uniform));
    let mixed = balancing("balance = \"wcmp\"\ngranularity = \"packet\"\nentries = 16\n");
    assert_eq!(
        (mixed.granularity, mixed.weighing, mixed.table),
        (Granularity::Packet, Weighing::Capacity, Table::Wcmp { entries: 16 })
    );
    let given = balancing("balance = \"weighted\"\nweights = { \"leaf0>spine1\" = 3 }");
    let Weighing::Given(weights) = given.weighing else { panic!("{given:?}") };
    // Hosts 0 to 31, leaves 32 to 35, spines 36 to 39.
    assert_eq!(weights, [(32, 37, 3)]);
}

#[test]
fn link_stands_for_all_tiers_and_each_tier_for_itself() {
    let resolved =
        resolve("[fabric]\nuplink.rate = \"40 Gbps\"\nlink = { rate = \"25 Gbps\", delay = \"2 us\" }");
    let fabric = resolved.fabric();
    let [host, up] = [("host0", "leaf0"), ("leaf0", "spine0")].map(|(from, to)| {
        let port = &fabric.ports()[port(fabric, from, to) as usize];
        (port.rate.bps(), port.delay_ps)
    });
    assert_eq!([host, up], [(25_000_000_000, 2_000_000), (40_000_000_000, 2_000_000)]);
}

#[test]
fn a_graph_is_built_from_its_links() {
    let resolved = resolve(
        "[fabric]\nkind = \"graph\"\nlink.delay = \"5 us\"\n\
         [[fabric.edge]]\nfrom = \"h0\"\nto = \"s0\"\n[[fabric.edge]]\nfrom = \"s1\"\nto = \"h1\"\n\
         [[fabric.edge]]\nfrom = \"s0\"\nto = \"s1\"\nrate = \"40 Gbps\"\nback.rate = \"1 Gbps\"\n",
    );
    let fabric = resolved.fabric();
    let names: Vec<_> = fabric.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!((names, fabric.hosts()), (vec!["h0", "h1", "s0", "s1"], 2));
    let rate = |from, to| fabric.ports()[port(fabric, from, to) as usize].rate.bps();
    assert_eq!(
        [rate("s0", "s1"), rate("s1", "s0"), rate("h0", "s0")],
        [40_000_000_000, 1_000_000_000, 10_000_000_000]
    );
    assert!(fabric.ports().iter().all(|port| port.delay_ps == 5_000_000));
    let again =
        Scenario::parse(&resolved.to_toml(), "again.toml", &[]).unwrap().resolve(Path::new("")).unwrap();
    assert_eq!(again.fabric(), fabric);
}

#[test]
fn a_graphml_file_is_a_fabric() {
    let resolved = resolve("[fabric]\nkind = \"graphml\"\nfile = \"two.graphml\"\nlink.rate = \"25 Gbps\"\n");
    let fabric = resolved.fabric();
    assert_eq!((fabric.hosts(), fabric.nodes().len(), fabric.ports().len()), (2, 4, 6));
    assert!(fabric.ports().iter().all(|port| port.rate.bps() == 25_000_000_000));
    assert!(resolved.to_toml().contains("digest"));
}

#[test]
fn every_transport_stands_once() {
    let text = "[transport]\nkind = \"newreno\"\n[[traffic]]\nload = 0.1\nflows = 3\n\
                [[traffic]]\nflows_per_s = 1e6\nflows = 3\ntransport = { kind = \"udp\", rate = \"1 Gbps\" }\n\
                [[traffic]]\nflows_per_s = 1e6\nflows = 3\ntransport = { kind = \"newreno\" }\n";
    let resolved = try_resolve(text, &[]).unwrap();
    let transports = &resolved.settings().transports;
    assert!(matches!(&transports[0], Transport::Tcp(tcp) if tcp.control == Control::NewReno && !tcp.ecn));
    assert!(matches!(transports[1], Transport::Udp(_)));
    assert_eq!(transports.len(), 2);
    let carried = |index| resolved.flows().unwrap().iter().filter(|flow| flow.transport == index).count();
    assert_eq!([carried(0), carried(1)], [6, 3]);
}

#[test]
fn rates_and_segments_of_ones_own_are_transports_of_ones_own() {
    let traffic = |keys: &str| format!("[[traffic]]\nload = 0.1\nflows = 3\n{keys}\n");
    let text = [
        traffic(""),
        traffic("rate = \"1 Gbps\""),
        traffic("rate = \"1 Gbps\"\nmss = \"678 B\""),
        traffic("rate = \"1 Gbps\"\nburst = \"128 KiB\"\nmss = \"1448 B\""),
        traffic("mss = \"678 B\"\ntransport = { kind = \"udp\", rate = \"1 Gbps\" }"),
        traffic("mss = \"678 B\"\ntransport = { kind = \"mptcp\" }"),
        traffic("rate = \"1 Gbps\""),
    ]
    .concat();
    let resolved = try_resolve(&text, &[]).unwrap();
    let settings = resolved.settings();
    let read = |transport: &Transport| {
        let pace = transport.tcp().and_then(|tcp| tcp.pace);
        let pace = pace.map(|pace| (pace.rate.bps(), pace.burst_bytes));
        (pace, transport.payload_bytes_max(settings.framing))
    };
    let paced = |burst| Some((1_000_000_000, burst));
    assert_eq!(
        settings.transports.iter().map(read).collect::<Vec<_>>(),
        [
            (None, 1448),
            (paced(1448), 1448),
            (paced(678), 678),
            (paced(131_072), 1448),
            (None, 678),
            (None, 678)
        ]
    );
    let again = try_resolve(&resolved.to_toml(), &[]).unwrap();
    assert_eq!(again.settings(), settings);
    assert_ne!(try_resolve(&traffic(""), &[]).unwrap().identity(), resolved.identity());
}

#[test]
fn mptcp_is_newreno_over_several_connections() {
    let transport = |keys: &str| {
        let resolved =
            try_resolve(&format!("[transport]\nkind = \"mptcp\"\n{keys}\n{TRAFFIC}"), &[]).unwrap();
        match &resolved.settings().transports[0] {
            Transport::Mptcp(mptcp) => mptcp.clone(),
            other => panic!("{other:?}"),
        }
    };
    let plain = transport("");
    assert_eq!((plain.subflows, plain.coupling, plain.tcp.control), (8, Coupling::Lia, Control::NewReno));
    let other = transport("subflows = 3\ncoupling = \"uncoupled\"\nmin_rto = \"1 ms\"\nsack = false");
    assert_eq!((other.subflows, other.coupling), (3, Coupling::Uncoupled));
    assert_eq!((other.tcp.rto_min_ps, other.tcp.sack), (1_000_000_000, false));
}

#[test]
fn overrides_of_a_list_without_a_number_mean_all_its_entries() {
    let text = format!("{TRAFFIC}{TRAFFIC}");
    let read = |overrides: &[(&str, &str)]| try_resolve(&text, overrides).unwrap();
    assert_eq!(
        read(&[("traffic.load", "0.25")]).to_toml(),
        read(&[("traffic.0.load", "0.25"), ("traffic.1.load", "0.25")]).to_toml()
    );
    assert_eq!(
        read(&[("change.0", "{ link = \"leaf0-spine0\", set = \"down\" }")]).settings().changes.len(),
        2
    );
    let one = format!("[traffic]\n{}", TRAFFIC.trim_start_matches("[[traffic]]\n"));
    assert_eq!(
        try_resolve(&one, &[("traffic.load", "0.25")]).unwrap().to_toml(),
        try_resolve(TRAFFIC, &[("traffic.0.load", "0.25")]).unwrap().to_toml()
    );
}

#[test]
fn the_identity_is_of_what_is_meant() {
    let identity = |text: &str| resolve(text).identity();
    let plain = identity("");
    assert_eq!(plain, identity("# A comment.\nseed = 1\nfabric.link.rate = \"10000 Mbit/s\""));
    assert_ne!(plain, identity("seed = 2"));
    assert_ne!(plain, identity("transport.min_rto = \"1 ms\""));
    assert_eq!(plain.len(), 32);
    let again = Scenario::parse(&resolve("").to_toml(), "elsewhere.toml", &[]).unwrap();
    assert_eq!(again.resolve(Path::new("")).unwrap().identity(), plain);
}

#[test]
fn a_mutation_is_part_of_the_identity_and_warned_of_and_whole_scenarios_do_not_have_the_key() {
    let resolved = |mutation: &str| resolve(&format!("[routing]\nbalance = \"valo\"\n{mutation}"));
    let (whole, broken) = (resolved(""), resolved("mutation = \"gravity-plain\""));
    assert!(!whole.to_toml().contains("mutation"));
    assert!(broken.to_toml().contains("\nmutation = \"gravity-plain\"\n"), "{}", broken.to_toml());
    assert_ne!(whole.identity(), broken.identity());
    assert_ne!(whole.settings().balancing, broken.settings().balancing);
    let again = Scenario::parse(&broken.to_toml(), "again.toml", &[]).unwrap();
    assert_eq!(again.resolve(Path::new("")).unwrap().identity(), broken.identity());
    assert!(
        warnings_of(&broken)[0].starts_with("routing.mutation: gravity-plain: "),
        "{:?}",
        warnings_of(&broken)
    );
    assert!(warnings_of(&whole).iter().all(|text| !text.contains("mutation")));
    let weighted = resolve("[routing]\nbalance = \"valo\"\nweights = { \"leaf0>spine0\" = 4 }");
    assert_eq!(weighted.scenario().routing.mutations().len(), 2);
}

#[test]
fn the_identity_of_a_file_is_its_content() {
    let list = "[[traffic]]\nkind = \"flow-list\"\nfile = \"flows.csv\"\nstart = \"1 us\"\n";
    let resolved = try_resolve(list, &[]).unwrap();
    let flows = resolved.flows().unwrap();
    let rows: Vec<_> = flows.iter().map(|flow| (flow.src, flow.dst, flow.size_bytes, flow.start)).collect();
    assert_eq!(rows, [(0, 9, 1000, Start::At(1_000_000)), (9, 0, 5000, Start::At(3_500_000))]);
    let digest = resolved.to_toml();
    let digest = digest.lines().find_map(|line| line.strip_prefix("digest = ")).unwrap().trim_matches('"');
    let noted = try_resolve(&format!("{list}digest = \"{digest}\"\n"), &[]).unwrap();
    assert_eq!(noted.identity(), resolved.identity());
    let other = try_resolve(&format!("{list}digest = \"{}\"\n", digest.replace('0', "1")), &[]);
    assert!(other.unwrap_err().problem.contains(digest));
}

#[test]
fn flows_are_the_same_whenever_they_are_drawn() {
    let resolved = resolve("");
    let flows = resolved.flows().unwrap();
    assert!(flows.iter().eq(resolved.flows().unwrap().iter()));
    // 16 uplinks of 10 Gbit/s at 0.5, for 1 ms: 10 MB of flows of 1.7 MB.
    assert!((2..20).contains(&flows.len()), "{}", flows.len());
    let other = try_resolve(TRAFFIC, &[("seed", "2")]).unwrap().flows().unwrap();
    assert!(!flows.iter().eq(other.iter()));
}

#[test]
fn warnings_tell_of_overload_and_of_marks_that_nobody_makes() {
    let warnings = |overrides: &[(&str, &str)]| {
        let resolved = try_resolve(TRAFFIC, overrides).unwrap();
        warnings_of(&resolved).join("\n")
    };
    let plain = warnings(&[("traffic.duration", "100 ms")]);
    assert!(
        plain.starts_with("traffic.0.sizes: drawn by the linear convention with a mean of 1711250 bytes"),
        "{plain}"
    );
    let over = warnings(&[("traffic.load", "1.2"), ("traffic.duration", "100 ms")]);
    assert!(over.contains("leaf to spine: the offered load is 1."), "{over}");
    let unmarked = warnings(&[("fabric.link.ecn", "off")]);
    assert!(unmarked.contains("fabric.link.ecn is \"off\" everywhere"), "{unmarked}");
    assert!(!warnings(&[("fabric.link.ecn", "off"), ("transport.kind", "cubic")]).contains("ecn"));
}

/// Rates of 10 and 9.871 Gbit/s share 1 Mbit/s: a cycle of 19,871 packets is exact. A shorter one loses what it rounds up.
#[test]
fn a_cycle_that_loses_bandwidth_is_warned_of() {
    let change = "[[change]]\nlink = \"leaf0-spine0\"\nrate = \"9.871 Gbps\"\n";
    let warned = |max_n: &str| {
        let overrides = [("routing.balance", "dbb"), ("routing.scheme.max_n", max_n)];
        let resolved = try_resolve(&format!("{TRAFFIC}{change}"), &overrides).unwrap();
        resolved.warnings(&[], &[]).into_iter().find(|warning| warning.starts_with("dbb: "))
    };
    assert_eq!(warned("65536"), None);
    let warning = warned("15").unwrap();
    assert!(warning.contains("the cycle from leaf0 to leaf1 has 4 packets and carries 99.0 %"), "{warning}");
}

#[test]
fn the_default_end_is_after_the_last_flow_of_a_list() {
    let text = "[[traffic]]\nkind = \"flow-list\"\nfile = \"late_flows.csv\"\n";
    let resolved = try_resolve(text, &[]).unwrap();
    assert_eq!(resolved.settings().end_ps, 41_000_000_000_000);
    assert_eq!(resolved.flows().unwrap().len(), 2);
    // The canonical text says it, and reads as the same scenario.
    let again = try_resolve(&resolved.to_toml(), &[]).unwrap();
    assert_eq!(again.identity(), resolved.identity());
    let early = try_resolve(text, &[("stop.at", "\"20 s\"")]).unwrap();
    assert!(early.flows().unwrap_err().to_string().contains("is before flow 0 begins"));
}

#[test]
fn the_default_end_is_after_arrivals_that_end_after_a_number() {
    let text = "[[traffic]]\nflows_per_s = 1\nflows = 100\n";
    let resolved = try_resolve(text, &[]).unwrap();
    assert_eq!(resolved.settings().end_ps, 110_000_000_000_000);
    assert_eq!(resolved.flows().unwrap().len(), 100);
}

#[test]
fn flows_that_no_path_carries_are_counted() {
    let two = "[fabric]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n";
    let down = "[[change]]\nat = \"3 ms\"\nswitch = [\"spine0\", \"spine1\"]\nset = \"down\"\n";
    let up = "[[change]]\nat = \"5 ms\"\nlink = \"leaf0-spine0\"\nset = \"down\"\n\
              [[change]]\nat = \"6 ms\"\nswitch = \"spine0\"\nset = \"up\"\n";
    let severed = |text: &str| {
        let resolved = resolve(text);
        let flows = resolved.flows().unwrap();
        let warned = warnings_of(&resolved).iter().find(|warning| warning.contains("no path joins")).cloned();
        (resolved.severed_flows(&flows), flows.len(), warned)
    };
    assert_eq!(severed(two).0, 0);
    let (lost, all, warned) = severed(&format!("{two}{down}"));
    assert_eq!(lost, all);
    assert_eq!(
        warned.unwrap(),
        format!(
            "{all} of {all} flows are between hosts that no path joins after the last change, at 3 ms: what is not \
             received by then never is"
        )
    );
    // The link that went down stays down when its switch comes back.
    assert_eq!(severed(&format!("{two}{down}{up}")).0, all);
    let back = "[[change]]\nat = \"7 ms\"\nlink = \"leaf0-spine0\"\nset = \"up\"\n";
    assert_eq!(severed(&format!("{two}{down}{up}{back}")).0, 0);
}

#[test]
fn an_end_that_the_clock_does_not_reach_is_warned_of() {
    let warned = |at: &str| {
        let resolved = resolve(&format!(
            "[fabric]\nkind = \"leaf-spine\"\nleaves = 16\nspines = 16\nhosts_per_leaf = 16\n\
             [[traffic]]\nload = 0.1\nduration = \"1 us\"\n[stop]\nat = \"{at}\"\n"
        ));
        warnings_of(&resolved).into_iter().find(|warning| warning.contains("clock"))
    };
    // 1,024 ports and the engine's own sources: 11 of 63 bits name the source of an event.
    assert_eq!(warned("4503 s"), None);
    assert_eq!(
        warned("7200 s").unwrap(),
        "the simulation ends at 4503 s at the latest, not at 7200 s: on a fabric of 1024 ports its clock, which counts \
         picoseconds, goes no further"
    );
}

#[test]
fn warnings_call_what_stands_above_aggregation_switches_the_core() {
    let text = "[fabric]\nkind = \"fat-tree\"\n\
                [[traffic]]\npattern = \"inter-pod\"\nload = 1.5\nduration = \"50 ms\"\n";
    let resolved = try_resolve(text, &[]).unwrap();
    let warnings = warnings_of(&resolved);
    assert!(warnings.iter().any(|warning| warning.starts_with("aggregation to core: ")), "{warnings:?}");
    assert!(!warnings.iter().any(|warning| warning.contains("spine")), "{warnings:?}");
}

#[test]
fn files_are_named_and_found_elsewhere_by_their_digest() {
    let text = "[[traffic]]\nkind = \"flow-list\"\nfile = \"flows.csv\"\n";
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let resolved = try_resolve(text, &[]).unwrap();
    let [file] = resolved.named_files()[..] else { panic!("one file") };
    let canonical = resolved.to_toml();
    let elsewhere = |copies| {
        let folder = Path::new("nowhere");
        Scenario::parse(&canonical, "s.toml", &[]).unwrap().resolve_with(&Files { folder, copies })
    };
    assert!(elsewhere([].into()).is_err());
    let copies = [(file.digest.clone().unwrap(), here.join("flows.csv"))].into();
    assert_eq!(elsewhere(copies).unwrap().identity(), resolved.identity());
    // The content counts, not who says that it is the same.
    let other = [(file.digest.clone().unwrap(), here.join("late_flows.csv"))].into();
    assert!(elsewhere(other).unwrap_err().to_string().contains("has the digest"));
}
