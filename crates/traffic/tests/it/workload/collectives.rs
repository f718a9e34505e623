//! All-reduce and parameter servers: volumes and dependencies.

use super::setup::leaf_spine;
use anabranch_traffic::workload::{ParameterServer, RingAllReduce};
use anabranch_traffic::{Flow, Start, Workload};
use proptest::prelude::*;

/// Bytes of ResNet-50: 25,557,032 parameters of four bytes.
const RESNET_50: u64 = 102_228_128;

fn ring(workers: Vec<u32>, bytes: u64, iterations: u32) -> Vec<Flow> {
    let ring = RingAllReduce { workers, bytes, iterations, compute_ps: 7, start_ps: 3, transport: 0 };
    Workload::RingAllReduce(ring).flows(&leaf_spine(), 1).unwrap()
}

#[test]
fn a_ring_of_four_sends_what_the_formula_says() {
    let flows = ring(vec![0, 8, 16, 24], RESNET_50, 1);
    assert_eq!(flows.len(), 24);
    assert!(flows.iter().all(|flow| flow.size_bytes == 25_557_032));
    let sent: u64 = flows.iter().filter(|flow| flow.src == 8).map(|flow| flow.size_bytes).sum();
    assert_eq!(sent, 153_342_192);
    assert_eq!(flows.iter().filter(|flow| flow.start == Start::At(3)).count(), 4);
}

proptest! {
    /// Plays the collective: a flow carries its chunk from a worker that has it. After N - 1 steps every chunk is
    /// summed at some worker, after 2 (N - 1) every worker has every sum.
    #[test]
    fn chunks_travel_around_the_ring(n in 2usize..9, bytes in 1000u64..100_000, iterations in 1u32..4) {
        let workers: Vec<u32> = (0..n as u32).map(|i| i * 3 + 1).collect();
        let flows = ring(workers, bytes, iterations);
        let steps = 2 * (n - 1);
        prop_assert_eq!(flows.len(), steps * n * iterations as usize);
        for (i, flow) in flows.iter().enumerate() {
            let (iteration, step) = (i / (steps * n), i / n % steps);
            prop_assert_eq!(flow.job, Some(iteration as u32));
            match flow.start {
                Start::Ready { .. } => panic!("{flow:?} is no message of a graph"),
                Start::At(at_ps) => prop_assert_eq!((i < n, at_ps), (true, 3)),
                Start::After { flow: awaited, delay_ps } => {
                    let awaited = awaited as usize;
                    // It came to this worker in the step before, and if no new iteration began, it is the same chunk.
                    prop_assert_eq!(flows[awaited].dst, flow.src);
                    prop_assert_eq!(awaited / n, i / n - 1);
                    prop_assert_eq!(delay_ps, if step == 0 { 7 } else { 0 });
                    if step > 0 {
                        prop_assert_eq!(flows[awaited].size_bytes, flow.size_bytes);
                    }
                }
                Start::AfterJob { .. } => prop_assert!(false),
            }
        }
        for step in flows.chunks(n) {
            prop_assert_eq!(step.iter().map(|flow| flow.size_bytes).sum::<u64>(), bytes);
        }
    }
}

fn parameter_server(workers: Vec<u32>, servers: Vec<u32>, iterations: u32) -> Vec<Flow> {
    let servers = ParameterServer {
        workers,
        servers,
        bytes: RESNET_50,
        iterations,
        compute_ps: 11,
        start_ps: 5,
        transport: 0,
    };
    Workload::ParameterServer(servers).flows(&leaf_spine(), 1).unwrap()
}

/// Compares with VALO's trace: 4 workers and 4 servers, 16 pushes and 16 pulls of 25.6 MB.
#[test]
fn four_workers_and_four_servers_push_and_pull() {
    let flows = parameter_server(vec![0, 1, 2, 3], vec![8, 9, 10, 11], 2);
    assert_eq!(flows.len(), 64);
    assert!(flows.iter().all(|flow| flow.size_bytes == 25_557_032));
    for (i, flow) in flows.iter().enumerate() {
        let (iteration, push) = (i / 32, i % 32 < 16);
        assert_eq!(push, flow.src < 4);
        let server = (if push { flow.dst } else { flow.src }) - 8;
        let pulls = iteration as u32 * 5 + 4;
        match flow.start {
            Start::Ready { .. } => panic!("{flow:?} is no message of a graph"),
            Start::At(at_ps) => assert_eq!((i < 16, at_ps), (true, 5)),
            Start::AfterJob { job, delay_ps } if push => assert_eq!((job, delay_ps), (4, 11)),
            Start::AfterJob { job, delay_ps } => {
                assert_eq!((job, delay_ps), (iteration as u32 * 5 + server, 0));
                let awaited: Vec<_> = flows.iter().filter(|other| other.job == Some(job)).collect();
                // All four pushes to this server.
                assert_eq!(awaited.len(), 4);
                assert!(awaited.iter().all(|push| push.dst == flow.src));
            }
            Start::After { .. } => panic!("{flow:?}"),
        }
        assert_eq!(flow.job, Some(if push { iteration as u32 * 5 + server } else { pulls }));
    }
}

#[test]
fn parts_differ_by_at_most_a_byte_and_lose_none() {
    let flows = parameter_server(vec![0], vec![1, 2, 3], 1);
    let sizes: Vec<u64> = flows[..3].iter().map(|flow| flow.size_bytes).collect();
    assert_eq!(sizes.iter().sum::<u64>(), RESNET_50);
    assert!(sizes.iter().all(|size| size.abs_diff(RESNET_50 / 3) <= 1), "{sizes:?}");
}

#[test]
fn impossible_collectives_are_refused() {
    let fabric = leaf_spine();
    let ring = |workers, bytes, iterations| {
        let ring = RingAllReduce { workers, bytes, iterations, compute_ps: 0, start_ps: 0, transport: 0 };
        Workload::RingAllReduce(ring).flows(&fabric, 1).unwrap_err().to_string()
    };
    assert!(ring(vec![1], 10, 1).contains("workers: a ring of 1;"));
    assert!(ring(vec![1, 1], 10, 1).contains("host 1"));
    assert!(ring(vec![1, 32], 10, 1).contains("host 32"));
    assert!(ring(vec![1, 2, 3], 2, 1).contains("2 bytes in 3 parts"));
    assert!(ring(vec![1, 2], 10, 0).contains("iterations: 0;"));
    let both = ParameterServer {
        workers: vec![0, 1],
        servers: vec![1, 2],
        bytes: 10,
        iterations: 1,
        compute_ps: 0,
        start_ps: 0,
        transport: 0,
    };
    let error = Workload::ParameterServer(both).flows(&fabric, 1).unwrap_err().to_string();
    assert!(error.contains("servers: host 1") && error.contains("each once"), "{error}");
}
