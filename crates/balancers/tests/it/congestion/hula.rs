//! HULA: probes reach everyone once, cost what they should, and load leaves what is slow.

use super::setup::*;
use anabranch_balancers::Scheme;
use anabranch_balancers::hula::pick::Parameters;
use anabranch_fabric::{Fabric, What};

/// Frames on each port of an idle fabric in ten periods.
fn probes(fabric: &Fabric) -> Vec<u64> {
    let mut settings = settings(Scheme::new(Parameters::default()));
    settings.end_ps = 2_000 * PS_PER_US;
    // It starts when the run ends.
    let outcome = run(fabric, &[flow(0, fabric.hosts() - 1, 1, 3_000)], &settings);
    outcome.ports.iter().map(|record| record.sent_packets).collect()
}

#[test]
fn every_link_carries_one_probe_a_period_of_each_leaf_behind_it() {
    let fabric = leaf_spine();
    let sent = probes(&fabric);
    let up = port(&fabric, "leaf0", "spine0") as usize;
    assert_eq!(sent[up], 10, "a leaf's own");
    let down = port(&fabric, "spine0", "leaf0") as usize;
    assert_eq!(sent[down], 30, "those of the three others");
    let fabric = fat_tree();
    let sent = probes(&fabric);
    for (from, to, leaves) in [
        ("leaf0", "agg0.0", 1),
        ("agg0.0", "leaf0", 7),
        // Two leaves of its pod, and the six of the other pods.
        ("agg0.0", "core0", 2),
        ("core0", "agg0.0", 6),
    ] {
        assert_eq!(sent[port(&fabric, from, to) as usize], 10 * leaves, "{from}>{to}");
    }
    assert!(sent[..2 * fabric.hosts() as usize].iter().all(|&sent| sent == 0), "hosts get none");
}

#[test]
fn the_bytes_on_a_link_are_those_of_the_formula() {
    let fabric = leaf_spine();
    let parameters = Parameters { period_ns: 40_000, probe_bytes: 38, ..Parameters::default() };
    let mut settings = settings(Scheme::new(parameters));
    settings.end_ps = 4_000 * PS_PER_US;
    let outcome = run(&fabric, &[flow(0, 15, 1, 5_000)], &settings);
    let share = sent_bytes(&outcome, port(&fabric, "spine0", "leaf0")) as f64 * 8.0 / 0.004 / 1e10;
    let formula = parameters.overhead(3, 10_000_000_000);
    assert!((share / formula - 1.0).abs() < 0.02, "{share} instead of {formula}");
}

#[test]
fn a_slow_link_is_left_wherever_it_is() {
    let leaf_spine = leaf_spine();
    let fat_tree = fat_tree();
    for (fabric, slow, watched) in [
        (&leaf_spine, ("leaf0", "spine0"), ("leaf0", "spine0")),
        (&leaf_spine, ("spine0", "leaf3"), ("spine0", "leaf3")),
        (&fat_tree, ("leaf0", "agg0.0"), ("leaf0", "agg0.0")),
        (&fat_tree, ("agg0.0", "core0"), ("agg0.0", "core0")),
        (&fat_tree, ("core0", "agg3.0"), ("core0", "agg3.0")),
    ] {
        let bytes = |scheme| {
            let mut settings = settings(scheme);
            let link = port(fabric, slow.0, slow.1);
            settings.changes = both(fabric, 0, link, |port| What::PortRate(port, gigabit())).to_vec();
            let outcome = run(fabric, &web_search(fabric, 0.4, 400, 2), &settings);
            sent_bytes(&outcome, port(fabric, watched.0, watched.1)) as f64
        };
        let (ecmp, hula) = (bytes(Scheme::TABLES), bytes(Scheme::new(Parameters::default())));
        assert!(hula < 0.6 * ecmp, "{slow:?}: {hula} instead of {ecmp}");
    }
}
