//! Spritz in the engine: loads of links by closed forms, answers on their way back, what a link that swallows packets costs.

use super::setup::*;
use anabranch_balancers::spritz::pick::Parameters;
use anabranch_balancers::{Balancing, Scheme, Settings};
use anabranch_fabric::topology::{Dragonfly, LinkSettings};
use anabranch_fabric::{Buffer, Change, Fabric, MarkAt, Marking, PathTable, Rate, SwitchSettings, What};
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::roce::Completion;
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::{Nic, Observe, Outcome, PortRecord};
use anabranch_traffic::Flow;

/// a = 4 routers of p = 2 hosts and h = 2 links to other groups, g = 9 groups.
const GROUP: u32 = 8;
const HOSTS: u32 = 72;
const INTERVAL_PS: u64 = 50 * PS_PER_US;
const PAYLOAD: u64 = 1448;
/// Bytes of frames that a host sends in a second.
const LINK_BPS: u64 = 100_000_000_000;
/// Every packet is drawn, and all paths weigh the same: oblivious packet spraying.
const OBLIVIOUS: Parameters =
    Parameters { cached: 0, weight_scaling: 0, small_flow_bytes: 0, block_ns: Some(0), ..Parameters::SPRAY };

fn dragonfly() -> Fabric {
    let link = |delay_ps| LinkSettings {
        rate: Rate::from_bps(LINK_BPS).unwrap(),
        delay_ps,
        buffer: Buffer::UNLIMITED,
        marking: Marking::Off,
    };
    let (host_link, local_link, global_link) = (link(25_000), link(25_000), link(500_000));
    Dragonfly { host_link, local_link, global_link, ..Dragonfly::default() }.build().unwrap()
}

fn over(transport: Transport, parameters: Parameters, changes: Vec<Change>) -> Settings {
    let balancing = Balancing { scheme: Scheme::new(parameters), ..Balancing::ECMP };
    let observe = Observe { interval_ps: INTERVAL_PS, ..Observe::default() };
    Settings { balancing, nic: Nic::FAIR, changes, observe, ..settings(transport) }
}

fn uec() -> Transport {
    Transport::Uec(Uec { ack_bytes: 1, completion: Completion::Acknowledged, ..Uec::DEFAULT })
}

/// A router's port to another.
fn port(fabric: &Fabric, from: &str, to: &str) -> u32 {
    let node = |name: &str| fabric.nodes().iter().position(|node| node.name == name).unwrap() as u32;
    let leads = |&&port: &&u32| fabric.ports()[port as usize].to == node(to);
    *fabric.ports_of(node(from)).iter().find(leads).unwrap()
}

/// What a port did from a time on.
fn from_ps(outcome: &Outcome, port: u32, from_ps: u64, of: fn(&PortRecord) -> u64) -> u64 {
    outcome.ports.iter().filter(|record| record.port == port && record.start_ps >= from_ps).map(of).sum()
}

fn sent(outcome: &Outcome, port: u32) -> u64 {
    from_ps(outcome, port, 0, |record| record.sent_packets)
}

fn counted(outcome: &Outcome, words: &str) -> u64 {
    outcome.counts.iter().find(|(what, _)| what.contains(words)).unwrap().1
}

/// Both directions of a link swallow what they carry.
fn swallow(fabric: &Fabric, port: u32) -> Vec<Change> {
    let ports = [port, fabric.ports()[port as usize].reverse];
    ports.map(|port| Change { at_ps: 0, what: What::PortLoss(port, 1.0) }).to_vec()
}

/// Every host sends to the same host of the next group, packet by packet over all g - 1 paths alike. The link to that group
/// carries 1 / (g - 1) of what a p hosts send; each other link between groups as much on a first and on a second half.
#[test]
fn oblivious_spraying_loads_links_as_its_paths_do() {
    let (fabric, packets) = (dragonfly(), 1000);
    let flows: Vec<Flow> =
        (0..HOSTS).map(|host| flow(host, (host + GROUP) % HOSTS, packets * PAYLOAD, 0)).collect();
    let outcome = run(&fabric, &flows, &over(udp(LINK_BPS / 50), OBLIVIOUS, Vec::new()));
    assert_eq!(outcome.totals.delivered_packets, packets * u64::from(HOSTS));
    let group = |node: u32| fabric.nodes()[node as usize].pod.unwrap();
    let between = fabric.ports().iter().enumerate();
    let between = between.filter(|(_, port)| port.from >= HOSTS && port.to >= HOSTS);
    for (number, ends) in between.filter(|(_, port)| group(port.from) != group(port.to)) {
        let straight = (group(ends.from) + 1) % 9 == group(ends.to);
        let shares = if straight { 1 } else { 2 };
        let exact = f64::from(shares * GROUP) * packets as f64 / 8.0;
        let sigma = (exact * 7.0 / 8.0).sqrt();
        let off = (sent(&outcome, number as u32) as f64 - exact).abs();
        assert!(off < 5.0 * sigma, "{ends:?}: {off} off {exact}");
    }
    assert_eq!(counted(&outcome, "was drawn"), packets * u64::from(HOSTS));
    let detours = counted(&outcome, "longer path") as f64 / (packets * u64::from(HOSTS)) as f64;
    assert!((detours - 7.0 / 8.0).abs() < 0.01, "{detours}");
}

/// Among paths of delay d weigh 3 D / d, the longest 1: of one pair of hosts as many packets are straight as that gives.
#[test]
fn delays_of_the_fabric_weigh_its_paths() {
    let (fabric, packets) = (dragonfly(), 20_000);
    let (src, dst) = (0, 9 * 4);
    let leaf = |host: u32| fabric.leaf_of(host);
    let table = PathTable::with_detours(&fabric, [(leaf(src), leaf(dst))]).unwrap();
    let delays: Vec<u64> = table
        .between(&fabric, src, dst)
        .map(|path| table.ports(path).iter().map(|&port| fabric.ports()[port as usize].delay_ps).sum())
        .collect();
    let most = *delays.iter().max().unwrap() as f64;
    let weight = |&delay: &u64| if delay as f64 == most { 1.0 } else { 3.0 * most / delay as f64 };
    let exact = weight(&delays[0]) / delays.iter().map(weight).sum::<f64>();
    assert!((0.3..0.6).contains(&exact), "{exact}");
    let weighted = Parameters { weight_scaling: 3, ..OBLIVIOUS };
    let outcome = run(
        &fabric,
        &[flow(src, dst, packets * PAYLOAD, 0)],
        &over(udp(LINK_BPS / 10), weighted, Vec::new()),
    );
    let straight = 1.0 - counted(&outcome, "longer path") as f64 / packets as f64;
    let sigma = (exact * (1.0 - exact) / packets as f64).sqrt();
    assert!((straight - exact).abs() < 5.0 * sigma, "{straight} instead of {exact}");
}

/// Answers cross the links of what they answer, in the other direction: as many on each as packets, one for each.
#[test]
fn answers_go_back_over_the_same_links() {
    let fabric = dragonfly();
    for plan in [Parameters::SCOUT, Parameters::SPRAY, OBLIVIOUS] {
        // Another flow, between two hosts of a router, lets the last answers arrive before the run ends.
        let flows = [flow(0, 40, 500 * 4086, 0), flow(2, 3, 1000, 1000 * PS_PER_US)];
        let outcome = run(&fabric, &flows, &over(uec(), plan, Vec::new()));
        assert_eq!(outcome.flows[0].received_bytes, 500 * 4086);
        let mut used = 0;
        for (number, ends) in fabric.ports().iter().enumerate() {
            if ends.from >= HOSTS && ends.to >= HOSTS {
                assert_eq!(sent(&outcome, number as u32), sent(&outcome, ends.reverse), "{ends:?}");
                used += u64::from(sent(&outcome, number as u32) > 0);
            }
        }
        assert!(used > 6, "{used}");
    }
}

/// The only link between two groups swallows packets. Host 0 loses what it sent there until the first timeouts, and sends nothing
/// there from then on: with `block` again when that has passed, and without blocking as long as it sends.
#[test]
fn a_dead_path_is_left_after_its_timeout() {
    let fabric = dragonfly();
    let dead = port(&fabric, "router0.2", "router5.1");
    let size = 40_000_000;
    let late_ps = 1000 * PS_PER_US;
    for scheme in [Parameters::SCOUT, Parameters::SPRAY] {
        let of = |block_ns| {
            let plan = Parameters { block_ns, ..scheme.clone() };
            let settings = over(uec(), plan, swallow(&fabric, dead));
            let outcome = run(&fabric, &[flow(0, 5 * GROUP, size, 0)], &settings);
            assert_eq!(outcome.flows[0].received_bytes, size);
            assert!(outcome.flows[0].fct_ps > 2 * late_ps, "the run is too short to tell");
            let lost = |from| from_ps(&outcome, dead, from, |record| record.lost_packets);
            (lost(0), lost(late_ps), counted(&outcome, "was blocked"))
        };
        let (lost, late, blocked) = of(None);
        assert!(lost > 0 && late == 0, "{lost} {late}");
        // One of the pair's eight paths is dead, and nothing else is lost.
        assert_eq!(blocked, 1);
        let (_, late, blocked) = of(Some(400_000));
        assert!(late > 0 && blocked > 1, "{late} {blocked}");
        let (blind, late, blocked) = of(Some(0));
        assert!(blind > 3 * lost && late > 0 && blocked == 0, "{blind} {lost} {late} {blocked}");
    }
}

/// Scout, once it has a good path, sends nearly all by the shortest; Spray spreads over all it knows.
#[test]
fn scout_settles_and_spray_spreads() {
    let fabric = dragonfly();
    let part = |plan: Parameters| {
        let outcome = run(&fabric, &[flow(0, 5 * GROUP, 8_000_000, 0)], &over(uec(), plan, Vec::new()));
        let of = |words| counted(&outcome, words) as f64 / counted(&outcome, "a host chose") as f64;
        (of("longer path"), of("was drawn"))
    };
    let (detours, drawn) = part(Parameters::SCOUT);
    assert!(detours < 0.1 && drawn < 0.1, "{detours} {drawn}");
    let (detours, drawn) = part(Parameters::SPRAY);
    assert!(detours > 0.3 && drawn > 1.0 / 46.0, "{detours} {drawn}");
}

/// Small queues that mark and trim.
fn narrow() -> Fabric {
    let link = LinkSettings {
        rate: Rate::from_bps(LINK_BPS).unwrap(),
        delay_ps: 500_000,
        buffer: Buffer { bytes: 80_000, packets: u32::MAX },
        marking: Marking::Step { bytes: 30_000, packets: u32::MAX },
    };
    let shape = Dragonfly { host_link: link, local_link: link, global_link: link, ..Dragonfly::default() };
    let mut switches = SwitchSettings { mark_at: MarkAt::Dequeue, ..SwitchSettings::default() };
    switches.classes[2].trim = true;
    let mut fabric = shape.build().unwrap();
    fabric.set_switches(Some(switches));
    fabric
}

/// The same seed gives the same run, and another one another.
#[test]
fn runs_repeat() {
    let fabric = narrow();
    let flows: Vec<Flow> = (0..HOSTS).map(|host| flow(host, (host * 5 + 11) % HOSTS, 300_000, 0)).collect();
    let flows: Vec<Flow> = flows.into_iter().filter(|flow| flow.src != flow.dst).collect();
    let dead = port(&fabric, "router0.2", "router5.1");
    for plan in [Parameters::SCOUT, Parameters::SPRAY] {
        let settings = over(uec(), plan, swallow(&fabric, dead));
        let outcome = run(&fabric, &flows, &settings);
        assert!(outcome.flows.iter().all(|record| record.received_bytes == 300_000));
        assert_eq!(run(&fabric, &flows, &settings).flows, outcome.flows);
        assert_ne!(run(&fabric, &flows, &Settings { seed: 9, ..settings.clone() }).flows, outcome.flows);
    }
}

/// Packets are trimmed in crowds, and one link swallows what it carries: no path is blocked that does not cross that link.
#[test]
fn trimmed_packets_blame_no_path() {
    let fabric = narrow();
    // Five flows of each of eight pairs, into two hosts.
    let ends = |number: u32| (number % GROUP, number % 2 + 5 * GROUP);
    let flows: Vec<Flow> = (0..5 * GROUP).map(ends).map(|(src, dst)| flow(src, dst, 1_000_000, 0)).collect();
    let dead = port(&fabric, "router0.2", "router5.1");
    for plan in [Parameters::SCOUT, Parameters::SPRAY] {
        let outcome = run(&fabric, &flows, &over(uec(), plan, swallow(&fabric, dead)));
        assert!(outcome.ports.iter().map(|record| record.trimmed_packets).sum::<u64>() > 100);
        // One of each pair's paths crosses it.
        assert!((1..=u64::from(GROUP)).contains(&counted(&outcome, "was blocked")));
    }
}
