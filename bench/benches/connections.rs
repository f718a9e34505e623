//! Cost of counting a packet: `cargo bench -p anabranch-bench --bench connections`.

use anabranch_split::FiveTuple;
use anabranch_traffic::{Connections, Direction, Headers, PacketRecord};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const FLOWS: u32 = 100_000;
const PACKETS: usize = 1_000_000;

/// Packets of 100,000 connections in a scattered order, every second one from the other end.
fn packets(six: bool) -> Vec<PacketRecord> {
    let tuple = |flow: u32| {
        let [_, a, b, c] = flow.to_be_bytes();
        let port = 1024 + (flow % 60_000) as u16;
        if six {
            let wide = |end| [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, end, a, b, c];
            FiveTuple::v6(wide(1), wide(2), 6, port, 443)
        } else {
            FiveTuple::v4([10, a, b, c], [192, 0, 2, 1], 6, port, 443)
        }
    };
    (0..PACKETS as u64)
        .map(|i| {
            let scattered = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let tuple = tuple(((scattered * u64::from(FLOWS)) >> 32) as u32);
            let tuple = if i % 2 == 0 { tuple } else { tuple.reversed() };
            PacketRecord { time_ns: i, bytes: 1500, tuple, headers: Headers::default() }
        })
        .collect()
}

fn observe(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("observe");
    group.throughput(Throughput::Elements(PACKETS as u64)).sample_size(20);
    for (name, six) in [("ipv4", false), ("ipv6", true)] {
        let packets = packets(six);
        for (label, direction) in [("conversation", Direction::Conversation), ("each", Direction::Each)] {
            let mut table = Connections::new(direction);
            group.bench_function(format!("{name}/{label}"), |bencher| {
                let mut indexes = Vec::with_capacity(PACKETS);
                bencher.iter(|| {
                    indexes.clear();
                    table.observe_all(black_box(&packets), &mut indexes);
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, observe);
criterion_main!(benches);
