//! GLB: a leaf leaves a spine whose link down is slow, once that spine has said so.

use super::setup::*;
use anabranch_balancers::Scheme;
use anabranch_balancers::ars::{self, pick::Mode};
use anabranch_balancers::glb::pick::Parameters;

#[test]
fn a_slow_link_is_left_near_or_beyond_the_spine() {
    for slow in [("leaf0", "spine0"), ("spine0", "leaf3")] {
        let (ecmp, glb) = (share(Scheme::TABLES, slow), share(Scheme::new(Parameters::default()), slow));
        assert!(glb < 0.6 * ecmp, "{slow:?}: {glb} instead of {ecmp}");
    }
}

/// Without any message it is ARS: the same choices, to the bit. Flows that are assigned once and for all show what the first
/// switch knew.
#[test]
fn what_neighbours_say_counts_from_the_first_message_on() {
    let slow = ("spine0", "leaf3");
    let local = ars::pick::Parameters { mode: Mode::Fixed, ..ars::pick::Parameters::default() };
    let by_period = |period_ns| share(Scheme::new(Parameters { local, period_ns }), slow);
    let ars = share(Scheme::new(local), slow);
    assert_eq!(by_period(1_000_000_000_000).to_bits(), ars.to_bits());
    let glb = by_period(50_000);
    assert!(glb < 0.5 * ars, "{glb} instead of {ars}");
}

/// On three tiers leaves hear of the links between aggregation and core; all flows finish, with messages of 64 bytes.
#[test]
fn three_tiers_are_taken_and_messages_cost_what_they_should() {
    let fabric = fat_tree();
    let flows = web_search(&fabric, 0.5, 60, 1);
    let mean_us = |scheme| mean_fct_us(&run(&fabric, &flows, &settings(scheme)));
    let (glb, ecmp) = (mean_us(Scheme::new(Parameters::default())), mean_us(Scheme::TABLES));
    assert!(glb < ecmp, "{glb} instead of {ecmp} us");
    // 4 pods have 2 * 2 links inside and 2 * 2 to the core each: in each round a message goes by both directions of 32.
    let outcome = run(&fabric, &[flow(0, 15, 1_000_000, 0)], &settings(Scheme::new(Parameters::default())));
    let length_ps: u64 =
        outcome.ports.iter().filter(|record| record.port == 0).map(|record| record.length_ps).sum();
    let rounds = length_ps / (50 * PS_PER_US);
    let sent = outcome.counts.iter().find(|(name, _)| *name == "probes sent").map(|&(_, sent)| sent);
    assert_eq!(sent, Some(rounds * 64));
}
