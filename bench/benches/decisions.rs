//! Nanoseconds per decision of every stateless technique, in batch, on one core.

use anabranch_bench::{FLOWS, flow_keys, group};
use anabranch_split::technique::TECHNIQUES;
use anabranch_split::{Batch, Granularity, Group, Parameters};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn decisions(criterion: &mut Criterion) {
    let flows = flow_keys(FLOWS);
    let mut out = vec![0; FLOWS];
    let variants = TECHNIQUES
        .iter()
        .filter(|row| row.granularity == Granularity::Stateless)
        .map(|row| (row.name, row.name.to_string(), Parameters::default()))
        .chain([
            ("min-move", "min-move 4096".to_string(), Parameters::new([("slots", "4096")])),
            (
                "log-rendezvous",
                "log-rendezvous portable".to_string(),
                Parameters::new([("code", "portable")]),
            ),
        ]);
    let mut benches = criterion.benchmark_group("decision");
    benches.throughput(Throughput::Elements(FLOWS as u64));
    for (name, label, parameters) in variants {
        for paths in [2, 8, 64] {
            // A technique may refuse a group (too many slots): then there is no cost to measure.
            let Ok(group) = group(paths).and_then(|members| Group::new(name, &members, &parameters)) else {
                continue;
            };
            benches.bench_function(BenchmarkId::new(&label, paths), |b| {
                b.iter(|| group.pick_batch(&Batch::of_flows(&flows), &mut out));
            });
        }
    }
}

criterion_group!(benches, decisions);
criterion_main!(benches);
