//! Schemes of sending hosts on any fabric, whatever fails: every flow ends, and no packet is lost unaccounted.

use super::host_schemes::ALL;
use super::setup::*;
use anabranch_fabric::topology::{FatTree, Vl2};
use anabranch_fabric::{Change, Fabric, Rate, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;
use proptest::prelude::*;

fn fabric(kind: u8) -> Fabric {
    match kind {
        0 => leaf_spine(3, 3, 4, TEN_GIG),
        1 => FatTree { k: 4, ..FatTree::default() }.build().unwrap(),
        _ => Vl2::default().build().unwrap(),
    }
}

/// Both directions of a link between switches, by a number that chooses it.
fn link(fabric: &Fabric, number: usize) -> [u32; 2] {
    let between_switches = |port: &u32| {
        let port = &fabric.ports()[*port as usize];
        port.from >= fabric.hosts() && port.to >= fabric.hosts()
    };
    let ports: Vec<u32> = (0..fabric.ports().len() as u32).filter(between_switches).collect();
    let port = ports[number % ports.len()];
    [port, fabric.ports()[port as usize].reverse]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn every_flow_ends_whatever_link_dies(
        kind in 0u8..3,
        scheme in prop::sample::select(ALL.to_vec()),
        seed in any::<u64>(),
        rows in prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..400_000, 0u64..300), 1..20),
        (dies, slows, returns) in (any::<usize>(), any::<usize>(), any::<bool>()),
        (rack, handshake, persistent, ack_every) in (any::<bool>(), any::<bool>(), any::<bool>(), 1u32..4),
    ) {
        let fabric = fabric(kind);
        let hosts = fabric.hosts();
        let flows: Vec<Flow> = rows
            .into_iter()
            .map(|(src, step, size, start_us)| {
                let src = src % hosts;
                flow(src, (src + 1 + step % (hosts - 1)) % hosts, size, start_us * PS_PER_US)
            })
            .collect();
        let plain = Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 });
        let ack_delay_ps = 100 * PS_PER_US;
        let tcp = Tcp { rack, handshake, persistent, ack_every, ack_delay_ps, ..plain };
        let mut settings = settings(Transport::Tcp(tcp));
        settings.seed = seed;
        settings.balancing.scheme = scheme;
        settings.routing_delay_ps = 200 * PS_PER_US;
        settings.end_ps = 60_000_000 * PS_PER_US;
        let slow = Rate::from_bps(1_000_000_000).unwrap();
        for port in link(&fabric, dies) {
            settings.changes.push(Change { at_ps: 100 * PS_PER_US, what: What::PortDown(port) });
            if returns {
                settings.changes.push(Change { at_ps: 700 * PS_PER_US, what: What::PortUp(port) });
            }
        }
        for port in link(&fabric, slows) {
            settings.changes.push(Change { at_ps: 50 * PS_PER_US, what: What::PortRate(port, slow) });
        }
        let outcome = run(&fabric, &flows, &settings);
        let totals = outcome.totals;
        prop_assert_eq!(totals.flows_finished, flows.len() as u64);
        let ended = totals.delivered_packets + totals.dropped_packets + totals.lost_packets;
        prop_assert_eq!(ended + totals.packets_left, totals.sent_packets);
        let again = run(&fabric, &flows, &settings);
        prop_assert_eq!((again.flows, again.ports), (outcome.flows, outcome.ports));
    }
}
