//! Packet-hops per second under the work that users have: short flows, many connections at once, and web search.
//!
//! `cargo bench -p anabranch-bench --bench workloads` prints the table of `bench/workloads.md`; names behind `--` choose
//! rows. Each row runs on the engine and on a bare event loop in turns, and keeps the best round of either. Time is the
//! processor time of this thread, so that other programs on the machine do not count.

#![allow(clippy::print_stdout)] // What it is for.

mod bare_loop;

use anabranch_balancers::simulate;
use anabranch_bench::processor_time;
use anabranch_scenario::{Resolved, Scenario};
use anabranch_sim::{HugePages, Progress, Totals};
use anabranch_traffic::Flow;
use std::path::Path;

/// The allocator of the extension module.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Rows: a name, and a scenario.
const ROWS: &[(&str, &str)] = &[
    (
        "web search, 4x4x8",
        r#"
name = "web-search"
[fabric]
leaves = 4
spines = 4
hosts_per_leaf = 8
[[traffic]]
sizes = "web-search"
load = 0.6
duration = "100 ms"
[transport]
kind = "dctcp"
ack_every = 1
"#,
    ),
    (
        "web search, 16x16x16",
        r#"
name = "web-search-256"
[fabric]
leaves = 16
spines = 16
hosts_per_leaf = 16
[[traffic]]
sizes = "web-search"
load = 0.6
duration = "10 ms"
[transport]
kind = "dctcp"
ack_every = 1
"#,
    ),
    (
        "400,000 flows of 1 KB",
        r#"
name = "short"
[fabric]
leaves = 4
spines = 4
hosts_per_leaf = 8
[[traffic]]
sizes = "1 KB"
flows_per_s = 20e6
duration = "20 ms"
[transport]
kind = "dctcp"
ack_every = 1
handshake = false
"#,
    ),
    (
        "all-to-all of 256 hosts",
        r#"
name = "all-to-all"
[fabric]
leaves = 16
spines = 16
hosts_per_leaf = 16
link = { rate = "100 Gbps" }
[[traffic]]
kind = "once"
pattern = "all-to-all"
sizes = "200 KB"
[routing]
balance = "spray"
[transport]
kind = "dctcp"
ack_every = 1
dup_ack_threshold = 300
"#,
    ),
];

const ROUNDS: usize = 3;

/// One row, and its best round.
struct Row {
    name: &'static str,
    scenario: Resolved,
    flows: Vec<Flow>,
    totals: Totals,
    least_s: f64,
    bare: bare_loop::Totals,
    bare_least_s: f64,
}

impl Row {
    fn new(&(name, text): &(&'static str, &str)) -> Self {
        let scenario = Scenario::parse(text, "bench", &[]).expect("a scenario");
        let scenario = scenario.resolve(Path::new("")).expect("a scenario that fits its fabric");
        let flows = scenario.flows().expect("flows").iter().collect();
        let (totals, bare) = (Totals::default(), bare_loop::Totals { packet_hops: 0, finished: 0 });
        Self { name, scenario, flows, totals, least_s: f64::INFINITY, bare, bare_least_s: f64::INFINITY }
    }

    fn round(&mut self) {
        let start = processor_time();
        let (fabric, settings) = (self.scenario.fabric(), self.scenario.settings());
        let outcome = simulate(fabric, &self.flows, settings, &Progress::default()).expect("a simulation");
        self.least_s = self.least_s.min((processor_time() - start).as_secs_f64());
        self.totals = outcome.totals;
        let start = processor_time();
        self.bare = bare_loop::run(fabric, &self.flows);
        self.bare_least_s = self.bare_least_s.min((processor_time() - start).as_secs_f64());
        assert_eq!(self.bare.finished, self.flows.len(), "the bare loop carries all flows");
    }
}

fn main() {
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_chosen = |name: &str| chosen.is_empty() || chosen.iter().any(|part| name.contains(part.as_str()));
    let mut rows: Vec<Row> = ROWS.iter().filter(|(name, _)| is_chosen(name)).map(Row::new).collect();
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Row::round);
    }
    println!(
        "| work | flows | at once | packet-hops (millions) | of the bare loop | millions a second | the bare loop | \
         ratio | ns a flow |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for Row { name, flows, totals, least_s, bare, bare_least_s, .. } in &rows {
        let Totals { packet_hops, connections_peak, .. } = totals;
        let (hops, bare_hops) = (*packet_hops as f64 / 1e6, bare.packet_hops as f64 / 1e6);
        let (speed, bare_speed) = (hops / least_s, bare_hops / bare_least_s);
        let (count, each_ns) = (flows.len(), least_s * 1e9 / flows.len() as f64);
        println!(
            "| {name} | {count} | {connections_peak} | {hops:.2} | {bare_hops:.2} | {speed:.1} | {bare_speed:.1} | {:.2} | \
             {each_ns:.0} |",
            speed / bare_speed
        );
    }
}
