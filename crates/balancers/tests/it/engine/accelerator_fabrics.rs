//! Fabrics of accelerators in the engine: rails with scale-up switches, planes, dragonfly. Closed forms on empty fabrics,
//! dead planes, and every load balancer on each.

use super::setup::*;
use anabranch_balancers::uec::{Rule, Spraying};
use anabranch_balancers::{Balancing, Scheme, Settings, registry, simulate};
use anabranch_fabric::topology::{Dragonfly, LeafSpine, LinkSettings, MultiPlane, RailOptimised};
use anabranch_fabric::{Buffer, Change, Fabric, Graph, GraphLink, GraphNode, Marking, Rate, Tier, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Outcome, Progress};
use anabranch_traffic::sizes::Sizes;
use anabranch_traffic::workload::{
    Amount, Arrivals, Clients, Incast, Job, JobRate, PlacedWork, Placement, Poisson,
};
use anabranch_traffic::{DrawnFlows, Flow, Pattern, Workload, merged_flows};
use anabranch_work::collective::{Algorithm, Collective, Kind, steps};
use std::sync::Arc;

/// 10 Gbit/s and 1 us.
fn link() -> LinkSettings {
    LinkSettings {
        rate: Rate::from_bps(10_000_000_000).unwrap(),
        delay_ps: PS_PER_US,
        buffer: Buffer::UNLIMITED,
        marking: Marking::Off,
    }
}

/// Four servers of four accelerators on four rails; within a server 80 Gbit/s and 0.5 us.
pub(super) fn rails(segments: u32) -> Fabric {
    let scale_up = LinkSettings {
        rate: Rate::from_bps(80_000_000_000).unwrap(),
        delay_ps: PS_PER_US / 2,
        ..RailOptimised::SCALE_UP
    };
    RailOptimised {
        segments,
        accelerators_per_server: 4,
        spines: 2,
        host_link: link(),
        uplink: link(),
        scale_up,
        ..RailOptimised::default()
    }
    .build()
    .unwrap()
}

fn planes(planes: u32) -> Fabric {
    let shape = MultiPlane { planes, leaves: 2, spines: 2, hosts_per_leaf: 2, ..MultiPlane::default() };
    shape.build().unwrap()
}

/// Frame bytes that left by the ports that `chosen` holds for, given the tiers of both ends.
fn sent_bytes(fabric: &Fabric, outcome: &Outcome, chosen: impl Fn(Tier, Tier) -> bool) -> u64 {
    let tier = |node: u32| fabric.nodes()[node as usize].tier;
    let ends = |port: u32| &fabric.ports()[port as usize];
    let sent = outcome.ports.iter().filter(|record| {
        let port = ends(record.port);
        chosen(tier(port.from), tier(port.to))
    });
    sent.map(|record| record.sent_bytes).sum()
}

/// Datagrams on an empty fabric, store and forward: the first link for all frames, each further one for one.
#[test]
fn a_message_goes_by_its_server_by_its_rail_or_over_a_spine() {
    let fabric = rails(1);
    let frames = 100;
    let given = |src, dst, start_us: u64| flow(src, dst, frames * 1448, start_us * PS_PER_US);
    let list: Vec<Flow> = vec![given(0, 3, 0), given(0, 4, 1000), given(0, 7, 2000)];
    let flows = merged_flows(&[Workload::Given(Arc::new(list.into_iter().collect()))], &fabric, 1).unwrap();
    assert_eq!((flows[0].src, flows[0].dst), (16, 19));
    let outcome = run(&fabric, &flows, &settings(udp(80_000_000_000)));
    // 1538 bytes take 153.8 ns within a server and 1230.4 ns outside.
    let times: Vec<u64> = outcome.flows.iter().map(|flow| flow.fct_ps).collect();
    assert_eq!(times[0], PS_PER_US + (frames + 1) * 153_800);
    assert_eq!(times[1], 2 * PS_PER_US + (frames + 1) * 1_230_400);
    assert_eq!(times[2], 4 * PS_PER_US + (frames + 3) * 1_230_400);
}

fn all_reduce(fabric: &Fabric, algorithm: Algorithm) -> Outcome {
    let collective = Collective { group: 4, ..Collective::new(Kind::AllReduce, algorithm, 16 * 16 * 1448) };
    let graph = Arc::new(steps(16, 1, 0, |_| vec![collective.clone()]).unwrap());
    let work = PlacedWork { graph, hosts: (0..16).collect(), start_ps: 0, ordered: true };
    let flows =
        merged_flows(&[Workload::Graph(Job { work: work.clone(), transport: 0 })], fabric, 1).unwrap();
    run(fabric, &flows, &Settings { works: vec![work], ..settings(udp(80_000_000_000)) })
}

/// A hierarchical all-reduce over servers of four: three quarters of the vector pass each scale-up port twice, three
/// quarters of a quarter each network card twice, and nothing a spine. A plain ring turns from the last accelerator of a
/// server to the first of the next, on another rail, over a spine.
#[test]
fn a_hierarchical_all_reduce_keeps_to_servers_and_rails() {
    let fabric = rails(1);
    let outcome = all_reduce(&fabric, Algorithm::Hierarchical);
    let frames = 16 * 16;
    let bytes = |from: Tier, to: Tier| sent_bytes(&fabric, &outcome, |a, b| (a, b) == (from, to));
    assert_eq!(bytes(Tier::Leaf, Tier::Spine), 0);
    assert_eq!(bytes(Tier::Host, Tier::Server), 16 * 2 * (frames * 3 / 4) * 1518);
    assert_eq!(bytes(Tier::Host, Tier::Leaf), 16 * 2 * (frames / 4 * 3 / 4) * 1518);
    let ring = all_reduce(&fabric, Algorithm::Ring);
    // Four of sixteen neighbours are in another server: 30 parts of 16 frames each.
    assert_eq!(sent_bytes(&fabric, &ring, |a, b| (a, b) == (Tier::Leaf, Tier::Spine)), 4 * 30 * 16 * 1518);
}

/// Sixteen accelerators in servers of four: ranks fill servers, or are dealt to them in turn.
#[test]
fn ranks_are_spread_over_servers() {
    let all: Vec<u32> = (0..16).collect();
    let choose = |placement: Placement| placement.choose(&rails(1), &all, 6, 1).unwrap();
    assert_eq!(choose(Placement::Packed), [0, 1, 2, 3, 4, 5]);
    assert_eq!(choose(Placement::Spread), [0, 4, 8, 12, 1, 5]);
    let beyond = Placement::Packed.choose(&rails(1), &[16], 1, 1).unwrap_err();
    assert_eq!(
        (beyond.problem.as_str(), beyond.hint.as_str()),
        ("host 16", "name hosts from 0 to 15, each once")
    );
}

/// Traffic names accelerators, and goes between two cards, or between two scale-up ports of one server.
#[test]
fn no_traffic_joins_a_card_and_a_scale_up_port() {
    let poisson = |pattern| {
        Workload::Poisson(Poisson {
            pattern,
            sizes: Sizes::Fixed(1000),
            arrivals: Arrivals::PerSecond(1e6),
            amount: Amount::Count(500),
            start_ps: 0,
            transport: 0,
        })
    };
    let incast = Workload::Incast(Incast {
        servers: 15,
        response_bytes: 1000,
        rate: JobRate::PerSecond(1e5),
        clients: Clients::Any,
        amount: Amount::Count(20),
        start_ps: 0,
        transport: 0,
    });
    for workload in [poisson(Pattern::RandomPairs), poisson(Pattern::AllToAll), incast] {
        let (mut inside, mut outside) = (0, 0);
        for flow in DrawnFlows::of(&[workload], &rails(1), 1).unwrap().iter() {
            let (src, dst) = (flow.src % 16 / 4, flow.dst % 16 / 4);
            assert_eq!([flow.src >= 16, flow.dst >= 16], [src == dst; 2], "{flow:?}");
            if src == dst { inside += 1 } else { outside += 1 }
        }
        // Three of the fifteen others are in the same server.
        let share = f64::from(inside) / f64::from(inside + outside);
        assert!((0.13..0.27).contains(&share), "{share}");
    }
}

/// A bulk transfer that is sprayed by entropies, to a receiver that takes no reordering for loss.
fn sprayed(fabric: &Fabric, changes: Vec<Change>) -> Outcome {
    let scheme = Scheme::new(Spraying::new(Rule::Mixed));
    let balancing = Balancing { scheme, ..Balancing::ECMP };
    let tcp = Tcp { dup_ack_threshold: 1000, ..Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }) };
    let settings = Settings { balancing, changes, ..settings(Transport::Tcp(tcp)) };
    run(fabric, &[flow(0, 3, 20_000_000, 0)], &settings)
}

#[test]
fn entropies_use_all_planes_and_leave_a_dead_one() {
    let time_us = |fabric: &Fabric, changes| {
        let outcome = sprayed(fabric, changes);
        assert_eq!(outcome.totals.flows_finished, 1);
        (outcome.flows[0].fct_ps as f64 / 1e6, outcome)
    };
    // 20 MB in frames of 1538 bytes for 1448 of payload, on one link of 10 Gbit/s.
    let one_us = 20e6 * (1538.0 / 1448.0) * 8.0 / 10e3;
    let (alone_us, _) = time_us(&planes(1), Vec::new());
    assert!((1.0..1.05).contains(&(alone_us / one_us)), "{alone_us} {one_us}");
    // Entropies are hashed, so planes are not loaded alike, and the window follows the fullest.
    let fabric = planes(4);
    let (whole_us, outcome) = time_us(&fabric, Vec::new());
    assert!((0.25..0.36).contains(&(whole_us / one_us)), "{whole_us} {one_us}");
    let up = |record: &&anabranch_sim::PortRecord| {
        let port = &fabric.ports()[record.port as usize];
        fabric.nodes()[port.from as usize].name == "nic0" && port.to != 0
    };
    let shares: Vec<u64> = outcome.ports.iter().filter(up).map(|record| record.sent_bytes).collect();
    let least = *shares.iter().min().unwrap() as f64 / shares.iter().sum::<u64>() as f64;
    assert!(shares.len() == 4 && least > 0.10, "{shares:?}");
    // A port of the sender's card is dead from the start: three planes are left.
    let dead = (0..).zip(fabric.ports()).find(|(_, port)| {
        let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
        (name(port.from), name(port.to)) == ("nic0", "leaf2.0")
    });
    let (port, ends) = dead.unwrap();
    let down = |port| Change { at_ps: 0, what: What::PortDown(port) };
    let (three_us, outcome) = time_us(&fabric, vec![down(port), down(ends.reverse)]);
    assert!((0.333..0.48).contains(&(three_us / one_us)), "{three_us} {one_us}");
    assert!(outcome.ports.iter().all(|record| record.port != port || record.sent_bytes == 0));
}

/// Two racks of two leaves and two hosts, which are linked to both leaves of theirs.
fn dual() -> Fabric {
    let shape =
        LeafSpine { leaves: 4, spines: 2, hosts_per_leaf: 2, links_per_host: 2, ..LeafSpine::default() };
    LeafSpine { host_link: link(), uplink: link(), ..shape }.build().unwrap()
}

#[test]
fn a_host_of_two_links_lives_with_one() {
    let fabric = dual();
    let node = |name: &str| (0..).zip(fabric.nodes()).find(|(_, node)| node.name == name).unwrap().0;
    let took = |dead: &[&str], dst: u32| {
        let down = |name: &&str| Change { at_ps: 0, what: What::NodeDown(node(name)) };
        let changes = dead.iter().map(down).collect();
        let settings = Settings { changes, end_ps: 1_000 * PS_PER_US, ..settings(udp(10_000_000_000)) };
        run(&fabric, &[flow(0, dst, 100 * 1448, 0)], &settings).flows[0].fct_ps
    };
    // Frames wait for themselves at links of 10 Gbit/s, and half as long within each host, at 20.
    let frame_ps = 1538 * 800;
    let expected_ps = |links: u64| (99 + 1 + links) * frame_ps + links * PS_PER_US;
    for dead in [&[][..], &["leaf0"], &["leaf1"], &["leaf2", "spine1"], &["leaf0", "leaf3"]] {
        assert_eq!(took(dead, 1), expected_ps(2), "{dead:?}");
        assert_eq!(took(dead, 3), expected_ps(4), "{dead:?}");
    }
    assert_eq!(took(&["leaf0", "leaf1"], 1), u64::MAX);
}

/// Three hosts in a row, joined by cables: neighbours reach each other, and the first does not reach the last.
#[test]
fn cables_between_hosts_carry_for_their_ends() {
    let node = |name: &str| GraphNode { name: name.to_owned(), tier: Some(Tier::Host), pod: None };
    let cable = |a| GraphLink { a, b: a + 1, settings: link(), back: None };
    let graph = Graph { nodes: ["a", "b", "c"].map(node).to_vec(), links: vec![cable(0), cable(1)] };
    let fabric = graph.build().unwrap();
    let took = |dst| {
        let settings = Settings { end_ps: 1_000 * PS_PER_US, ..settings(udp(10_000_000_000)) };
        run(&fabric, &[flow(0, dst, 100 * 1448, 0)], &settings).flows[0].fct_ps
    };
    // Within the first host a frame takes as long as on its cable, and within the second, which has two, half as long.
    let frame_ps = 1538 * 800;
    assert_eq!(took(1), 101 * frame_ps + frame_ps / 2 + PS_PER_US);
    assert_eq!(took(2), u64::MAX);
}

/// Load balancers that need tiers, which a fabric does not have, say so.
#[test]
fn every_load_balancer_runs_on_each_or_says_what_it_needs() {
    let dragonfly = Dragonfly { groups: 3, hosts_per_router: 1, ..Dragonfly::default() };
    let dragonfly = Dragonfly { host_link: link(), local_link: link(), global_link: link(), ..dragonfly };
    let tcp = Tcp { rto_min_ps: 300 * PS_PER_US, ..Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }) };
    let mut refusals = Vec::new();
    for (name, fabric) in [
        ("rails", rails(1)),
        ("planes", planes(2)),
        ("dual", dual()),
        ("dragonfly", dragonfly.build().unwrap()),
    ] {
        let hosts = fabric.named_hosts();
        let pair = |host: u32| flow(host, (host * 7 + 5) % hosts, 30_000, u64::from(host) * PS_PER_US);
        let list = (0..hosts).map(pair).filter(|flow| flow.src != flow.dst);
        let flows = merged_flows(&[Workload::Given(Arc::new(list.collect()))], &fabric, 1).unwrap();
        for descriptor in registry::all() {
            let settings = Settings {
                balancing: descriptor.balancing(),
                end_ps: 100_000 * PS_PER_US,
                ..settings(Transport::Tcp(tcp.clone()))
            };
            match simulate(&fabric, &flows, &settings, &Progress::default()) {
                Ok(outcome) => assert_eq!(
                    outcome.totals.flows_finished,
                    flows.len() as u64,
                    "{} on {name}",
                    descriptor.name
                ),
                Err(error) => {
                    assert!(!error.hint.is_empty(), "{error}");
                    refusals.push((name, descriptor.name));
                }
            }
        }
    }
    let detours = |name: &'static str| ["valiant", "ugal-l", "ugal-g"].map(|balancer| (name, balancer));
    let expected = [
        &detours("rails")[..],
        &[("planes", "conga")],
        &detours("planes"),
        &[("dual", "conga")],
        &detours("dual"),
        &[("dragonfly", "conga"), ("dragonfly", "hula")],
    ];
    assert_eq!(refusals, expected.concat());
}
