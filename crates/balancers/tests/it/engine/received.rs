//! Payload that applications have received: by the end, and from a time on.

use super::setup::*;
use anabranch_fabric::Rate;
use anabranch_sim::transport::{Control, Mptcp, Pace, Tcp, Transport};
use anabranch_traffic::Flow;

const MSS: u64 = 1448;

fn plain() -> Tcp {
    Tcp::plain(Control::NewReno)
}

#[test]
fn flows_that_end_have_all_and_others_what_came_in_order() {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let mptcp = Mptcp { tcp: plain(), subflows: 3, ..Mptcp::plain() };
    for transport in [Transport::Tcp(plain()), Transport::Mptcp(mptcp), udp(5_000_000_000)] {
        let mut settings = settings(transport.clone());
        settings.end_ps = 1_000 * PS_PER_US;
        let outcome = run(&fabric, &[flow(0, 2, 100_000, 0), flow(1, 3, 1 << 30, 0)], &settings);
        assert_eq!(outcome.flows[0].received_bytes, 100_000, "{transport:?}");
        // Without loss and reordering all that was delivered is in order.
        let [_, going] = outcome.flows[..] else { panic!() };
        assert!(going.received_bytes > 300_000 && going.fct_ps == u64::MAX, "{transport:?}");
        let overtook = if matches!(transport, Transport::Mptcp(_)) { 100 * MSS } else { 0 };
        let missing = going.delivered_bytes - going.received_bytes;
        assert!(missing <= overtook, "{transport:?}: {missing}");
    }
}

#[test]
fn what_came_before_a_time_is_left_out() {
    let rate_bps = 1_000_000_000;
    let pace = Pace { rate: Rate::from_bps(rate_bps).unwrap(), burst_bytes: MSS };
    let mut settings = settings(Transport::Tcp(Tcp { pace: Some(pace), ..plain() }));
    // A window that leaves the other flows' acknowledgements some room.
    let small = Tcp { window_max_bytes: 100_000, ..plain() };
    settings.transports.push(Transport::Mptcp(Mptcp { tcp: small, subflows: 2, ..Mptcp::plain() }));
    settings.observe.omit_ps = 1_000 * PS_PER_US;
    settings.end_ps = 4_000 * PS_PER_US;
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let flows = [
        flow(0, 2, 10_000_000, 0),
        flow(1, 3, 100_000, 0),
        flow(1, 3, 100_000, 2_000 * PS_PER_US),
        Flow { transport: 1, ..flow(3, 1, 100_000, 0) },
        Flow { transport: 1, ..flow(3, 1, 1 << 30, 0) },
    ];
    let outcome = run(&fabric, &flows, &settings);
    let received: Vec<_> = outcome.flows.iter().map(|record| record.received_bytes).collect();
    assert!(received[0].abs_diff(3 * rate_bps / 8_000) <= MSS, "{received:?}");
    assert_eq!(received[1..4], [0, 100_000, 0], "over before, begun after, over before");
    let most = 3 * 10_000_000_000 / 8_000;
    assert!((most * 9 / 10..most).contains(&received[4]), "{received:?}");
    // Nothing else changes.
    settings.observe.omit_ps = 0;
    let whole = run(&fabric, &flows, &settings);
    for (with, without) in outcome.flows.iter().zip(&whole.flows) {
        let same = anabranch_sim::FlowRecord { received_bytes: without.received_bytes, ..*with };
        assert_eq!(same, *without);
    }
}
