//! Behaviour that all congestion controls share.

use super::setup::*;
use anabranch_balancers::Scheme;
use anabranch_fabric::What;
use anabranch_sim::Outcome;

/// A number that changes with any field of any record.
fn digest(outcome: &Outcome) -> u64 {
    let text = format!("{:?}{:?}{:?}", outcome.flows, outcome.ports, outcome.totals);
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn nobody_loses_to_ecmp_where_all_paths_are_alike() {
    let fabric = leaf_spine();
    for scheme in schemes() {
        let (mut own, mut ecmp) = (0.0, 0.0);
        for seed in 1..=3 {
            let flows = web_search(&fabric, 0.6, 600, seed);
            own += mean_fct_us(&run(&fabric, &flows, &settings(scheme.clone())));
            ecmp += mean_fct_us(&run(&fabric, &flows, &settings(Scheme::TABLES)));
        }
        assert!(own <= ecmp, "{scheme:?}: {own} instead of {ecmp} us over three runs");
    }
}

#[test]
fn the_same_run_twice_and_another_seed() {
    let fabric = fat_tree();
    let flows = web_search(&fabric, 0.5, 60, 1);
    for scheme in &schemes()[1..] {
        let mut settings = settings(scheme.clone());
        let first = digest(&run(&fabric, &flows, &settings));
        assert_eq!(first, digest(&run(&fabric, &flows, &settings)), "{scheme:?}");
        settings.seed = 2;
        assert_ne!(first, digest(&run(&fabric, &flows, &settings)), "{scheme:?}");
    }
    let fabric = leaf_spine();
    let flows = web_search(&fabric, 0.5, 60, 1);
    let settings = settings(Scheme::new(anabranch_balancers::conga::pick::Parameters::default()));
    assert_eq!(digest(&run(&fabric, &flows, &settings)), digest(&run(&fabric, &flows, &settings)));
}

#[test]
fn a_link_dies_and_all_flows_finish() {
    let mut lost = 0;
    for (fabric, from, to) in [(leaf_spine(), "leaf0", "spine1"), (leaf_spine(), "spine2", "leaf3")] {
        for scheme in schemes() {
            for routing_delay_us in [0, 3_000] {
                let mut settings = settings(scheme.clone());
                settings.changes = both(&fabric, 1_000, port(&fabric, from, to), What::PortDown).to_vec();
                settings.routing_delay_ps = routing_delay_us * PS_PER_US;
                let outcome = run(&fabric, &web_search(&fabric, 0.5, 150, 3), &settings);
                mean_fct_us(&outcome);
                lost += outcome.totals.lost_packets;
            }
        }
    }
    assert!(lost > 100, "{lost}: the links carried little when they died");
    let fabric = fat_tree();
    for scheme in &schemes()[1..] {
        let mut settings = settings(scheme.clone());
        let first = fabric.hosts();
        let core = fabric.nodes().len() as u32 - 1;
        settings.changes = both(&fabric, 1_000, fabric.ports_of(core)[0], What::PortDown).to_vec();
        let uplink = fabric.ports_of(first)[fabric.ports_of(first).len() - 1];
        settings.changes.extend(both(&fabric, 1_500, uplink, What::PortDown));
        settings.changes.extend(both(&fabric, 4_000, uplink, What::PortUp));
        settings.routing_delay_ps = 500 * PS_PER_US;
        mean_fct_us(&run(&fabric, &web_search(&fabric, 0.5, 150, 3), &settings));
    }
}

/// While a link of a pod is dead, its pod's other aggregation is reached by way of another leaf, whose list of next hops
/// keeps the first one without a weight: labels must not lead there.
#[test]
fn a_detour_inside_a_pod_is_no_circle() {
    let fabric = fat_tree();
    for scheme in &schemes()[1..] {
        let mut settings = settings(scheme.clone());
        let link = port(&fabric, "leaf2", "agg1.0");
        settings.changes = both(&fabric, 700, link, What::PortDown).to_vec();
        // Hosts 4 and 5 are leaf 2's; the others fill its links. The last flow makes it a long time.
        let mut flows: Vec<_> = (8..16).map(|src| flow(src, 4 + src % 2, 3_000_000, 0)).collect();
        flows.push(flow(0, 1, 1000, 500_000));
        mean_fct_us(&run(&fabric, &flows, &settings));
    }
}

#[test]
fn a_spine_dies_and_returns() {
    let fabric = leaf_spine();
    let spine = fabric.nodes().iter().position(|node| node.name == "spine0").unwrap() as u32;
    for scheme in schemes() {
        let mut settings = settings(scheme.clone());
        settings.routing_delay_ps = 100 * PS_PER_US;
        settings.changes = [(1_000, What::NodeDown(spine)), (3_000, What::NodeUp(spine))]
            .map(|(at_us, what)| anabranch_fabric::Change { at_ps: at_us * PS_PER_US, what })
            .to_vec();
        mean_fct_us(&run(&fabric, &web_search(&fabric, 0.5, 200, 4), &settings));
    }
}
