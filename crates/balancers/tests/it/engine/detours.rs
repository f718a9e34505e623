//! Detours of a dragonfly against closed forms of its paper (Kim, Dally, Scott, Abts, ISCA 2008, section 4, Figs. 8 and 9):
//! the load of the busiest link under traffic of each group to the next and under uniform traffic, and what arrives at a
//! load that only the right choice of paths carries.

use super::setup::*;
use anabranch_balancers::{Balancing, Granularity, Settings, registry, simulate};
use anabranch_fabric::topology::{Dragonfly, LinkSettings};
use anabranch_fabric::{
    Buffer, Change, Fabric, Graph, GraphLink, GraphNode, Marking, Port, Rate, SharedBuffer, SwitchSettings,
    Tier, What,
};
use anabranch_sim::{Class, Nic, Outcome, Progress};
use anabranch_traffic::sizes::Sizes;
use anabranch_traffic::workload::{Amount, Arrivals, Poisson};
use anabranch_traffic::{Flow, Pattern, Workload, merged_flows};

/// The paper's balance at its smallest: a = 4 routers of p = 2 hosts and h = 2 links to other groups, g = 9 groups.
const A: u32 = 4;
const P: u32 = 2;
const H: u32 = 2;
const G: u32 = 9;
const HOSTS: u32 = A * P * G;
/// Payload and wire bytes of a full frame.
const PAYLOAD_BYTES: u64 = 1448;
const WIRE_BYTES: u64 = 1538;
const LINK_BPS: u64 = 10_000_000_000;

fn dragonfly(buffer: Buffer) -> Fabric {
    let link = LinkSettings {
        rate: Rate::from_bps(LINK_BPS).unwrap(),
        delay_ps: PS_PER_US,
        buffer,
        marking: Marking::Off,
    };
    Dragonfly {
        routers_per_group: A,
        hosts_per_router: P,
        global_links_per_router: H,
        groups: G,
        host_link: link,
        local_link: link,
        global_link: link,
    }
    .build()
    .unwrap()
}

/// Every host of a group sends so many frames to the same host of the next: all cross one link between groups, if they go
/// straight.
fn to_the_next_group(frames: u64) -> Vec<Flow> {
    (0..HOSTS).map(|host| flow(host, (host + A * P) % HOSTS, frames * PAYLOAD_BYTES, 0)).collect()
}

/// Frames by themselves between hosts drawn at random, at a load of the hosts' links: `count` of them.
fn uniform(fabric: &Fabric, count: u32, load: f64) -> Vec<Flow> {
    let frames = f64::from(HOSTS) * LINK_BPS as f64 * load / (8.0 * WIRE_BYTES as f64);
    let poisson = Workload::Poisson(Poisson {
        pattern: Pattern::RandomPairs,
        sizes: Sizes::Fixed(PAYLOAD_BYTES),
        arrivals: Arrivals::PerSecond(frames),
        amount: Amount::Count(count.into()),
        start_ps: 0,
        transport: 0,
    });
    merged_flows(&[poisson], fabric, 1).unwrap()
}

/// Runs under a load balancer by name, at so many bits of frames per second of each host that sends.
fn run_at(fabric: &Fabric, flows: &[Flow], name: &str, unit: Granularity, bps: u64) -> Outcome {
    let balancing = Balancing { granularity: unit, ..registry::find(name).unwrap().balancing() };
    run(fabric, flows, &Settings { balancing, ..settings(udp(bps)) })
}

/// Group of a router.
fn group(fabric: &Fabric, node: u32) -> Option<u32> {
    (node >= fabric.hosts()).then(|| fabric.nodes()[node as usize].pod.unwrap())
}

/// Frames that crossed each port between groups, or between routers of one.
fn frames_between(fabric: &Fabric, outcome: &Outcome, groups: bool) -> Vec<u64> {
    let mut frames = vec![0; fabric.ports().len()];
    for record in &outcome.ports {
        frames[record.port as usize] += record.sent_packets;
    }
    let chosen = |&(port, _): &(usize, u64)| {
        let port = &fabric.ports()[port];
        match (group(fabric, port.from), group(fabric, port.to)) {
            (Some(from), Some(to)) => (from != to) == groups,
            _ => false,
        }
    };
    frames.into_iter().enumerate().filter(chosen).map(|(_, frames)| frames).collect()
}

/// Largest load that hosts can offer, as a share of their links, where they sent `frames` each: at more, the busiest link between
/// routers has more than its rate.
fn capacity(fabric: &Fabric, outcome: &Outcome, frames: u64) -> f64 {
    let busiest = [true, false].into_iter().flat_map(|groups| frames_between(fabric, outcome, groups)).max();
    frames as f64 / busiest.unwrap() as f64
}

/// Straight, the link to the next group has to carry what all a p hosts send: 1 / (a p) = 1 / (a h) of capacity. By Valiant each
/// of the other g - 2 groups gets as much, and every link between groups but that one carries it on a first and on a
/// second half: (g - 2) / (2 a p), which is 1/2 less what the two groups at the ends do not carry.
#[test]
fn traffic_to_the_next_group_has_the_capacity_of_the_paper() {
    let fabric = dragonfly(Buffer::UNLIMITED);
    let frames = 2000;
    let flows = to_the_next_group(frames);
    let of = |name, unit| capacity(&fabric, &run_at(&fabric, &flows, name, unit, LINK_BPS / 20), frames);
    assert_eq!(of("ecmp", Granularity::Packet), 1.0 / f64::from(A * H));
    let exact = f64::from(G - 2) / f64::from(2 * A * P);
    let valiant = of("valiant", Granularity::Packet);
    // A link has 4571 frames on average, binomially: with a standard deviation of 65, the most of 72 some 160 above.
    assert!((0.94..1.0).contains(&(valiant / exact)), "{valiant} {exact}");
    // By flow the 16 flows of two groups meet the links as they are drawn.
    let by_flow = of("valiant", Granularity::Flow);
    assert!((1.0 / f64::from(A * H)..exact).contains(&by_flow), "{by_flow}");
}

/// Under uniform traffic a detour crosses two links between groups where the straight path crosses one.
#[test]
fn a_detour_doubles_the_load_between_groups() {
    let fabric = dragonfly(Buffer::UNLIMITED);
    let flows = uniform(&fabric, 20_000, 0.1);
    let group = |host: u32| host / (A * P);
    let leaving = flows.iter().filter(|flow| group(flow.src) != group(flow.dst)).count() as u64;
    let between = |name| -> (u64, u64) {
        let outcome = run_at(&fabric, &flows, name, Granularity::Packet, LINK_BPS);
        assert_eq!(outcome.totals.delivered_packets, 20_000, "{name}");
        let detours = outcome.counts.first().map_or(0, |&(_, detours)| detours);
        (frames_between(&fabric, &outcome, true).iter().sum(), detours)
    };
    assert_eq!(between("ecmp"), (leaving, 0));
    assert_eq!(between("valiant"), (2 * leaving, leaving));
    // Each detour of UGAL is one link between groups more; at this load few are worth it.
    for name in ["ugal-l", "ugal-g"] {
        let (frames, detours) = between(name);
        assert_eq!(frames, leaving + detours, "{name}");
        assert!(detours < leaving / 5, "{name}: {detours} of {leaving}");
    }
}

/// A detour has the five steps of the paper: of frames that meet nobody the slowest cross five links between routers, and those of
/// their hosts.
#[test]
fn a_detour_has_five_steps() {
    let fabric = dragonfly(Buffer::UNLIMITED);
    let alone = |number: u32| {
        let (src, step) = (number % HOSTS, 1 + number / 3 % (HOSTS - 1));
        flow(src, (src + step) % HOSTS, PAYLOAD_BYTES, u64::from(number) * 50 * PS_PER_US)
    };
    let flows: Vec<Flow> = (0..500).map(alone).collect();
    let outcome = run_at(&fabric, &flows, "valiant", Granularity::Flow, LINK_BPS);
    let slowest_ps = outcome.flows.iter().map(|flow| flow.fct_ps).max();
    assert_eq!(slowest_ps, Some(7 * (WIRE_BYTES * 800 + PS_PER_US)));
}

/// Share of the frames that arrive, with room for 100 frames at each port.
fn accepted(flows: &[Flow], name: &str, bps: u64) -> f64 {
    let fabric = dragonfly(Buffer { bytes: u32::MAX, packets: 100 });
    let outcome = run_at(&fabric, flows, name, Granularity::Packet, bps);
    outcome.totals.delivered_packets as f64 / outcome.totals.sent_packets as f64
}

/// To the next group at 0.4, which is below the capacity of Valiant and beyond thrice that of straight paths; uniformly at 0.7,
/// which is beyond Valiant's. UGAL-G takes all of both. UGAL-L sees no queue but its own router's: a link to the next
/// group that is full at another router goes unseen where ports drop.
#[test]
fn ugal_is_near_the_better_of_both() {
    let next = to_the_next_group(3000);
    let load = 0.4;
    let at = |name| accepted(&next, name, (LINK_BPS as f64 * load) as u64);
    let straight = 1.0 / (f64::from(A * H) * load);
    assert!(at("ecmp") < straight + 0.01, "{}", at("ecmp"));
    assert!(at("valiant") > 0.99 && at("ugal-g") > 0.99, "{} {}", at("valiant"), at("ugal-g"));
    assert!(at("ugal-l") > 2.0 * straight, "{}", at("ugal-l"));
    let uniform = uniform(&dragonfly(Buffer::UNLIMITED), 150_000, 0.7);
    let at = |name| accepted(&uniform, name, LINK_BPS);
    assert!(at("valiant") < 0.85, "{}", at("valiant"));
    for name in ["ecmp", "ugal-g", "ugal-l"] {
        assert!(at(name) > 0.99, "{name} {}", at(name));
    }
}

/// Where ports pause each other, a full link at another router comes back to the one that decides: UGAL-L carries to the next
/// group what straight paths cannot, in hardly more time than the hosts take to offer it. Straight, each group's local
/// link waits for the next one's, around all groups: without virtual channels, a circle of pauses.
#[test]
fn pauses_tell_ugal_l_of_links_elsewhere() {
    let mut fabric = dragonfly(Buffer::UNLIMITED);
    let mut switches = SwitchSettings { shared: Some(SharedBuffer::default()), ..SwitchSettings::default() };
    switches.classes[Class::Data as usize].lossless = true;
    fabric.set_switches(Some(switches));
    let (frames, bps) = (6000, LINK_BPS * 2 / 5);
    let flows = to_the_next_group(frames);
    let at = |name: &str| {
        let balancing =
            Balancing { granularity: Granularity::Packet, ..registry::find(name).unwrap().balancing() };
        let settings = Settings { balancing, nic: Nic::FAIR, ..settings(udp(bps)) };
        simulate(&fabric, &flows, &settings, &Progress::default())
    };
    let deadlock = at("ecmp").unwrap_err();
    assert!(deadlock.problem.contains("deadlock") && deadlock.problem.contains("router8"), "{deadlock}");
    let outcome = at("ugal-l").unwrap();
    assert_eq!(outcome.totals.delivered_packets, outcome.totals.sent_packets);
    let offered_ps = frames as f64 * WIRE_BYTES as f64 * 8e12 / bps as f64;
    let last_ps = outcome.flows.iter().map(|flow| flow.fct_ps).max().unwrap() as f64;
    assert!((1.0..1.1).contains(&(last_ps / offered_ps)), "{last_ps} {offered_ps}");
}

/// A flow is on one path, unless packets are to choose each for itself; a flow that is alone has no reason for a detour.
#[test]
fn flows_keep_their_paths() {
    let fabric = dragonfly(Buffer::UNLIMITED);
    let flows = to_the_next_group(200);
    for name in ["valiant", "ugal-l", "ugal-g"] {
        let paths = |unit| -> Vec<u64> {
            let outcome = run_at(&fabric, &flows, name, unit, LINK_BPS);
            outcome.flows.iter().map(|flow| u64::from(flow.paths)).collect()
        };
        assert!(paths(Granularity::Flow).iter().all(|&paths| paths == 1), "{name}");
        assert!(paths(Granularity::Packet).iter().all(|&paths| paths > 2), "{name}");
    }
    for (name, detours) in [("valiant", 200), ("ugal-l", 0), ("ugal-g", 0)] {
        // So slow that the frame before has left.
        let outcome = run_at(&fabric, &flows[..1], name, Granularity::Packet, LINK_BPS / 20);
        assert_eq!(outcome.counts, [("packets that took a detour", detours)], "{name}");
    }
}

/// The link between two groups is dead, and later a router of a third: no packet is sent there once routing knows, and all that
/// are sent afterwards arrive.
#[test]
fn detours_leave_what_is_dead() {
    let fabric = dragonfly(Buffer::UNLIMITED);
    let router = |name: &str| (0..).zip(fabric.nodes()).find(|(_, node)| node.name == name).unwrap().0;
    let (ahead, lost) = (router("router0.0"), router("router5.1"));
    let dead =
        (0..).zip(fabric.ports()).find(|(_, port)| port.from == ahead && group(&fabric, port.to) == Some(1));
    let (dead, link) = dead.unwrap();
    let down = |what| Change { at_ps: 0, what };
    let changes =
        vec![down(What::PortDown(dead)), down(What::PortDown(link.reverse)), down(What::NodeDown(lost))];
    // From group 0 to group 1 alone.
    let flows: Vec<Flow> =
        (0..A * P).map(|host| flow(host, host + A * P, 200 * PAYLOAD_BYTES, PS_PER_US)).collect();
    for name in ["valiant", "ugal-l", "ugal-g"] {
        for unit in [Granularity::Flow, Granularity::Packet] {
            let balancing = Balancing { granularity: unit, ..registry::find(name).unwrap().balancing() };
            let settings = Settings { balancing, changes: changes.clone(), ..settings(udp(LINK_BPS / 10)) };
            let outcome = run(&fabric, &flows, &settings);
            assert_eq!(outcome.totals.delivered_packets, outcome.totals.sent_packets, "{name} {unit:?}");
        }
    }
}

/// Between two groups of three there are four links: a detour enters the third group by any of them, and crosses no other.
#[test]
fn several_links_between_two_groups_share_detours() {
    let link = LinkSettings { rate: Rate::from_bps(LINK_BPS).unwrap(), ..LinkSettings::default() };
    let fabric =
        Dragonfly { groups: 3, host_link: link, local_link: link, global_link: link, ..Dragonfly::default() };
    let fabric = fabric.build().unwrap();
    let flows: Vec<Flow> =
        (0..256).map(|number| flow(number % 8, 8 + number / 8 % 8, PAYLOAD_BYTES, 0)).collect();
    let outcome = run_at(&fabric, &flows, "valiant", Granularity::Flow, LINK_BPS / 100);
    let frames: Vec<u64> =
        frames_between(&fabric, &outcome, true).into_iter().filter(|&frames| frames > 0).collect();
    assert_eq!(frames.iter().sum::<u64>(), 2 * 256);
    // Four links from group 0 to 2 and four from 2 to 1: each has 64 on average.
    assert!(frames.len() == 8 && frames.iter().all(|&frames| frames > 20), "{frames:?}");
}

/// What leads by other leaves is refused where leaves are linked to spines alone.
#[test]
fn a_fabric_without_links_between_leaves_is_refused() {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    for name in ["valiant", "ugal-l", "ugal-g"] {
        let settings =
            Settings { balancing: registry::find(name).unwrap().balancing(), ..settings(udp(LINK_BPS)) };
        let error = simulate(&fabric, &[flow(0, 2, 1000, 0)], &settings, &Progress::default()).unwrap_err();
        assert!(error.problem.contains(name) && error.hint.contains("dragonfly"), "{error}");
    }
}

/// Three routers, each linked to the others, a host on each and one on two of them: its network card is no router to take a
/// detour by.
#[test]
fn detours_lead_by_no_network_card() {
    let node = |(name, tier): (&str, Option<Tier>)| GraphNode { name: name.to_owned(), tier, pod: None };
    let (host, router) = (Some(Tier::Host), Some(Tier::Leaf));
    let nodes =
        [("a", host), ("b", host), ("c", host), ("d", host), ("r0", router), ("r1", router), ("r2", router)];
    let ends = [(0, 4), (1, 5), (2, 6), (3, 4), (3, 6), (4, 5), (5, 6), (6, 4)];
    let settings_of = LinkSettings::default();
    let links = ends.map(|(a, b)| GraphLink { a, b, settings: settings_of, back: None });
    let fabric = Graph { nodes: nodes.map(node).to_vec(), links: links.to_vec() }.build().unwrap();
    let flows: Vec<Flow> = (0..50).map(|number| flow(0, 1, PAYLOAD_BYTES, number * PS_PER_US)).collect();
    let outcome = run_at(&fabric, &flows, "valiant", Granularity::Flow, LINK_BPS);
    assert_eq!(outcome.totals.flows_finished, 50);
    let sent = |from: &str, to: &str| -> u64 {
        let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
        let is_it = |port: &Port| (name(port.from), name(port.to)) == (from, to);
        let port = fabric.ports().iter().position(is_it).unwrap() as u32;
        outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_packets).sum()
    };
    assert_eq!((sent("r0", "d.nic"), sent("r0", "r2"), sent("r2", "r1")), (0, 50, 50));
}
