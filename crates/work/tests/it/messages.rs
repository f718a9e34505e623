//! Messages that were made as one: they match each other, as their labels would.

use anabranch_work::collective::{Collective, Kind, steps};
use anabranch_work::links::{AlphaBeta, run};
use anabranch_work::{Act, Builder, Graph, NodeId, NodeTimes, Rendezvous};

fn times(graph: &Graph) -> Vec<NodeTimes> {
    graph.check().unwrap();
    run(graph, &mut AlphaBeta { alpha_ps: 1_000_000, beta_ps: 80.0 })
}

/// The same graph of single nodes, of which nobody has said which make one message.
fn by_labels(graph: &Graph) -> Graph {
    let mut builder = Builder::new(graph.file(), graph.ranks()).unwrap();
    graph.parts().iter().for_each(|part| builder.begin_part(part.clone()));
    for rank in 0..graph.ranks() {
        for node in graph.nodes_of(rank) {
            builder.add(rank, *graph.node(node)).unwrap();
        }
    }
    for before in 0..graph.nodes().len() as NodeId {
        graph.after_end(before).iter().for_each(|&after| builder.requires(after, before));
        graph.after_start(before).iter().for_each(|&after| builder.irequires(after, before));
    }
    builder.finish()
}

#[test]
fn partners_match_as_labels_do() {
    for kind in Kind::ALL {
        for &algorithm in kind.algorithms() {
            let collective = Collective { group: 4, ..Collective::new(kind, algorithm, 1 << 16) };
            let once = steps(8, 1, 1000, |_| vec![collective.clone(), collective.clone()]).unwrap();
            let graph = once.repeated(3, 500).unwrap();
            let meeting = graph.with_rendezvous(Rendezvous::RequestToSend, 0).unwrap();
            for graph in [once, graph, meeting] {
                assert_ne!(graph, by_labels(&graph), "the second knows no partners");
                assert_eq!(times(&graph), times(&by_labels(&graph)), "{kind:?} {algorithm:?}");
            }
        }
    }
}

/// Rank 1 asks for any message before it takes part in one that was made for it; as in MPI, whose collectives have a
/// communicator of their own, the first is for the message of rank 0 that has no partner.
#[test]
fn a_receive_of_any_source_takes_no_message_that_has_a_partner() {
    let mut builder = Builder::new("any", 2).unwrap();
    let any = builder.node(1, Act::Recv { from: None, bytes: 10, tag: None }).unwrap();
    let (send, recv) = builder.message(0, 1, 10).unwrap();
    let late = builder.node(0, Act::Send { to: 1, bytes: 10, tag: 5 }).unwrap();
    builder.requires(recv, any);
    builder.requires(late, send);
    let graph = builder.finish();
    let ends: Vec<u64> = times(&graph).iter().map(|times| times.end_ps).collect();
    // Rank by rank: both sends, then the receive of any and that of the partner.
    assert_eq!(ends, [1_000_800, 2_001_600, 2_001_600, 2_001_600]);
}

/// A receive whose partner waits for what comes after the receive is refused, with the place of the receive.
#[test]
fn partners_that_wait_for_each_other_are_refused() {
    let mut builder = Builder::new("circle", 2).unwrap();
    let (first_send, first_recv) = builder.message(0, 1, 10).unwrap();
    let (second_send, second_recv) = builder.message(1, 0, 10).unwrap();
    builder.requires(first_send, second_recv);
    builder.requires(second_send, first_recv);
    let error = builder.finish().check().unwrap_err();
    assert_eq!(error.position, "circle: rank 0, node 1");
    assert!(error.problem.contains("this receive waits forever"), "{}", error.problem);
}

/// Both ranks send before they receive: it ends where messages go at once alone.
#[test]
fn partners_wait_for_their_receive_where_that_is_asked_for() {
    let mut builder = Builder::new("unsafe", 2).unwrap();
    let (first_send, first_recv) = builder.message(0, 1, 10).unwrap();
    let (second_send, second_recv) = builder.message(1, 0, 10).unwrap();
    builder.requires(second_recv, first_send);
    builder.requires(first_recv, second_send);
    let graph = builder.finish();
    graph.check().unwrap();
    let error = graph.check_posted(|_| true, "as sends").unwrap_err();
    assert_eq!(error.position, "unsafe: rank 0, node 0");
    graph.check_posted(|send| send == first_send, "as sends").unwrap();
}

/// A receive of any source takes what was sent first, so that of rank 1 is left for the receive that names it.
#[test]
fn a_receive_of_any_source_takes_the_first_message() {
    let mut builder = Builder::new("first", 3).unwrap();
    builder.node(0, Act::Send { to: 2, bytes: 10, tag: 1 }).unwrap();
    builder.node(1, Act::Send { to: 2, bytes: 10, tag: 2 }).unwrap();
    let any = builder.node(2, Act::Recv { from: None, bytes: 10, tag: None }).unwrap();
    let named = builder.node(2, Act::Recv { from: Some(1), bytes: 10, tag: Some(2) }).unwrap();
    builder.requires(named, any);
    times(&builder.finish());
}
