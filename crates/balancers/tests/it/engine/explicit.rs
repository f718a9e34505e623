//! Explicit paths in the engine: what each link carries, and what a link that dies costs, by formulas.

use super::setup::*;
use anabranch_balancers::explicit::pick::{Parameters, Spread};
use anabranch_balancers::{Balancing, Scheme, Settings, simulate};
use anabranch_fabric::{Change, ExplicitPath, Fabric, PathTable, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Outcome, Progress};
use std::sync::Arc;

/// Payload of a full datagram.
const PAYLOAD: u64 = 1448;
/// Probe each 100 us, timeout 60 us.
const WATCHED: Parameters = Parameters { spread: Spread::Packets, probe_ns: 100_000, timeout_ns: 60_000 };

fn us(us: u64) -> u64 {
    us * PS_PER_US
}

/// Path by the nodes that it visits, from leaf to leaf or from host to host.
fn path(fabric: &Fabric, names: &[&str], weight: u32) -> ExplicitPath {
    let node = |name: &&str| fabric.nodes().iter().position(|node| node.name == **name).unwrap() as u32;
    let nodes: Vec<u32> = names.iter().map(node).collect();
    let port = |pair: &[u32]| {
        let leads = |&&port: &&u32| fabric.ports()[port as usize].to == pair[1];
        *fabric.ports_of(pair[0]).iter().find(leads).unwrap()
    };
    let mut ports: Vec<u32> = nodes.windows(2).map(port).collect();
    if nodes[0] < fabric.hosts() {
        ports.pop();
        ports.remove(0);
    }
    ExplicitPath { ends: (nodes[0], nodes[nodes.len() - 1]), ports, weight }
}

fn table(fabric: &Fabric, paths: &[(&[&str], u32)]) -> Arc<PathTable> {
    Arc::new(PathTable::new(paths.iter().map(|(names, weight)| path(fabric, names, *weight))).unwrap())
}

/// At most five seconds long: a packet that never arrives must fail a test, not keep it.
fn over(transport: Transport, parameters: Parameters, paths: Arc<PathTable>) -> Settings {
    let (scheme, end_ps) = (Scheme::new(parameters), us(5_000_000));
    let balancing = Balancing { scheme, paths: Some(paths), ..Balancing::ECMP };
    Settings { balancing, end_ps, ..settings(transport) }
}

fn tcp() -> Transport {
    Transport::Tcp(Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }))
}

/// Packets that the port from one node to another sent, and those that it lost.
fn port_packets(fabric: &Fabric, outcome: &Outcome, from: &str, to: &str) -> (u64, u64) {
    let port = path(fabric, &[from, to], 1).ports[0];
    let records = || outcome.ports.iter().filter(|record| record.port == port);
    (records().map(|record| record.sent_packets).sum(), records().map(|record| record.lost_packets).sum())
}

fn sent(fabric: &Fabric, outcome: &Outcome, from: &str, to: &str) -> u64 {
    port_packets(fabric, outcome, from, to).0
}

fn counted(outcome: &Outcome, words: &str) -> u64 {
    outcome.counts.iter().find(|(what, _)| what.contains(words)).unwrap().1
}

/// Both directions between two nodes.
fn both(fabric: &Fabric, from: &str, to: &str, at_ps: u64, what: fn(u32) -> What) -> Vec<Change> {
    let ports = [path(fabric, &[from, to], 1).ports[0], path(fabric, &[to, from], 1).ports[0]];
    ports.map(|port| Change { at_ps, what: what(port) }).to_vec()
}

const FORTH_0: &[&str] = &["leaf0", "spine0", "leaf1"];
const FORTH_1: &[&str] = &["leaf0", "spine1", "leaf1"];
const BACK_0: &[&str] = &["leaf1", "spine0", "leaf0"];
const BACK_1: &[&str] = &["leaf1", "spine1", "leaf0"];

/// Packets in turns of 3 to 1 over the first and the second path, and half of those of the other direction: to the packet,
/// on every link, whatever the seed.
#[test]
fn packets_follow_the_weights() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let paths = table(&fabric, &[(FORTH_0, 3), (FORTH_1, 1), (BACK_0, 1), (BACK_1, 1)]);
    for seed in 1..5 {
        let parameters = Parameters { probe_ns: 0, ..WATCHED };
        let settings = Settings { seed, ..over(udp(1_000_000_000), parameters, paths.clone()) };
        let flows = [flow(0, 1, 400 * PAYLOAD, 0), flow(1, 0, 400 * PAYLOAD, 0)];
        let outcome = run(&fabric, &flows, &settings);
        let links = [("leaf0", "spine0"), ("spine0", "leaf1"), ("leaf0", "spine1"), ("spine1", "leaf1")];
        assert_eq!(links.map(|(from, to)| sent(&fabric, &outcome, from, to)), [300, 300, 100, 100]);
        assert_eq!(["spine0", "spine1"].map(|spine| sent(&fabric, &outcome, "leaf1", spine)), [200, 200]);
    }
}

/// Eight equal flows between two hosts in turns of 3 to 1: six and two, and a flow's answers keep a path of their own.
#[test]
fn flows_follow_the_weights() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let paths = table(&fabric, &[(FORTH_0, 3), (FORTH_1, 1), (BACK_1, 1)]);
    let parameters = Parameters { spread: Spread::Flows, probe_ns: 0, ..WATCHED };
    let flows: Vec<_> = (0..8).map(|_| flow(0, 1, 50 * PAYLOAD, 0)).collect();
    for seed in 1..5 {
        let settings = Settings { seed, ..over(udp(1_000_000_000), parameters.clone(), paths.clone()) };
        let outcome = run(&fabric, &flows, &settings);
        assert_eq!(["spine0", "spine1"].map(|spine| sent(&fabric, &outcome, "leaf0", spine)), [300, 100]);
        let settings = Settings { seed, ..over(tcp(), parameters.clone(), paths.clone()) };
        let outcome = run(&fabric, &flows, &settings);
        assert!(outcome.flows.iter().all(|record| record.received_bytes == 50 * PAYLOAD));
        assert_eq!(sent(&fabric, &outcome, "leaf1", "spine0"), 0, "answers take the only path back");
        assert!(sent(&fabric, &outcome, "leaf1", "spine1") > 0);
    }
}

/// Each pair of four leaves has one path, some of them detours. Every packet of the run is on its path, answers and probes
/// included, so that each link carries what the pairs whose path it is on have sent.
#[test]
fn with_one_path_a_pair_every_packet_is_on_it() {
    let fabric = leaf_spine(4, 3, 1, TEN_GIG);
    let names: Vec<String> = fabric.nodes().iter().map(|node| node.name.clone()).collect();
    let leaf = |number: u32| format!("leaf{number}");
    let mut listed = Vec::new();
    for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        let spine = |number: u32| format!("spine{}", number % 3);
        // From an even leaf to the next one by way of a third.
        let nodes = if a % 2 == 0 && b == a + 1 {
            vec![leaf(a), spine(a), leaf((a + 2) % 4), spine(a + 1), leaf(b)]
        } else {
            vec![leaf(a), spine(a + b), leaf(b)]
        };
        listed.push(path(&fabric, &nodes.iter().map(String::as_str).collect::<Vec<_>>(), 1));
    }
    let paths = Arc::new(PathTable::new(listed.clone()).unwrap());
    let flows: Vec<_> = (0..4)
        .flat_map(|a| (0..4).filter(move |&b| b != a).map(move |b| flow(a, b, 20 * PAYLOAD, 0)))
        .collect();
    for spread in [Spread::Flows, Spread::Packets] {
        let parameters = Parameters { spread, probe_ns: 0, ..WATCHED };
        let outcome = run(&fabric, &flows, &over(udp(2_000_000_000), parameters, paths.clone()));
        for (port, ends) in
            fabric.ports().iter().enumerate().filter(|(_, ends)| ends.from >= 4 && ends.to >= 4)
        {
            let on_it = listed.iter().filter(|path| path.ports.contains(&(port as u32))).count() as u64;
            let records = outcome.ports.iter().filter(|record| record.port == port as u32);
            let sent: u64 = records.map(|record| record.sent_packets).sum();
            let name = |node: u32| &names[node as usize];
            assert_eq!(sent, 20 * on_it, "{} to {}", name(ends.from), name(ends.to));
        }
        assert!(outcome.flows.iter().all(|record| record.received_bytes == 20 * PAYLOAD));
    }
    // Answers of probes come back over the links of their path, and so over links that no path has in this direction.
    let outcome = run(&fabric, &flows, &over(tcp(), Parameters::DEFAULT, paths));
    assert!(outcome.flows.iter().all(|record| record.received_bytes == 20 * PAYLOAD));
    assert_eq!(outcome.totals.lost_packets + outcome.totals.dropped_packets, 0);
    assert_eq!(counted(&outcome, "taken out"), 0);
}

/// Rows of two hosts come before those of their leaves, for these two alone.
#[test]
fn rows_of_hosts_come_first() {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let own: &[&str] = &["host0", "leaf0", "spine1", "leaf1", "host2"];
    let paths = table(&fabric, &[(FORTH_0, 1), (BACK_0, 1), (own, 1)]);
    let parameters = Parameters { probe_ns: 0, ..WATCHED };
    let flows = [flow(0, 2, 30 * PAYLOAD, 0), flow(1, 2, 20 * PAYLOAD, 0), flow(0, 3, 10 * PAYLOAD, 0)];
    let outcome = run(&fabric, &flows, &over(udp(1_000_000_000), parameters, paths));
    assert_eq!(["spine0", "spine1"].map(|spine| sent(&fabric, &outcome, "leaf0", spine)), [30, 30]);
}

/// The link from a spine to the receiver's leaf dies. Its path loses what was sent over it from then on until the answer to
/// the next probe is missed, and nothing after; the number is that of a sender at a constant rate, to two packets.
#[test]
fn a_dead_link_costs_what_was_sent_until_a_probe_was_missed() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let paths = table(&fabric, &[(FORTH_0, 1), (FORTH_1, 1), (BACK_0, 1), (BACK_1, 1)]);
    let whole =
        run(&fabric, &[flow(0, 1, 4_000 * PAYLOAD, 0)], &over(udp(1_000_000_000), WATCHED, paths.clone()));
    let gap_ps = whole.flows[0].fct_ps / 4_000;
    for died_us in [1_010, 1_050, 1_099] {
        let mut settings = over(udp(1_000_000_000), WATCHED, paths.clone());
        settings.changes = both(&fabric, "spine0", "leaf1", us(died_us), What::PortDown);
        let outcome = run(&fabric, &[flow(0, 1, 4_000 * PAYLOAD, 0)], &settings);
        // Both hosts send their next probe at 1,100 us and miss its answer at 1,160.
        let exposed_ps = us(1_160 - died_us);
        let expected = exposed_ps / (2 * gap_ps);
        let lost = outcome.flows[0].lost_packets;
        assert!(lost.abs_diff(expected) <= 2, "{lost} and {expected} after {died_us} us");
        // The bound that users are promised, for any moment.
        assert!(lost <= (us(160) + us(10)) / (2 * gap_ps) + 1);
        assert_eq!(outcome.flows[0].received_bytes, (4_000 - lost) * PAYLOAD);
        assert_eq!(counted(&outcome, "taken out"), 2, "at both ends");
        // From then on it carries probes alone, one in 100 us: half of 4,000 packets before, and none of the data after.
        let until_ps = us(1_160).min(outcome.totals.end_ps);
        let data = until_ps / (2 * gap_ps);
        let probes = outcome.totals.end_ps / us(100) + 1;
        let (up, _) = port_packets(&fabric, &outcome, "leaf0", "spine0");
        assert!(up <= data + 2 + 2 * probes, "{up}, of which {data} data and {probes} probes of either host");
    }
}

/// The same link comes back: the next probe finds out, and the path carries its half again.
#[test]
fn a_link_that_comes_back_is_used_again() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let paths = table(&fabric, &[(FORTH_0, 1), (FORTH_1, 1), (BACK_0, 1), (BACK_1, 1)]);
    let mut settings = over(udp(1_000_000_000), WATCHED, paths);
    let gap_ps = run(&fabric, &[flow(0, 1, 1_000 * PAYLOAD, 0)], &settings).flows[0].fct_ps / 1_000;
    settings.changes = both(&fabric, "spine0", "leaf1", us(1_050), What::PortDown);
    settings.changes.extend(both(&fabric, "spine0", "leaf1", us(2_050), What::PortUp));
    let outcome = run(&fabric, &[flow(0, 1, 1_000 * PAYLOAD, 0)], &settings);
    assert_eq!((counted(&outcome, "taken out"), counted(&outcome, "came back")), (2, 2));
    // Out from 1,160 us until the answer to the probe at 2,100 us, some 10 us later.
    let away = us(2_110 - 1_160) / (2 * gap_ps);
    let (other, _) = port_packets(&fabric, &outcome, "spine1", "leaf1");
    // Probes and answers to the other's probes.
    let probes = 2 * (outcome.totals.end_ps / us(100) + 1);
    let expected = 500 + away;
    assert!(other.abs_diff(expected + probes) <= probes / 2 + 4, "{other}, {expected} and {probes} probes");
}

/// Without probes a flow stays on its dead path, though the fabric has another and routing knows of it at once.
#[test]
fn without_probes_a_flow_on_a_dead_path_never_ends() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let paths = table(&fabric, &[(FORTH_0, 1), (FORTH_1, 1), (BACK_0, 1), (BACK_1, 1)]);
    let flows: Vec<_> = (0..4).map(|_| flow(0, 1, 2_000_000, 0)).collect();
    let ended = |probe_ns| {
        let parameters = Parameters { spread: Spread::Flows, probe_ns, ..WATCHED };
        let mut settings = over(tcp(), parameters, paths.clone());
        settings.changes = both(&fabric, "spine0", "leaf1", us(500), What::PortDown);
        settings.end_ps = us(2_000_000);
        let outcome = run(&fabric, &flows, &settings);
        outcome.flows.iter().filter(|record| record.fct_ps != u64::MAX).count()
    };
    // Two of four flows, or their answers, have the dead path; turns are even in both directions.
    assert!(ended(0) <= 2, "{}", ended(0));
    assert_eq!(ended(100_000), 4);
}

/// A table with the only path over a link that dies: routing finds the other way, and no packet takes it.
#[test]
fn routing_changes_nothing() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let paths = table(&fabric, &[(FORTH_0, 1), (BACK_0, 1)]);
    let mut settings = over(udp(1_000_000_000), WATCHED, paths);
    settings.changes = both(&fabric, "leaf0", "spine0", us(100), What::PortDown);
    let outcome = run(&fabric, &[flow(0, 1, 200 * PAYLOAD, 0)], &settings);
    let record = &outcome.flows[0];
    assert!(record.lost_packets > 150, "{record:?}");
    assert_eq!(["leaf0", "leaf1"].map(|leaf| sent(&fabric, &outcome, "spine1", leaf)), [0, 0]);
    let (_, lost) = port_packets(&fabric, &outcome, "leaf0", "spine0");
    assert!(lost >= record.lost_packets, "at the dead port");
}

/// Without a table it is all shortest paths: the same run as with the table of them.
#[test]
fn no_table_is_the_table_of_all_shortest_paths() {
    let fabric = leaf_spine(3, 4, 2, TEN_GIG);
    let shortest = Arc::new(PathTable::shortest(&fabric, None).unwrap());
    assert_eq!(shortest.len(), 3 * 2 * 4);
    let flows: Vec<_> = (0..30).map(|n| flow(n % 6, (n * 5 + 3) % 6, 30_000, us(u64::from(n)))).collect();
    let flows: Vec<_> = flows.into_iter().filter(|flow| flow.src != flow.dst).collect();
    let with = over(tcp(), Parameters::DEFAULT, shortest);
    let mut without = with.clone();
    without.balancing.paths = None;
    let [one, other] = [with, without].map(|settings| run(&fabric, &flows, &settings));
    assert_eq!(one.flows, other.flows);
    assert_eq!(one.totals, other.totals);
}

/// Traffic that has no path there or none back is refused by the names of its hosts; traffic within a leaf needs none.
#[test]
fn a_pair_without_a_path_is_refused() {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let refused = |paths: &[(&[&str], u32)], flows: &[_]| {
        let settings = over(tcp(), Parameters::DEFAULT, table(&fabric, paths));
        simulate(&fabric, flows, &settings, &Progress::default()).map(|_| ()).map_err(|error| error.problem)
    };
    let problem = |from: &str, to: &str| Err(format!("routing.paths: no path from {from} to {to}"));
    assert_eq!(refused(&[(BACK_0, 1)], &[flow(1, 2, 1000, 0)]), problem("host1", "host2"));
    assert_eq!(refused(&[(FORTH_0, 1)], &[flow(1, 2, 1000, 0)]), problem("host2", "host1"));
    assert_eq!(refused(&[(FORTH_0, 1)], &[flow(0, 1, 1000, 0)]), Ok(()));
}
