//! MP-RDMA in the engine: paths carry what they deliver.

use super::setup::*;
use anabranch_balancers::{Balancing, Scheme, Settings, mp_rdma, registry};
use anabranch_fabric::{Buffer, Change, Marking, Rate, What};
use anabranch_sim::Nic;
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::roce::{Completion, Recovery, Roce};

/// Share of a flow's bytes that leave by the uplink that has a tenth of its rate, one of four, and the time it takes.
fn on_the_slow_uplink(scheme: Scheme) -> (f64, u64) {
    let marking = Marking::Ramp { low_bytes: 20_000, high_bytes: 80_000, probability: 1.0 };
    let link = Link { rate_bps: 100_000_000_000, marking, buffer: Buffer::UNLIMITED, ..TEN_GIG };
    let fabric = leaf_spine(2, 4, 1, link);
    let slow = uplink(2, 4, 1, 0, 0);
    let rate = Rate::from_bps(10_000_000_000).unwrap();
    let roce = Roce {
        recovery: Recovery::Selective { rto_low_ps: 10_000 * PS_PER_US },
        rto_ps: 10_000 * PS_PER_US,
        completion: Completion::Delivered,
        ..Roce::plain()
    };
    let settings = Settings {
        balancing: Balancing { scheme, ..Balancing::ECMP },
        nic: Nic::FAIR,
        changes: vec![Change { at_ps: 0, what: What::PortRate(slow, rate) }],
        ..settings(Transport::Roce(roce))
    };
    let outcome = run(&fabric, &[flow(0, 1, 10_000_000, 0)], &settings);
    let sent = |port: u32| {
        outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_bytes).sum::<u64>()
    };
    let all: u64 = (0..4).map(|spine| sent(uplink(2, 4, 1, 0, spine))).sum();
    assert_eq!(outcome.flows[0].received_bytes, 10_000_000);
    (sent(slow) as f64 / all as f64, outcome.flows[0].fct_ps)
}

#[test]
fn a_slow_path_gets_what_it_delivers() {
    let (spread, spread_ps) = on_the_slow_uplink(registry::find("uec-oblivious").unwrap().balancing().scheme);
    let (clocked, clocked_ps) = on_the_slow_uplink(Scheme::new(mp_rdma::pick::Parameters::DEFAULT));
    assert!((0.2..0.3).contains(&spread), "{spread}");
    assert!(clocked < 0.4 * spread, "{clocked} instead of {spread}");
    assert!(2 * clocked_ps < spread_ps, "{clocked_ps} instead of {spread_ps} ps");
}
