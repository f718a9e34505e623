//! Properties for all weights, and for whole simulations with a link that dies.

use anabranch_scenario::Scenario;
use anabranch_balancers::{Planned, simulate_with};
use anabranch_sim::Progress;
use anabranch_split::picks::mix;
use anabranch_split::{Env, Packet, capability, pick};
use blank_scheme::{BlankScheme, Parameters};
use proptest::prelude::*;
use std::path::Path;

const DRAWS: u32 = 20_000;

/// A switch with empty queues.
struct Empty(u32);

impl Env for Empty {
    const GIVES: u32 = capability::RANDOM | capability::BACKLOG;

    fn now_ns(&mut self) -> u64 {
        0
    }

    fn random_u32(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(1);
        mix::finalise(self.0)
    }
}

fn settings(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn weights() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0u64..100, 1..16).prop_filter("one must be positive", |weights| {
        weights.iter().any(|&w| w > 0)
    })
}

proptest! {
    #![proptest_config(settings(32))]

    /// Checks that equal queues give the weights as shares: within five standard deviations, and
    /// exactly none for zero.
    #[test]
    fn shares_follow_weights(weights in weights(), start: u32) {
        let plan = BlankScheme::plan(&Parameters::default(), &weights, None).unwrap();
        let mut env = Empty(start);
        let mut counts = vec![0u32; weights.len()];
        for _ in 0..DRAWS {
            let member = pick::<BlankScheme, _>(&plan, &mut (), &mut Packet::default(), &mut env);
            counts[usize::from(member)] += 1;
        }
        let sum: u64 = weights.iter().sum();
        for (&weight, &count) in weights.iter().zip(&counts) {
            let share = weight as f64 / sum as f64;
            let expected = f64::from(DRAWS) * share;
            let deviation = (expected * (1.0 - share)).sqrt();
            let off = (f64::from(count) - expected).abs();
            prop_assert!(off <= 5.0 * deviation, "{:?} got {:?}", weights, counts);
        }
    }
}

proptest! {
    #![proptest_config(settings(4))]

    /// A link dies in mid-run: every packet is accounted for, every flow ends, and the same seed
    /// gives the same run.
    #[test]
    fn a_run_survives_a_failure(
        seed in 1u32..1000,
        at_us in 1u32..2000,
        granularity in prop::sample::select(&["flow", "flowlet", "flowcell", "packet"]),
    ) {
        let text = format!(r#"
            seed = {seed}
            fabric = {{ kind = "leaf-spine", leaves = 2, spines = 3, hosts_per_leaf = 2 }}
            change = [{{ link = "leaf0-spine1", set = "down", at = "{at_us} us" }}]
            traffic = [{{ sizes = "web-search", load = 0.7, duration = "4 ms" }}]
            routing = {{ granularity = "{granularity}", delay = "20 us" }}
        "#);
        let scenario = Scenario::parse(&text, "failure.toml", &[]).unwrap();
        let scenario = scenario.resolve(Path::new("")).unwrap();
        let (fabric, flows) = (scenario.fabric(), scenario.flows().unwrap());
        let (own, settings) = (Parameters::default(), scenario.settings());
        let progress = Progress::default();
        let run = || simulate_with::<BlankScheme>(own, fabric, &flows, settings, &progress);
        let outcome = run().unwrap();
        let totals = outcome.totals;
        prop_assert_eq!(totals.flows_finished, flows.len() as u64);
        prop_assert_eq!(
            totals.sent_packets,
            totals.delivered_packets
                + totals.dropped_packets
                + totals.lost_packets
                + totals.packets_left
        );
        prop_assert_eq!(run().unwrap().flows, outcome.flows);
    }
}
