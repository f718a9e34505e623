//! CONGA: load leaves what is slow, near or far, and the fabric must be one of leaves and spines.

use super::setup::*;
use anabranch_balancers::conga::pick::Parameters;
use anabranch_balancers::{Scheme, simulate};
use anabranch_sim::Progress;

#[test]
fn a_slow_uplink_is_left_and_so_is_a_slow_link_beyond_the_spine() {
    for slow in [("leaf0", "spine0"), ("spine0", "leaf3")] {
        let (ecmp, conga) = (share(Scheme::TABLES, slow), share(Scheme::new(Parameters::default()), slow));
        assert!(conga < 0.6 * ecmp, "{slow:?}: {conga} instead of {ecmp}");
    }
}

/// Where all data go one way, what is slow beyond the spines is heard of by acknowledgements alone.
#[test]
fn acknowledgements_bring_feedback_unless_they_take_no_part() {
    let slow = ("spine0", "leaf3");
    let [heard, deaf] = [false, true].map(|data_only| {
        share_among(Scheme::new(Parameters { data_only, ..Parameters::default() }), slow, &[(0, 3)])
    });
    assert!(heard < 0.6 * deaf, "{heard} and {deaf}");
}

#[test]
fn every_setting_runs() {
    let fabric = leaf_spine();
    let flows = web_search(&fabric, 0.5, 80, 5);
    let mut means = Vec::new();
    let default = Parameters::default();
    for parameters in [
        default,
        Parameters { candidates: 2, ..default },
        Parameters { candidates: 2, wrap: false, ..default },
        Parameters { data_only: true, ..default },
        Parameters { gap_ns: 13_000_000, ..default },
        Parameters { level_bits: 6, ..default },
        Parameters { own_rates: false, ..default },
        Parameters { period_ns: 50_000, age_ns: 500_000, ..default },
    ] {
        means.push(mean_fct_us(&run(&fabric, &flows, &settings(Scheme::new(parameters)))));
    }
    assert_eq!(means[0], means[6], "all rates are alike");
    means.sort_by(f64::total_cmp);
    means.dedup();
    assert_eq!(means.len(), 7, "every other setting makes a difference: {means:?}");
}

#[test]
fn three_tiers_are_refused() {
    let fabric = fat_tree();
    let settings = settings(Scheme::new(anabranch_balancers::conga::pick::Parameters::default()));
    let error = simulate(&fabric, &[flow(0, 5, 1, 0)], &settings, &Progress::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "routing.balance: conga, and a link from agg0.0 to core0, which is not one of leaf and spine; set fabric.kind = \
         \"leaf-spine\", or routing.balance = \"hula\", which knows three tiers too"
    );
}
