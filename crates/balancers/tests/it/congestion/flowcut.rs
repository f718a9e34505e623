//! Flowcut: nothing overtakes, and yet slow links are left.

use super::setup::*;
use anabranch_balancers::flowcut::pick::Parameters;
use anabranch_balancers::{Balancing, Granularity, Scheme, Settings};
use anabranch_fabric::{Fabric, What};
use anabranch_sim::Outcome;

fn reordered(outcome: &Outcome) -> u64 {
    outcome.flows.iter().map(|flow| flow.reordered_packets).sum()
}

/// A fabric in which one link has a tenth of its rate, at a load that it cannot carry.
fn degraded(fabric: &Fabric, scheme: Scheme, link: u32) -> Settings {
    Settings {
        changes: both(fabric, 0, link, |port| What::PortRate(port, gigabit())).to_vec(),
        ..settings(scheme)
    }
}

/// Flowlets overtake by the thousand; Flowcut's packets never do, with draining and without, on two tiers and on three.
#[test]
fn nothing_overtakes_and_slow_links_are_left() {
    for (fabric, slow) in [(leaf_spine(), ("leaf0", "spine0")), (fat_tree(), ("leaf0", "agg0.0"))] {
        let link = port(&fabric, slow.0, slow.1);
        let flows = web_search(&fabric, 0.4, 500, 2);
        let mean = |settings: &Settings| {
            let outcome = run(&fabric, &flows, settings);
            (mean_fct_us(&outcome), reordered(&outcome))
        };
        let default = Parameters::default();
        let (drained_us, drained) = mean(&degraded(&fabric, Scheme::new(default), link));
        let kept = Parameters { drain: false, ..default };
        let (_, kept) = mean(&degraded(&fabric, Scheme::new(kept), link));
        let (ecmp_us, _) = mean(&degraded(&fabric, Scheme::TABLES, link));
        let flowlets = Balancing { granularity: Granularity::Flowlet { gap_ns: 20_000 }, ..Balancing::ECMP };
        let (_, letflow) = mean(&Settings { balancing: flowlets, ..degraded(&fabric, Scheme::TABLES, link) });
        assert_eq!((drained, kept), (0, 0));
        assert!(letflow > 1000, "{letflow}");
        assert!(drained_us < 0.8 * ecmp_us, "{drained_us} instead of {ecmp_us} us");
    }
}

/// One flow of 20 MB, whose uplink falls to a tenth after 1 ms: a window never pauses, so that only draining moves it. 16 ms
/// at the full rate, 161 ms at the tenth.
#[test]
fn draining_moves_a_flow_that_never_pauses() {
    let fabric = leaf_spine();
    let flows = [flow(0, 12, 20_000_000, 0)];
    let took_us = |parameters| {
        let mut settings = settings(Scheme::new(parameters));
        let path = |outcome: &Outcome| {
            let up = |spine| sent_bytes(outcome, port(&fabric, "leaf0", &format!("spine{spine}")));
            (0..4).max_by_key(|&spine| up(spine)).unwrap()
        };
        let spine = path(&run(&fabric, &flows, &settings));
        let link = port(&fabric, "leaf0", &format!("spine{spine}"));
        settings.changes = both(&fabric, 1_000, link, |port| What::PortRate(port, gigabit())).to_vec();
        let outcome = run(&fabric, &flows, &settings);
        assert_eq!(reordered(&outcome), 0);
        mean_fct_us(&outcome)
    };
    let default = Parameters::default();
    let (drained_us, kept_us) = (took_us(default), took_us(Parameters { drain: false, ..default }));
    assert!(kept_us > 140_000.0, "{kept_us}");
    assert!(drained_us < 50_000.0, "{drained_us}");
}
