//! Computing: durations, rooflines, streams and threads.

use super::*;
use anabranch_work::Accelerator;

/// An A100: 312 TFLOPS in bfloat16, 2 TB/s.
const A100: Accelerator = Accelerator { flops: 312_000_000_000_000, memory_bytes_per_s: 2_000_000_000_000 };

fn accelerated() -> Context {
    Context { accelerator: Some(A100), ..Context::default() }
}

fn operations(kind: u64, id: u64, us: u64, operations: u64, bytes: u64) -> Vec<u8> {
    node(kind, id, &[], us, &[("num_ops", operations), ("tensor_size", bytes)])
}

/// The longer of operations / flops and bytes / bandwidth.
#[test]
fn operations_and_bytes_take_the_time_of_a_roofline() {
    let time_ps = |node| end_ps(&graph_of(&[vec![node]], &accelerated()).unwrap());
    // 10^15 / 312 * 10^12 = 3.205128205128 s of computing, 0.5 ms of moving.
    assert_eq!(time_ps(operations(4, 1, 0, 1_000_000_000_000_000, 1_000_000_000)), 3_205_128_205_128);
    // 10^9 B / 2 TB/s = 500 us of moving, 3.2 us of computing.
    assert_eq!(time_ps(operations(4, 1, 0, 1_000_000_000, 1_000_000_000)), 500_000_000);
    // Both alike at 156 operations a byte.
    assert_eq!(time_ps(operations(4, 1, 0, 156_000_000, 1_000_000)), 500_000);
    assert_eq!(
        time_ps(operations(4, 1, 0, 156_000_000, 1_000_001)),
        500_001,
        "a byte takes half a picosecond"
    );
    assert_eq!(time_ps(operations(4, 1, 0, 312_000, 0)), 1000, "operations alone");
    assert_eq!(time_ps(operations(2, 1, 0, 312_000_000, 1_000_000)), 500_000, "a load counts bytes alone");
    assert_eq!(
        time_ps(operations(4, 1, 20, 1 << 50, 1 << 40)),
        20_000_000,
        "a duration that was measured stands"
    );
    let host = with(operations(4, 1, 0, 1 << 50, 1 << 40), "is_cpu_op", &truth(true));
    assert_eq!(time_ps(host), 0, "the host is no accelerator");
    let years = graph_of(
        &[vec![operations(4, 1, 0, u64::MAX >> 1, 1)]],
        &Context { accelerator: Some(Accelerator { flops: 1, memory_bytes_per_s: 1 }), ..Context::default() },
    );
    assert!(years.unwrap_err().problem.contains("a duration of years"));
}

#[test]
fn operations_without_an_accelerator_are_refused() {
    let nodes = [node(4, 1, &[], 5, &[]), operations(4, 2, 0, 1 << 40, 0), operations(3, 3, 0, 0, 1 << 20)];
    let error = graph_of(&[nodes.to_vec()], &Context::default()).unwrap_err();
    assert_eq!(error.position, "t.0.et: byte 22 (node 2, `node`)");
    assert_eq!(
        error.problem,
        "it states operations (`num_ops`) or bytes (`tensor_size`) and no duration (`duration_micros`), as do 2 of 3 nodes \
         of this trace"
    );
    assert!(error.hint.contains("accelerator = { flops = \"312 TFLOPS\""), "{error}");
    assert!(graph_of(&[nodes.to_vec()], &accelerated()).is_ok());
}

#[test]
fn nodes_that_say_neither_are_warned_of_once() {
    let graph = graph_of(&[vec![node(4, 7, &[], 0, &[])]], &accelerated()).unwrap();
    let sentence = "t.0.et: 1 of 1 nodes compute, load or store without a duration (`duration_micros`) or operations \
                    (`num_ops`, `tensor_size`) and take no time here, the first of them node 7, `node`";
    assert_eq!(graph.warnings(), [sentence]);
    assert_eq!(graph.repeated(2, 0).unwrap().warnings(), graph.warnings());
    let three = graph_of(&[(); 3].map(|()| vec![node(4, 7, &[], 0, &[])]), &accelerated()).unwrap();
    assert_eq!(three.warnings(), [format!("{sentence}; so do nodes of 2 other traces")]);
    for quiet in [node(4, 7, &[], 1, &[]), node(1, 7, &[], 0, &[])] {
        assert!(graph_of(&[vec![quiet]], &accelerated()).unwrap().warnings().is_empty());
    }
}

/// End of two nodes of 1000 us each with these attributes, and an all-reduce behind them, in microseconds.
fn two_us(first: &[(&str, Vec<u8>)], second: &[(&str, Vec<u8>)], kind: u64) -> u64 {
    let dressed = |id, kind, attributes: &[(&str, Vec<u8>)]| {
        attributes.iter().fold(node(kind, id, &[], 1000, &[]), |node, (name, value)| with(node, name, value))
    };
    let rank = vec![dressed(1, 4, first), dressed(2, kind, second), collective(3, 0, 1 << 20, &[1, 2])];
    end_ns(&graph_of(&[rank.clone(), rank], &Context::default()).unwrap()) / 1000
}

#[test]
fn streams_and_threads_of_a_rank_overlap() {
    let (device, host) = ([("is_cpu_op", truth(false))], [("is_cpu_op", truth(true))]);
    let on = |stream: u64| ("stream", integer(9, stream));
    let thread = |thread: u64| [("is_cpu_op", int32(1)), ("tid", integer(9, thread))];
    // One after the other, and two messages of the all-reduce.
    assert_eq!(two_us(&[], &[], 4), 2002);
    assert_eq!(two_us(&device, &[], 4), 2002);
    assert_eq!(two_us(&host, &host, 4), 2002);
    assert_eq!(two_us(&[on(7)], &[on(7)], 4), 2002);
    assert_eq!(two_us(&thread(5), &thread(5), 4), 2002);
    // Beside each other.
    assert_eq!(two_us(&device, &host, 4), 1002);
    assert_eq!(two_us(&[on(7)], &[on(20)], 4), 1002);
    assert_eq!(two_us(&thread(5), &thread(6), 4), 1002);
    assert_eq!(two_us(&device, &[], 2), 1002, "a load");
    assert_eq!(two_us(&[on(7)], &[on(7)], 2), 2002, "a load of a stream");
}

#[test]
fn a_rank_has_at_most_256_streams() {
    let streams = |count: u64| {
        let nodes = (0..count).map(|id| with(node(4, id, &[], 1, &[]), "stream", &integer(9, id)));
        graph_of(&[nodes.collect()], &Context::default())
    };
    assert_eq!(end_ns(&streams(255).unwrap()), 1000);
    assert!(streams(256).unwrap_err().problem.contains("more than 256 streams and threads"));
}
