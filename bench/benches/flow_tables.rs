//! Nanoseconds per packet of the techniques that remember flows: a known flow (hit), and a new one (insert) in a table
//! that has its size and its memory already, as it has in a running switch.

use anabranch_bench::{flow_keys, group};
use anabranch_split::apportion::quotas;
use anabranch_split::picks::deficit::{Plan, State};
use anabranch_split::picks::{Deficit, FlowTable, each};
use anabranch_split::{Batch, Group, Parameters, Still};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const PATHS: usize = 8;
const FLOWS: [usize; 4] = [1_000, 40_000, 120_000, 1_000_000];

fn hits(criterion: &mut Criterion) {
    for (name, parameters) in [
        ("wrr", Parameters::default()),
        ("deficit", Parameters::new([("idle_timeout_ms", "0")])),
        ("deficit", Parameters::default()),
        ("hash-exceptions", Parameters::default()),
    ] {
        let label = if parameters.is_empty() { name.to_string() } else { format!("{name} without a clock") };
        let mut benches = criterion.benchmark_group(label);
        for flows in FLOWS {
            let Ok(group) = group(PATHS).and_then(|members| Group::new(name, &members, &parameters)) else {
                continue;
            };
            let keys = flow_keys(flows);
            let mut out = vec![0; flows];
            group.pick_batch(&Batch::of_flows(&keys), &mut out);
            benches.throughput(Throughput::Elements(flows as u64));
            benches.bench_function(BenchmarkId::new("hit", flows), |b| {
                b.iter(|| group.pick_batch(&Batch::of_flows(&keys), &mut out));
            });
        }
    }
}

fn inserts(criterion: &mut Criterion) {
    type Pick = Deficit<Vec<u64>, FlowTable<()>, Vec<u32>>;
    let Ok(members) = group(PATHS) else { return };
    let plan = Plan { periods: quotas::periods(&members.effective()), idle_ns: 0 };
    let mut benches = criterion.benchmark_group("deficit without a clock");
    for flows in FLOWS {
        let keys = flow_keys(flows);
        let mut out = vec![0; flows];
        let empty = State { flows: FlowTable::<()>::with_capacity(flows), active: vec![0; PATHS], total: 0 };
        benches.throughput(Throughput::Elements(flows as u64));
        benches.bench_function(BenchmarkId::new("insert", flows), |b| {
            // A copy has its pages in memory.
            let pick = |state: &mut State<_, _>| each::<Pick, _>(&plan, state, &mut Still, &keys, &mut out);
            b.iter_batched_ref(|| empty.clone(), pick, BatchSize::LargeInput);
        });
    }
}

criterion_group!(benches, hits, inserts);
criterion_main!(benches);
