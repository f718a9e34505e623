//! ConWeave: hosts see the order of one path though flows take several, and load leaves what is slow.

use super::setup::*;
use anabranch_balancers::conweave::pick::Parameters;
use anabranch_balancers::{Scheme, Settings};
use anabranch_fabric::What;

fn settings_of(parameters: Parameters) -> Settings {
    settings(Scheme::new(parameters))
}

#[test]
fn flows_take_many_paths_in_order() {
    for fabric in [leaf_spine(), fat_tree()] {
        let flows = web_search(&fabric, 0.6, 300, 6);
        let outcome = run(&fabric, &flows, &settings_of(Parameters::default()));
        mean_fct_us(&outcome);
        let sum = |count: fn(&anabranch_sim::FlowRecord) -> u64| outcome.flows.iter().map(count).sum::<u64>();
        let (packets, reordered) = (sum(|flow| flow.sent_packets), sum(|flow| flow.reordered_packets));
        let rerouted = outcome.flows.iter().filter(|flow| flow.paths > 1).count();
        assert!(rerouted > 50, "{rerouted} of 300 flows took more than one path");
        assert!(reordered * 500 < packets, "{reordered} of {packets} packets out of order");
        // Without the holding, what is rerouted overtakes.
        let impatient = Parameters { extra_hold_ns: 0, default_hold_ns: 0, ..Parameters::default() };
        let outcome = run(&fabric, &flows, &settings_of(impatient));
        let hasty: u64 = outcome.flows.iter().map(|flow| flow.reordered_packets).sum();
        assert!(hasty > 2 * reordered, "{hasty} instead of {reordered}");
    }
}

#[test]
fn a_slow_link_is_left() {
    let fabric = leaf_spine();
    for slow in [("leaf0", "spine0"), ("spine0", "leaf3")] {
        let watched = port(&fabric, slow.0, slow.1);
        let bytes = |scheme| {
            let mut settings = settings(scheme);
            settings.changes = both(&fabric, 0, watched, |port| What::PortRate(port, gigabit())).to_vec();
            let outcome = run(&fabric, &web_search(&fabric, 0.4, 400, 2), &settings);
            sent_bytes(&outcome, watched) as f64
        };
        let (ecmp, own) = (bytes(Scheme::TABLES), bytes(Scheme::new(Parameters::default())));
        assert!(own < 0.8 * ecmp, "{slow:?}: {own} instead of {ecmp}");
    }
}

#[test]
fn control_packets_are_packets() {
    let fabric = leaf_spine();
    // A flow of one packet asks once. Another, inside the rack, keeps the run going until all has come back.
    let flows = [flow(0, 15, 1000, 0), flow(12, 13, 1000, 1000)];
    let outcome = run(&fabric, &flows, &settings_of(Parameters::default()));
    let back: u64 =
        (0..4).map(|spine| sent_bytes(&outcome, port(&fabric, "leaf3", &format!("spine{spine}")))).sum();
    assert_eq!(back, 64 + 70, "a reply and an acknowledgement");
}
