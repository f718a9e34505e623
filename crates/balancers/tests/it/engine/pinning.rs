//! Flows pinned to paths take them, whatever the load balancer says.

use super::setup::*;
use anabranch_balancers::Granularity;
use anabranch_fabric::topology::FatTree;
use anabranch_fabric::{Change, What};
use anabranch_traffic::Flow;

#[test]
fn a_pinned_flow_takes_its_path_and_no_other() {
    let (leaves, spines, hosts) = (2, 4, 1);
    let fabric = leaf_spine(leaves, spines, hosts, TEN_GIG);
    let mut settings = settings(udp(10_000_000_000));
    settings.balancing.granularity = Granularity::Packet;
    for path in 0..6 {
        let outcome = run(&fabric, &[Flow { path: Some(path), ..flow(0, 1, 100_000, 0) }], &settings);
        for spine in 0..spines {
            let sent = outcome.ports[uplink(leaves, spines, hosts, 0, spine) as usize].sent_packets;
            assert_eq!(sent, if spine == path % spines { 70 } else { 0 }, "path {path}, spine {spine}");
        }
        assert_eq!(outcome.flows[0].paths, 1);
    }
}

#[test]
fn a_sprayed_flow_takes_all_of_them() {
    let fabric = leaf_spine(2, 4, 1, TEN_GIG);
    let mut settings = settings(udp(10_000_000_000));
    settings.balancing.granularity = Granularity::Packet;
    let outcome = run(&fabric, &[flow(0, 1, 1_000_000, 0)], &settings);
    assert_eq!(outcome.flows[0].paths, 4);
}

/// While a link is dead switches before it have more next hops than in the fabric as built. Labels count those of the
/// fabric as built: once the link is back they lead along the same paths.
#[test]
fn a_path_is_the_same_again_after_a_repair() {
    let fabric = FatTree { k: 4, hosts_per_leaf: 1, ..FatTree::default() }.build().unwrap();
    let node = |name: &str| fabric.nodes().iter().position(|node| node.name == name).unwrap() as u32;
    let (agg, leaf) = (node("agg1.0"), node("leaf3"));
    let port = (0..).zip(fabric.ports()).find(|(_, port)| (port.from, port.to) == (agg, leaf)).unwrap().0;
    let sent = |changes: Vec<Change>, path| {
        let mut settings = settings(udp(1_000_000_000));
        settings.changes = changes;
        let flows = [Flow { path: Some(path), ..flow(0, 3, 100_000, 1000 * PS_PER_US) }];
        let ports = run(&fabric, &flows, &settings).ports;
        ports.iter().map(|record| record.sent_packets).collect::<Vec<_>>()
    };
    for path in 0..4 {
        let at = |at_us: u64, what| Change { at_ps: at_us * PS_PER_US, what };
        let broken = vec![at(100, What::PortDown(port)), at(200, What::PortUp(port))];
        assert_eq!(sent(broken, path), sent(Vec::new(), path), "path {path}");
    }
}

#[test]
fn a_pinned_packet_leaves_a_path_that_routing_knows_to_be_dead() {
    let (leaves, spines, hosts) = (2, 2, 1);
    let fabric = leaf_spine(leaves, spines, hosts, TEN_GIG);
    let mut settings = settings(udp(10_000_000_000));
    // Spine 0 loses its link to leaf 1 and would know no way there but back by leaf 0.
    let dead = uplink(leaves, spines, hosts, 1, 0) + 1;
    settings.changes = vec![Change { at_ps: 0, what: What::PortDown(dead) }];
    let outcome = run(&fabric, &[Flow { path: Some(0), ..flow(0, 1, 100_000, PS_PER_US) }], &settings);
    assert_eq!(outcome.totals.flows_finished, 1);
    let sent = |spine| outcome.ports[uplink(leaves, spines, hosts, 0, spine) as usize].sent_packets;
    assert_eq!((sent(0), sent(1)), (0, 70));
}
