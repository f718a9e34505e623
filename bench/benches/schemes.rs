//! Cost of each load balancer to the engine: packet-hops per second beside ECMP's, probes counted, in one run.
//!
//! `cargo bench -p anabranch-bench --bench schemes` prints the table of `bench/schemes.md`. Rounds of all schemes take
//! turns, and each keeps its best. Time is the processor time of this thread, so that other programs on the machine do
//! not count.

#![allow(clippy::print_stdout)] // What it is for.

use anabranch_balancers::simulate;
use anabranch_bench::processor_time;
use anabranch_scenario::{Entry, Resolved, Scenario, TRANSPORT, catalogue};
use anabranch_sim::Progress;
use anabranch_traffic::Flow;
use std::path::Path;

/// Leaf-spine of 32 hosts under web-search flows at 0.6; TCP tolerates reordering, so that all schemes carry the same
/// load.
const SCENARIO: &str = r#"
name = "cost"
[fabric]
kind = "leaf-spine"
leaves = 4
spines = 4
hosts_per_leaf = 8
[[traffic]]
sizes = "web-search"
pattern = "inter-rack"
load = 0.6
duration = "20 ms"
[transport]
kind = "dctcp"
ack_every = 1
dup_ack_threshold = 300
[stop]
at = "200 ms"
"#;

const ROUNDS: usize = 5;

/// Running simulation of a scheme, and its best rate.
struct Runner {
    name: &'static str,
    scenario: Resolved,
    flows: Vec<Flow>,
    hops: u64,
    best_hops_per_s: f64,
}

impl Runner {
    fn new(&Entry { key, name, .. }: &Entry) -> Self {
        let mut overrides = vec![(key.to_owned(), name.to_owned())];
        if key == TRANSPORT {
            // Each of its connections keeps to one path.
            overrides.push(("transport.dup_ack_threshold".to_owned(), "3".to_owned()));
        }
        let scenario = Scenario::parse(SCENARIO, "bench", &overrides).expect("a scenario");
        let scenario = scenario.resolve(Path::new("")).expect("a scenario that fits its fabric");
        let flows = scenario.flows().expect("flows").iter().collect();
        Self { name, scenario, flows, hops: 0, best_hops_per_s: 0.0 }
    }

    fn round(&mut self) {
        let start = processor_time();
        let (fabric, settings) = (self.scenario.fabric(), self.scenario.settings());
        let outcome = simulate(fabric, &self.flows, settings, &Progress::default()).expect("a simulation");
        self.hops = outcome.totals.packet_hops;
        self.best_hops_per_s =
            self.best_hops_per_s.max(self.hops as f64 / (processor_time() - start).as_secs_f64());
    }
}

fn main() {
    let mut runners: Vec<Runner> = catalogue().iter().map(Runner::new).collect();
    for _ in 0..ROUNDS {
        runners.iter_mut().for_each(Runner::round);
    }
    let ecmp = runners.iter().find(|runner| runner.name == "ecmp").expect("the yardstick").best_hops_per_s;
    println!("| balance | packet-hops (millions) | millions a second | times ECMP's cost per hop |");
    println!("|---|--:|--:|--:|");
    for Runner { name, hops, best_hops_per_s, .. } in &runners {
        let (hops, speed, cost) = (*hops as f64 / 1e6, best_hops_per_s / 1e6, ecmp / best_hops_per_s);
        println!("| {name} | {hops:.2} | {speed:.1} | {cost:.2} |");
    }
}
