//! Timeouts of UEC: queues that are long are no losses.

use super::*;
use anabranch_sim::transport::control::Law;
use anabranch_sim::transport::uec::Credits;

/// Everything arrives, and nothing was sent twice.
fn assert_sent_once(outcome: &anabranch_sim::Outcome) {
    for record in &outcome.flows {
        assert_ne!(record.fct_ps, u64::MAX, "{record:?}");
        assert_eq!((record.timeouts, record.retransmitted_packets), (0, 0), "{record:?}");
    }
}

/// A link falls to a tenth of its rate under an all-to-all: packets wait there for longer than the timeout of a whole fabric
/// would be, and the default knows it. `uet-htsim`'s own timeout sends again what waits, and does not come to an end.
#[test]
fn a_link_that_slows_loses_nothing() {
    let fabric = leaf_spine(2, 1, 4, TEN_GIG);
    let pairs = (0..8).flat_map(|from| (0..8).filter(move |&to| to != from).map(move |to| (from, to)));
    let flows: Vec<_> = pairs.map(|(from, to)| flow(from, to, 250_000, 0)).collect();
    let slow = Rate::from_bps(1_000_000_000).unwrap();
    let change = Change { at_ps: 20 * PS_PER_US, what: What::PortRate(uplink(2, 1, 4, 0, 0), slow) };
    let end_ps = 40_000 * PS_PER_US;
    let of =
        |uec| run(&fabric, &flows, &Settings { nic: Nic::RDMA, changes: vec![change], end_ps, ..over(uec) });
    assert_sent_once(&of(Uec::DEFAULT));
    let hasty = of(Uec { rto_ps: 100_656_000, ..Uec::DEFAULT });
    assert!(hasty.flows.iter().any(|record| record.timeouts > 0));
}

/// Links of 30 km, over each of which light takes 150 us: the default knows how long a round trip is. `uet-htsim`'s own
/// timeout sends each packet again before its answer can be there.
#[test]
fn a_long_way_loses_nothing() {
    let fabric = leaf_spine(2, 1, 1, Link { delay_ps: 150 * PS_PER_US, ..TEN_GIG });
    let flows = [flow(0, 1, 100_000, 0)];
    assert_sent_once(&run(&fabric, &flows, &over(Uec::DEFAULT)));
    let hasty = run(&fabric, &flows, &over(Uec { rto_ps: 100_656_000, ..Uec::DEFAULT }));
    assert!(hasty.flows[0].retransmitted_packets > 0);
}

/// Eight receivers grant one host their links' credit each, and its FIFO card holds what its own link cannot carry yet:
/// packets that have not left the host do not time out.
#[test]
fn what_waits_in_a_fifo_card_is_not_lost() {
    let fabric = leaf_spine(2, 1, 8, TEN_GIG);
    let flows: Vec<_> = (8..16).map(|to| flow(0, to, 1_000_000, 0)).collect();
    let uec = Uec { law: Law::None, credits: Some(Credits::DEFAULT), rto_ps: 100_656_000, ..Uec::DEFAULT };
    let mut fabrics = vec![fabric.clone(), fabric];
    // Ports with classes keep their queues before the line.
    fabrics[1].set_switches(Some(SwitchSettings::default()));
    for fabric in &fabrics {
        let outcome = run(fabric, &flows, &Settings { nic: Nic::FIFO, ..over(uec.clone()) });
        assert_sent_once(&outcome);
        let at_host = outcome.ports.iter().map(|record| record.backlog_max_bytes).max();
        assert!(at_host.unwrap_or(0) > 1_000_000, "{at_host:?}");
    }
}
