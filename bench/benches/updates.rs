//! Time to re-plan a group of eight paths when one weight changes, back and forth.

use anabranch_bench::group;
use anabranch_split::technique::TECHNIQUES;
use anabranch_split::{Granularity, Group, Members, Parameters, Weights};
use criterion::{Criterion, criterion_group, criterion_main};

fn updates(criterion: &mut Criterion) {
    let Ok(before) = group(8) else { return };
    let mut weights = before.weights().as_slice().to_vec();
    weights[3] += 10;
    let Ok(after) = Weights::new(weights).map(Members::all_up) else { return };
    let mut benches = criterion.benchmark_group("update");
    for row in TECHNIQUES.iter().filter(|row| row.granularity == Granularity::Stateless) {
        let Ok(group) = Group::new(row.name, &before, &Parameters::default()) else { continue };
        let mut turn = [&before, &after].into_iter().cycle();
        benches.bench_function(row.name, |b| b.iter(|| turn.next().map(|members| group.update(members))));
    }
}

criterion_group!(benches, updates);
criterion_main!(benches);
