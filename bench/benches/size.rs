//! What size costs: of a fabric, building it, a packet-hop on it and a change of one of its links; of a run, a flow and
//! the memory of many.
//!
//! `cargo bench -p anabranch-bench --bench size` prints the tables of `bench/size.md`. Rounds of all rows take turns, and
//! each keeps its best. Time is the processor time of this thread, so that other programs on the machine do not count.

#![allow(clippy::print_stdout)] // What it is for.

use anabranch_balancers::simulate;
use anabranch_bench::processor_time;
use anabranch_fabric::{Change, What};
use anabranch_scenario::{Resolved, Scenario};
use anabranch_sim::{FlowRecord, FlowSink, HugePages, Progress, Totals};
use anabranch_traffic::{DrawnFlows, Flow, Start, Workload};
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

/// The allocator of the extension module.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

const ROUNDS: usize = 3;
const US: u64 = 1_000_000;

/// Fabrics with the time in which web-search flows arrive that load them to 0.6: some million packet-hops each.
const HOPS: &[(&str, &str, &str)] = &[
    ("leaf-spine 4x4x8", "leaves = 4\nspines = 4\nhosts_per_leaf = 8", "100 ms"),
    ("leaf-spine 16x16x16", "leaves = 16\nspines = 16\nhosts_per_leaf = 16", "10 ms"),
    ("fat-tree of 12 pods, 24 hosts a leaf", "kind = \"fat-tree\"\nk = 12\nhosts_per_leaf = 24", "5 ms"),
    ("fat-tree of 36 pods", "kind = \"fat-tree\"\nk = 36", "1 ms"),
];

/// Numbers of flows of 1 KB, the smallest first: what they leave of the heap the next ones use again.
const FLOWS: [u64; 3] = [100_000, 400_000, 1_600_000];

/// Fabrics whose links change.
const CHANGED: &[(&str, &str, usize)] = &[
    ("fat-tree of 12 pods, 24 hosts a leaf", "kind = \"fat-tree\"\nk = 12\nhosts_per_leaf = 24", 1000),
    ("fat-tree of 24 pods", "kind = \"fat-tree\"\nk = 24", 200),
];

fn resolved(fabric: &str, traffic: &str) -> Resolved {
    let text = format!(
        "name = \"size\"\n[fabric]\n{fabric}\n[transport]\nkind = \"dctcp\"\nack_every = 1\n[[traffic]]\n{traffic}\n"
    );
    let scenario = Scenario::parse(&text, "bench", &[]).expect("a scenario");
    scenario.resolve(Path::new("")).expect("a scenario that fits its fabric")
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = processor_time();
    work();
    (processor_time() - start).as_secs_f64()
}

/// A fabric, and its best rounds: all that comes before the first events, and a whole run.
struct Hops {
    name: &'static str,
    scenario: Resolved,
    flows: Vec<Flow>,
    totals: Totals,
    built_s: f64,
    run_s: f64,
}

impl Hops {
    fn new(&(name, fabric, duration): &(&'static str, &str, &str)) -> Self {
        let traffic = format!("sizes = \"web-search\"\nload = 0.6\nduration = \"{duration}\"");
        let scenario = resolved(fabric, &traffic);
        let flows = scenario.flows().expect("flows").iter().collect();
        Self { name, scenario, flows, totals: Totals::default(), built_s: f64::MAX, run_s: f64::MAX }
    }

    fn round(&mut self) {
        let (fabric, settings) = (self.scenario.fabric(), self.scenario.settings());
        let run =
            |progress: &Progress| simulate(fabric, &self.flows, settings, progress).expect("a simulation");
        let stopped = Progress::default();
        stopped.cancel();
        self.built_s = self.built_s.min(seconds(|| drop(run(&stopped))));
        self.run_s = self.run_s.min(seconds(|| self.totals = run(&Progress::default()).totals));
    }

    fn hop_ns(&self) -> f64 {
        (self.run_s - self.built_s) * 1e9 / self.totals.packet_hops as f64
    }
}

/// A fabric one of whose links goes down or comes back every microsecond, another one each time.
fn change_ms(&(_, fabric, count): &(&str, &str, usize)) -> f64 {
    let scenario = resolved(fabric, "sizes = \"1 KB\"\nflows = 2\nflows_per_s = 1");
    let fabric = scenario.fabric();
    let links: Vec<(u32, u32)> = (0..)
        .zip(fabric.ports())
        .filter(|(index, port)| port.from.min(port.to) >= fabric.hosts() && *index < port.reverse)
        .map(|(index, port)| (index, port.reverse))
        .collect();
    let run = |count: usize| {
        let mut settings = scenario.settings().clone();
        settings.changes = (0..count)
            .flat_map(|index| {
                // A step that shares no divisor with the number of links meets all of them.
                let (port, reverse) = links[index / 2 * 1009 % links.len()];
                let what = if index.is_multiple_of(2) { What::PortDown } else { What::PortUp };
                [port, reverse].map(|port| Change { at_ps: index as u64 * US, what: what(port) })
            })
            .collect();
        let last = Flow {
            start: Start::At(count as u64 * US),
            ..scenario.flows().expect("flows").iter().next().expect("a flow")
        };
        settings.end_ps = u64::MAX;
        seconds(|| drop(simulate(fabric, &[last], &settings, &Progress::default()).expect("a simulation")))
    };
    (run(count) - run(0)) * 1e3 / count as f64
}

/// Takes records of flows and keeps none.
#[derive(Debug)]
struct Nobody;

impl FlowSink for Nobody {
    fn write(&self, _: u32, _: &[FlowRecord]) -> io::Result<()> {
        Ok(())
    }
}

/// Short flows that come one after the other, and their best rounds.
struct Streamed {
    count: u64,
    from: &'static str,
    pass_s: f64,
    run_s: f64,
    /// Memory that the first run added to the process's own.
    added_bytes: u64,
}

impl Streamed {
    fn measured(scenario: &Resolved, flows: &DrawnFlows, from: &'static str) -> Self {
        let mut row =
            Self { count: flows.len() as u64, from, pass_s: f64::MAX, run_s: f64::MAX, added_bytes: 0 };
        for round in 0..ROUNDS {
            row.pass_s =
                row.pass_s.min(seconds(|| assert!(flows.iter().all(|flow| flow.size_bytes == 1000))));
            let progress = Progress::default();
            progress.send_flows_to(Arc::new(Nobody));
            fs::write("/proc/self/clear_refs", "5").expect("a peak that is measured anew");
            let before = resident_bytes("VmRSS");
            let simulated = || simulate(scenario.fabric(), flows, scenario.settings(), &progress);
            row.run_s = row.run_s.min(seconds(|| drop(simulated().expect("a simulation"))));
            if round == 0 {
                row.added_bytes = resident_bytes("VmHWM").saturating_sub(before);
            }
        }
        row
    }

    /// Poisson arrivals, and the same flows in a list that is given.
    fn both(count: u64) -> [Self; 2] {
        let traffic = format!(
            "sizes = \"1 KB\"\nload = 0.3\nflows = {count}\ntransport = {{ kind = \"dctcp\", handshake = false }}"
        );
        let scenario = resolved(HOPS[0].1, &traffic);
        let drawn = scenario.flows().expect("flows");
        let given = Workload::Given(Arc::new(drawn.iter().collect()));
        let listed = DrawnFlows::of(&[given], scenario.fabric(), 1).expect("flows");
        [Self::measured(&scenario, &drawn, "Poisson arrivals"), Self::measured(&scenario, &listed, "a list")]
    }
}

/// Memory of this process: `VmRSS` as it is, `VmHWM` at most since its peak was reset.
fn resident_bytes(what: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

fn main() {
    let streamed: Vec<Streamed> = FLOWS.into_iter().flat_map(Streamed::both).collect();
    let mut rows: Vec<Hops> = HOPS.iter().map(Hops::new).collect();
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Hops::round);
    }
    println!("| fabric | hosts | built in s | packet-hops (millions) | ns a packet-hop | ratio |");
    println!("|---|--:|--:|--:|--:|--:|");
    let least_ns = rows[0].hop_ns();
    for row in &rows {
        println!(
            "| {} | {} | {:.3} | {:.2} | {:.1} | {:.2} |",
            row.name,
            row.scenario.fabric().hosts(),
            row.built_s,
            row.totals.packet_hops as f64 / 1e6,
            row.hop_ns(),
            row.hop_ns() / least_ns
        );
    }
    println!("\n| fabric | changes of a link | ms a change |");
    println!("|---|--:|--:|");
    for row in CHANGED {
        let least_ms = (0..ROUNDS).map(|_| change_ms(row)).fold(f64::MAX, f64::min);
        println!("| {} | {} | {least_ms:.3} |", row.0, row.2);
    }
    println!("\n| flows of 1 KB | from | ns a flow drawn | ns a flow simulated | MB added |");
    println!("|--:|---|--:|--:|--:|");
    for row in &streamed {
        let ns = |seconds: f64| seconds * 1e9 / row.count as f64;
        println!(
            "| {} | {} | {:.0} | {:.0} | {:.1} |",
            row.count,
            row.from,
            ns(row.pass_s),
            ns(row.run_s),
            row.added_bytes as f64 / 1e6
        );
    }
}
