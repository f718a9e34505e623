//! Nothing is lost unaccounted: what hosts sent was delivered, dropped, lost or is still on its way, at any time.

use super::setup::*;
use anabranch_balancers::{Granularity, Table};
use anabranch_fabric::{Buffer, Change, What};
use anabranch_sim::transport::{Control, Coupling, Mptcp, Tcp, Transport};
use anabranch_sim::{Nic, Observe, Outcome};
use anabranch_traffic::{Flow, Start};
use proptest::prelude::*;

const LEAVES: u32 = 3;
const SPINES: u32 = 2;
const HOSTS_PER_LEAF: u32 = 2;
const HOSTS: u32 = LEAVES * HOSTS_PER_LEAF;

/// Sums one count over the records of some ports.
fn sum(outcome: &Outcome, ports: impl Fn(u32) -> bool, count: fn(&anabranch_sim::PortRecord) -> u64) -> u64 {
    outcome.ports.iter().filter(|record| ports(record.port)).map(count).sum()
}

fn gone(totals: &anabranch_sim::Totals) -> u64 {
    totals.dropped_packets + totals.lost_packets
}

fn flows() -> impl Strategy<Value = Vec<Flow>> {
    prop::collection::vec((0..HOSTS, 1..HOSTS, 1u64..300_000, 0u64..200), 1..25).prop_map(|rows| {
        rows.into_iter()
            .map(|(src, step, size, start_us)| flow(src, (src + step) % HOSTS, size, start_us * PS_PER_US))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn hops_add_up_at_any_time(
        flows in flows(),
        buffer_packets in 4u32..60,
        end_us in 20u64..2_000,
        spray in any::<bool>(),
        fail in any::<bool>(),
        interval_us in 0u64..100,
        fair in any::<bool>(),
        transport in 0..4,
    ) {
        let link = Link { buffer: Buffer { bytes: u32::MAX, packets: buffer_packets }, ..TEN_GIG };
        let fabric = leaf_spine(LEAVES, SPINES, HOSTS_PER_LEAF, link);
        let tcp = Tcp::plain(Control::NewReno);
        let mut settings = settings(match transport {
            0 => Transport::Tcp(tcp),
            1 => Transport::Tcp(Tcp { persistent: true, ..tcp }),
            2 => Transport::Mptcp(Mptcp { tcp, subflows: 3, coupling: Coupling::Lia }),
            _ => udp(10_000_000_000),
        });
        settings.end_ps = end_us * PS_PER_US;
        settings.nic = if fair { Nic::FAIR } else { Nic::FIFO };
        settings.observe = Observe { interval_ps: interval_us * PS_PER_US, ..Observe::default() };
        if spray {
            settings.balancing.granularity = Granularity::Packet;
        }
        if fail {
            let port = uplink(LEAVES, SPINES, HOSTS_PER_LEAF, 0, 0);
            settings.changes = vec![
                Change { at_ps: 50 * PS_PER_US, what: What::PortDown(port) },
                Change { at_ps: 150 * PS_PER_US, what: What::PortUp(port) },
            ];
            settings.routing_delay_ps = 30 * PS_PER_US;
        }
        let outcome = run(&fabric, &flows, &settings);
        let totals = outcome.totals;
        prop_assert_eq!(totals.packet_hops, sum(&outcome, |_| true, |r| r.sent_packets));
        prop_assert_eq!(
            totals.sent_packets,
            totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left
        );
        // Hosts send by even ports below 2 * HOSTS; a frame that such a port took has begun, or still waits there.
        let begun = sum(&outcome, |port| port < 2 * HOSTS && port.is_multiple_of(2), |r| r.sent_packets);
        prop_assert!(begun <= totals.sent_packets && totals.sent_packets <= begun + totals.packets_left + gone(&totals));
        let finished = outcome.flows.iter().filter(|record| record.fct_ps != u64::MAX).count() as u64;
        prop_assert_eq!(finished, totals.flows_finished);
        let mut left = 0;
        for (flow, record) in flows.iter().zip(&outcome.flows) {
            if record.fct_ps != u64::MAX {
                prop_assert!(record.sent_bytes >= flow.size_bytes);
                prop_assert!(record.delivered_bytes >= flow.size_bytes);
            }
            let known = record.delivered_packets + record.dropped_packets + record.lost_packets;
            prop_assert!(known <= record.sent_packets, "{:?}", record);
            left += record.sent_packets - known;
            let known = record.delivered_bytes + record.dropped_bytes + record.lost_bytes;
            prop_assert!(known <= record.sent_bytes, "{:?}", record);
        }
        prop_assert!(left <= totals.packets_left, "{} left of {}", left, totals.packets_left);
    }

    /// With nothing in the way every flow ends, every segment arrives once, and nothing is left but the last
    /// acknowledgements.
    #[test]
    fn an_endless_buffer_loses_nothing(flows in flows(), packet_level in any::<bool>()) {
        let fabric = leaf_spine(LEAVES, SPINES, HOSTS_PER_LEAF, TEN_GIG);
        let mut settings = settings(Transport::Tcp(Tcp::plain(Control::NewReno)));
        settings.balancing.table = Table::Turns { block: false };
        settings.balancing.granularity = Granularity::Packet;
        if !packet_level {
            settings.balancing.table = Table::Uniform;
            settings.balancing.granularity = Granularity::Flow;
        }
        let outcome = run(&fabric, &flows, &settings);
        prop_assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
        prop_assert_eq!(outcome.totals.dropped_packets + outcome.totals.lost_packets, 0);
        for (flow, record) in flows.iter().zip(&outcome.flows) {
            prop_assert!(record.reordered_packets == 0 || packet_level);
            if record.retransmitted_packets == 0 {
                prop_assert_eq!(record.sent_bytes, flow.size_bytes);
            }
        }
    }
}

/// A frame that is lost in the picosecond in which the last interval and the run end.
#[test]
fn what_happens_in_the_last_picosecond_counts() {
    let fabric = leaf_spine(2, 1, 1, TEN_GIG);
    let mut settings = settings(udp(10_000_000_000));
    settings.changes = vec![Change { at_ps: 0, what: What::PortLoss(0, 1.0) }];
    let arrives_ps = 1538 * 800 + PS_PER_US;
    settings.end_ps = arrives_ps;
    settings.observe.interval_ps = arrives_ps;
    let outcome = run(&fabric, &[flow(0, 1, 1448, 0)], &settings);
    let totals = outcome.totals;
    assert_eq!((totals.sent_packets, totals.lost_packets, totals.packets_left), (1, 1, 0), "{totals:?}");
    assert_eq!(sum(&outcome, |port| port == 0, |record| record.lost_packets), 1);
}

/// A flow that can no longer finish, as datagrams are not sent again, does not keep the run going, and what waits for
/// it never begins.
#[test]
fn a_run_ends_when_no_flow_can_finish_any_more() {
    let fabric = leaf_spine(2, 1, 2, TEN_GIG);
    let mut settings = settings(udp(10_000_000_000));
    settings.changes = vec![Change { at_ps: 0, what: What::PortLoss(0, 1.0) }];
    settings.end_ps = 10_000_000 * PS_PER_US;
    settings.observe.interval_ps = 1_000 * PS_PER_US;
    let waits = Flow { start: Start::After { flow: 0, delay_ps: 0 }, ..flow(1, 3, 1448, 0) };
    let outcome = run(&fabric, &[flow(0, 2, 14_480, 0), waits, flow(1, 3, 14_480, 0)], &settings);
    assert_eq!(outcome.totals.flows_finished, 1);
    assert!(outcome.totals.end_ps < 100 * PS_PER_US, "{:?}", outcome.totals);
    assert_eq!(outcome.ports.len(), fabric.ports().len());
    assert_eq!(outcome.flows[1].start_ps, u64::MAX);
}

/// A sender goes on trying to reach a dead host for 10 s. Intervals in which no packet is anywhere are joined: few
/// records, which cover all of the time and count everything.
#[test]
fn silence_is_one_interval() {
    let fabric = leaf_spine(2, 1, 2, TEN_GIG);
    let mut settings = settings(Transport::Tcp(Tcp::plain(Control::NewReno)));
    settings.changes = vec![Change { at_ps: 0, what: What::NodeDown(3) }];
    settings.end_ps = 10_000_000 * PS_PER_US;
    settings.observe.interval_ps = 1_000 * PS_PER_US;
    let outcome = run(&fabric, &[flow(0, 3, 14_480, 0), flow(1, 2, 14_480, 0)], &settings);
    let (ports, rows) = (fabric.ports().len(), outcome.ports.len());
    let tries = u64::from(outcome.flows[0].timeouts) + 1;
    assert!(tries > 10 && (rows / ports) as u64 <= 2 * tries + 1, "{rows} rows, {tries} tries");
    assert_eq!(outcome.totals.end_ps, settings.end_ps);
    let mut next_ps = vec![0; ports];
    for record in &outcome.ports {
        assert_eq!(record.start_ps, next_ps[record.port as usize]);
        next_ps[record.port as usize] += record.length_ps;
    }
    assert!(next_ps.iter().all(|&end_ps| end_ps == settings.end_ps), "{next_ps:?}");
    let totals = outcome.totals;
    assert_eq!(totals.packet_hops, sum(&outcome, |_| true, |record| record.sent_packets));
    assert_eq!(totals.sent_packets, totals.delivered_packets + totals.lost_packets);
    let first_hop = sum(&outcome, |port| port == 0, |record| record.sent_packets);
    assert_eq!(first_hop, outcome.flows[0].sent_packets);
}
