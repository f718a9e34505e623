//! Connections: new for each flow or used again; flows that wait for others; what observers see.

use super::setup::*;
use anabranch_balancers::{Granularity, Settings};
use anabranch_fabric::{Buffer, Fabric, Node, Port, Rate, Tier};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{FlowRecord, Kind, Nic, Observe};
use anabranch_traffic::{Flow, Start};

#[test]
fn a_persistent_connection_saves_the_handshake_and_keeps_its_window() {
    let fabric = leaf_spine(2, 1, 1, TEN_GIG);
    let size = 30 * 1448;
    let flows = [flow(0, 1, size, 0), flow(0, 1, size, 1000 * PS_PER_US), flow(1, 0, size, 2000 * PS_PER_US)];
    let run_with = |persistent| {
        let tcp = Tcp { handshake: true, persistent, ..Tcp::plain(Control::NewReno) };
        run(&fabric, &flows, &settings(Transport::Tcp(tcp)))
    };
    let fresh = run_with(false);
    assert_eq!(fresh.flows[0].fct_ps, fresh.flows[1].fct_ps);
    assert_eq!(fresh.totals.connections_peak, 1);
    let again = run_with(true);
    assert_eq!(again.flows[0].fct_ps, fresh.flows[0].fct_ps);
    // No handshake, and all 30 segments at once: the window had doubled to more.
    let path_ps = 4 * (1538 * 800 + PS_PER_US);
    assert_eq!(again.flows[1].fct_ps, path_ps + 29 * 1538 * 800);
    assert_eq!(
        again.flows[2].fct_ps, fresh.flows[2].fct_ps,
        "the other direction has a connection of its own"
    );
    for record in again.flows.iter().chain(&fresh.flows) {
        assert_eq!((record.sent_bytes, record.sent_packets), (size, 30));
    }
}

#[test]
fn a_busy_persistent_connection_is_not_shared() {
    let fabric = leaf_spine(2, 1, 1, TEN_GIG);
    let tcp = Tcp { persistent: true, ..Tcp::plain(Control::NewReno) };
    let flows = [flow(0, 1, 1_000_000, 0), flow(0, 1, 1_000_000, PS_PER_US)];
    let outcome = run(&fabric, &flows, &settings(Transport::Tcp(tcp)));
    assert_eq!(outcome.totals.connections_peak, 2);
    assert_eq!(outcome.totals.flows_finished, 2);
}

#[test]
fn a_flow_that_waits_begins_when_the_other_has_arrived() {
    let fabric = leaf_spine(2, 1, 1, TEN_GIG);
    let after = |flow: u32, delay_ps| Start::After { flow, delay_ps };
    let flows = [
        flow(0, 1, 50_000, 5),
        Flow { start: after(0, 0), ..flow(1, 0, 1000, 0) },
        Flow { start: after(1, 7_000), ..flow(0, 1, 1000, 0) },
        Flow { start: after(0, 9), ..flow(0, 1, 1, 0) },
    ];
    let outcome = run(&fabric, &flows, &settings(Transport::Tcp(Tcp::plain(Control::NewReno))));
    let end = |flow: usize| outcome.flows[flow].start_ps + outcome.flows[flow].fct_ps;
    assert_eq!(outcome.flows[1].start_ps, end(0));
    assert_eq!(outcome.flows[2].start_ps, end(1) + 7_000);
    assert_eq!(outcome.flows[3].start_ps, end(0) + 9);
    assert_eq!(outcome.totals.flows_finished, 4);
}

#[test]
fn captures_and_windows_show_what_happened() {
    let fabric = leaf_spine(2, 1, 1, TEN_GIG);
    let mut settings = settings(Transport::Tcp(Tcp { handshake: true, ..Tcp::plain(Control::NewReno) }));
    settings.observe = Observe {
        window_flows: vec![1],
        capture_ports: vec![0],
        capture_packets_max: 12,
        ..Observe::default()
    };
    let flows = [flow(0, 1, 30 * 1448, 0), flow(0, 1, 30 * 1448, 1000 * PS_PER_US)];
    let outcome = run(&fabric, &flows, &settings);
    assert_eq!(outcome.captures.len(), 12);
    let kinds: Vec<Kind> = outcome.captures.iter().map(|capture| capture.packet.kind).collect();
    assert_eq!(kinds[0], Kind::Syn);
    assert!(kinds[1..].iter().all(|&kind| kind == Kind::Data));
    // A segment every 1538 bytes once the connection is open.
    let times: Vec<u64> = outcome.captures.iter().map(|capture| capture.time_ps).collect();
    assert!(times[1..11].windows(2).all(|pair| pair[1] - pair[0] == 1538 * 800), "{times:?}");
    assert!(outcome.captures.iter().all(|capture| (capture.src, capture.flow) == (0, 0)));
    let mut windows: Vec<u64> =
        outcome.windows.iter().map(|sample| sample.window_bytes.unwrap() / 1448).collect();
    // The first window stands twice: its rate is known from the first round trip on.
    assert_eq!(outcome.windows.iter().take_while(|sample| sample.rate_bps.is_none()).count(), 1);
    windows.dedup();
    assert_eq!(windows.first(), Some(&10));
    assert!(windows.windows(2).all(|pair| pair[1] == pair[0] + 1), "slow start, ACK by ACK: {windows:?}");
    assert!(outcome.windows.iter().all(|sample| sample.flow == 1 && sample.time_ps >= 1000 * PS_PER_US));
}

/// Spraying reorders, so copies are sent and acknowledged late: an acknowledgement that comes when its flow has ended
/// must not end it once more, or two flows share the idle connection.
#[test]
fn a_late_acknowledgement_does_not_end_a_flow_twice() {
    let fabric = leaf_spine(4, 4, 1, TEN_GIG);
    for control in [Control::NewReno, Control::Dctcp { gain: 1.0 / 16.0 }] {
        let tcp = Tcp { persistent: true, ..Tcp::plain(control) };
        let mut settings = settings(Transport::Tcp(tcp));
        settings.balancing.granularity = Granularity::Packet;
        // A ring of four hosts, 40 rounds of 120 kB to the next.
        let flows: Vec<Flow> = (0..160)
            .map(|index| {
                let start = match index {
                    0..4 => Start::At(0),
                    _ => Start::After {
                        flow: index - 4 + u32::from(index % 4 == 0) * 3 - u32::from(index % 4 != 0),
                        delay_ps: 0,
                    },
                };
                Flow { start, ..flow(index % 4, (index + 1) % 4, 120_000, 0) }
            })
            .collect();
        let outcome = run(&fabric, &flows, &settings);
        assert_eq!(outcome.totals.flows_finished, 160, "{control:?}");
        for record in &outcome.flows {
            assert!(record.sent_bytes >= 120_000, "{control:?}: finished, but not sent: {record:?}");
        }
    }
}

/// A slot in the table of connections is used by 256 connections while copies of the first one's segments are still
/// under way: they must not be taken for the segments of the connection that has the slot then.
#[test]
fn late_packets_are_never_taken_for_another_connections() {
    const MS: u64 = 1000 * PS_PER_US;
    let nodes = (0..6).map(|host| (Tier::Host, format!("h{host}"))).chain([(Tier::Leaf, "leaf".to_owned())]);
    let nodes = nodes.map(|(tier, name)| Node { name, tier, pod: None }).collect();
    let delays_ps = [50 * MS, PS_PER_US, PS_PER_US, PS_PER_US, 100 * MS, PS_PER_US];
    let ports = (0u32..).zip(delays_ps).flat_map(|(host, delay_ps)| {
        let Link { rate_bps, buffer, marking, .. } = TEN_GIG;
        let rate = Rate::from_bps(rate_bps).unwrap();
        [(host, 6, 2 * host + 1), (6, host, 2 * host)].map(|(from, to, reverse)| Port {
            from,
            to,
            reverse,
            rate,
            delay_ps,
            cost: 1,
            buffer,
            marking,
        })
    });
    let fabric = Fabric::new(nodes, ports.collect()).unwrap();
    // A timeout far below the round trip: the first segment is sent again and again.
    let tcp = Tcp { rto_initial_ps: MS, rto_min_ps: MS, rto_max_ps: MS, ..Tcp::plain(Control::NewReno) };
    let mut flows = vec![flow(0, 1, 10 * 1448, 0), flow(2, 3, 1448, 110 * MS)];
    for awaited in 1..255 {
        let start = Start::After { flow: awaited, delay_ps: 50 * PS_PER_US };
        flows.push(Flow { start, ..flow(2, 3, 1448, 0) });
    }
    flows.push(Flow { start: Start::After { flow: 255, delay_ps: 50 * PS_PER_US }, ..flow(4, 5, 1448, 0) });
    let outcome = run(&fabric, &flows, &settings(Transport::Tcp(tcp)));
    assert_eq!(outcome.totals.connections_peak, 1, "all of them use one slot");
    let last = outcome.flows.last().unwrap();
    assert!(last.start_ps < 140 * MS, "copies of the first flow's segments arrive until then: {last:?}");
    assert!(last.fct_ps > 100 * MS, "the way alone takes longer: {last:?}");
}

/// In a crowd of connections the engine fetches ahead of time what it will need. That must change nothing: flows that
/// share no link with the crowd fare as if there were none, to the bit.
#[test]
fn a_crowd_elsewhere_changes_nothing() {
    const HOSTS_PER_LEAF: u32 = 6;
    let buffer = Buffer { bytes: u32::MAX, packets: 100 };
    let fabric = leaf_spine(2, 1, HOSTS_PER_LEAF, Link { buffer, ..TEN_GIG });
    let tcp = Tcp::plain(Control::NewReno);
    for nic in [Nic::FIFO, Nic::FAIR] {
        let settings = Settings { nic, ..settings(Transport::Tcp(tcp.clone())) };
        let few: Vec<_> =
            (0..40).map(|i| flow(i % 6, (i + 1 + i / 6 % 5) % 6, 1_000_000 + u64::from(i), 0)).collect();
        let alone = run(&fabric, &few, &settings);
        let crowd = (0..24_000).map(|i| {
            let (src, dst) = (i % HOSTS_PER_LEAF, (i + 1 + i / 6 % 5) % HOSTS_PER_LEAF);
            flow(HOSTS_PER_LEAF + src, HOSTS_PER_LEAF + dst, 8_000, 0)
        });
        let both = run(&fabric, &few.iter().copied().chain(crowd).collect::<Vec<_>>(), &settings);
        assert!(both.totals.connections_peak > 20_000 && both.totals.events > 1 << 18, "{:?}", both.totals);
        assert_eq!(both.flows[..few.len()], alone.flows);
        assert_eq!(both.totals.flows_finished, 24_040);
        assert!(both.totals.dropped_packets > 0);
        let unsettled = |flow: &FlowRecord| flow.sent_packets - flow.delivered_packets - flow.dropped_packets;
        assert!(both.flows.iter().map(unsettled).sum::<u64>() <= both.totals.packets_left);
    }
}
