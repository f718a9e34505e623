//! Every collective of the schema: its time by its closed form, its root, small and empty ones.

use super::*;

/// Time of so many messages of so many bytes, one after the other.
fn messages_ps(count: u64, bytes: u64) -> u64 {
    count * (1_000_000 + 10 * bytes)
}

fn job(ranks: u64, comm_type: u64, bytes: u64) -> Graph {
    let ranks: Vec<_> = (0..ranks).map(|_| vec![collective(1, comm_type, bytes, &[])]).collect();
    graph_of(&ranks, &Context::default()).unwrap()
}

#[test]
fn all_collectives_of_the_schema_take_the_time_of_their_closed_forms() {
    let time_ps = |comm_type| end_ps(&job(4, comm_type, 4096));
    for (comm_type, rounds, bytes) in [
        (0, 6, 1024), // ALL_REDUCE
        (1, 2, 4096), // REDUCE
        (2, 3, 4096), // ALL_GATHER: what each rank brings
        (3, 1, 4096), // GATHER: likewise
        (4, 1, 1024), // SCATTER
        (5, 2, 4096), // BROADCAST
        (6, 1, 1024), // ALL_TO_ALL
        (7, 3, 1024), // REDUCE_SCATTER
        (8, 3, 1024), // REDUCE_SCATTER_BLOCK
        (9, 2, 64),   // BARRIER
    ] {
        assert_eq!(time_ps(comm_type), messages_ps(rounds, bytes), "comm_type {comm_type}");
    }
    assert_eq!(end_ps(&job(5, 9, 0)), messages_ps(3, 64), "a barrier of five takes three rounds");
}

/// Senders and receivers of a collective of four ranks with a root.
fn ends_of(comm_type: u64, root: Option<u64>) -> (Vec<usize>, Vec<usize>) {
    let request = || match root {
        Some(root) => with(collective(1, comm_type, 4096, &[]), "root", &int32(root)),
        None => collective(1, comm_type, 4096, &[]),
    };
    let graph = graph_of(&[(); 4].map(|()| vec![request()]), &Context::default()).unwrap();
    let count = |which: fn(&Act) -> bool| {
        let of = |rank| graph.nodes_of(rank).filter(|&node| which(&graph.node(node).act)).count();
        (0..4).map(of).collect()
    };
    (count(|act| matches!(act, Act::Send { .. })), count(|act| matches!(act, Act::Recv { .. })))
}

#[test]
fn collectives_with_a_root_come_from_or_go_to_it() {
    for (comm_type, roots) in [
        (5, [([2, 1, 0, 0], [0, 1, 1, 1]), ([0, 0, 2, 1], [1, 1, 0, 1])]),
        (1, [([0, 1, 1, 1], [2, 1, 0, 0]), ([1, 1, 0, 1], [0, 0, 2, 1])]),
        (3, [([0, 1, 1, 1], [3, 0, 0, 0]), ([1, 1, 0, 1], [0, 0, 3, 0])]),
        (4, [([3, 0, 0, 0], [0, 1, 1, 1]), ([0, 0, 3, 0], [1, 1, 0, 1])]),
    ] {
        let [first, third] = roots.map(|(sends, receives)| (sends.to_vec(), receives.to_vec()));
        assert_eq!(ends_of(comm_type, None), first, "comm_type {comm_type}");
        assert_eq!(ends_of(comm_type, Some(0)), first, "comm_type {comm_type}");
        assert_eq!(ends_of(comm_type, Some(2)), third, "comm_type {comm_type}");
    }
    let of = |roots: [u64; 2]| {
        let ranks = roots.map(|root| vec![with(collective(1, 5, 4096, &[]), "root", &int32(root))]);
        graph_of(&ranks, &Context::default()).unwrap_err().problem
    };
    assert_eq!(of([5, 5]), "`root` is 5, which is no rank of all ranks");
    assert!(of([0, 1]).starts_with("another collective, size or root than"));
}

#[test]
fn no_rank_leaves_a_barrier_before_the_last_has_come() {
    for late in 0..5 {
        let rank = |rank| {
            let us = if rank == late { 50 } else { 1 };
            vec![node(4, 1, &[], us, &[]), collective(2, 9, 0, &[1]), node(4, 3, &[2], 7, &[])]
        };
        let graph = graph_of(&(0..5).map(rank).collect::<Vec<_>>(), &Context::default()).unwrap();
        let times = times(&graph);
        let after = |rank| times[graph.nodes_of(rank).start as usize + 3].start_ps;
        for rank in 0..5 {
            assert!(after(rank) >= 50_000_000, "rank {rank} passes {}, late is {late}", after(rank));
            assert!(after(rank) <= 53_000_000, "rank {rank}: {}", after(rank));
        }
    }
}

#[test]
fn a_number_is_summed_among_more_ranks_than_it_has_bytes() {
    let graph = job(8, 0, 4);
    assert_eq!((graph.messages(), end_ns(&graph)), ((8 * 14, 8 * 14), 14_000));
    assert!(graph.warnings().is_empty());
}

#[test]
fn a_collective_of_no_bytes_sends_nothing_and_a_warning_says_so() {
    let graph = job(8, 0, 0);
    assert_eq!((graph.messages(), end_ns(&graph)), ((0, 0), 0));
    assert_eq!(graph.warnings(), ["t.0.et: 1 collectives of 0 bytes send nothing"]);
}

#[test]
fn more_messages_than_memory_holds_are_refused_before_they_are_made() {
    let requests: Vec<_> = (0..60).map(|id| collective(id, 0, 1 << 30, &[])).collect();
    let error = graph_of(&vec![requests; 1024], &Context::default()).unwrap_err();
    // The 48th all-reduce of 2 x 1024 x 1023 messages passes 100 million.
    assert_eq!(error.problem, "100564992 messages up to this collective");
    assert!(error.position.contains("(node 47, "), "{error}");
}
