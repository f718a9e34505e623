//! ARS: load leaves what is slow nearby, and a switch does not see further.

use super::setup::*;
use anabranch_balancers::Scheme;
use anabranch_balancers::ars::load::Profile;
use anabranch_balancers::ars::pick::{Mode, Parameters};

/// Flowlets leave a slow path also because its flows pause; flows that are assigned once do not, so that they show what a
/// switch sees. By number a quarter of them is the slow path's.
#[test]
fn a_slow_uplink_is_left_and_a_slow_link_beyond_the_spine_is_not_seen() {
    let near = ("leaf0", "spine0");
    for mode in [Mode::FlowletQuality, Mode::Fixed] {
        let ars = Scheme::new(Parameters { mode, ..Parameters::default() });
        let (ecmp, own) = (share(Scheme::TABLES, near), share(ars, near));
        assert!(own < 0.6 * ecmp, "{mode:?}: {own} instead of {ecmp}");
    }
    let fixed = Parameters { mode: Mode::Fixed, ..Parameters::default() };
    let own = share(Scheme::new(fixed), ("spine0", "leaf3"));
    assert!(own > 0.2, "{own}");
}

/// Packets overtake where each chooses by itself, and never where a flow has its port for ever.
#[test]
fn every_setting_runs_and_modes_reorder_as_they_should() {
    let fabric = leaf_spine();
    let flows = web_search(&fabric, 0.5, 80, 5);
    let default = Parameters::default();
    let mut means = Vec::new();
    for mode in Mode::ALL {
        let outcome = run(&fabric, &flows, &settings(Scheme::new(Parameters { mode, ..default })));
        let reordered: u64 = outcome.flows.iter().map(|flow| flow.reordered_packets).sum();
        match mode {
            Mode::Fixed => assert_eq!(reordered, 0),
            Mode::PacketQuality | Mode::PacketRandom => assert!(reordered > 1000, "{mode:?}: {reordered}"),
            Mode::FlowletQuality | Mode::FlowletRandom => {}
        }
        means.push(mean_fct_us(&outcome));
    }
    let profile = Profile::default();
    for parameters in [
        Parameters { idle_ns: 50_000, ..default },
        Parameters { flows: 0, ..default },
        Parameters { profile: Profile { sampling_ns: 4_000, ..profile }, ..default },
        Parameters { profile: Profile { past_weight: 2, future_weight: 2, ..profile }, ..default },
        Parameters { profile: Profile { current: true, ..profile }, ..default },
        Parameters { profile: Profile { past_share: 0.0, ..profile }, ..default },
        Parameters { profile: Profile { past_min: 0.3, past_max: 0.5, ..profile }, ..default },
    ] {
        means.push(mean_fct_us(&run(&fabric, &flows, &settings(Scheme::new(parameters)))));
    }
    let all = means.len();
    means.sort_by(f64::total_cmp);
    means.dedup();
    assert_eq!(means.len(), all, "every setting makes a difference: {means:?}");
}

/// A table of one entry is one flow: all that leaf 0 sends to leaf 3 goes by one spine.
#[test]
fn flows_that_share_an_entry_share_its_port() {
    let fabric = leaf_spine();
    let flows: Vec<_> = (0..4).map(|host| flow(host, 12 + host, 1_000_000, 0)).collect();
    let spines = |entries| {
        let parameters = Parameters { mode: Mode::Fixed, flows: entries, ..Parameters::default() };
        let outcome = run(&fabric, &flows, &settings(Scheme::new(parameters)));
        let up = |spine| sent_bytes(&outcome, port(&fabric, "leaf0", &format!("spine{spine}")));
        (0..4).filter(|&spine| up(spine) > 100_000).count()
    };
    assert_eq!(spines(1), 1);
    assert!(spines(0) > 1);
}
