//! Connections: new for each flow or used again; flows that wait for others; what observers see.

use super::setup::*;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Kind, Observe};
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
    let windows: Vec<u64> = outcome.windows.iter().map(|sample| sample.window_bytes / 1448).collect();
    assert_eq!(windows.first(), Some(&10));
    assert!(windows.windows(2).all(|pair| pair[1] == pair[0] + 1), "slow start, ACK by ACK: {windows:?}");
    assert!(outcome.windows.iter().all(|sample| sample.flow == 1 && sample.time_ps >= 1000 * PS_PER_US));
}
