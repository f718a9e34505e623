//! Rendezvous: closed forms over links of alpha and beta, and what cannot end.

use anabranch_work::collective::{Algorithm, Collective, Kind, steps};
use anabranch_work::links::{AlphaBeta, run};
use anabranch_work::{Act, CONTROL_BYTES, Graph, Rendezvous, goal};
use proptest::prelude::*;

const LINKS: AlphaBeta = AlphaBeta { alpha_ps: 1_000_000, beta_ps: 80.0 };
const BY: [Rendezvous; 2] = [Rendezvous::ClearToSend, Rendezvous::RequestToSend];

fn message_ps(bytes: u64) -> u64 {
    LINKS.alpha_ps + 80 * bytes
}

fn read(text: &str) -> Graph {
    let graph = goal::read_text(text, "work.goal").unwrap();
    graph.check().unwrap();
    graph
}

/// Rank 0 can send after `send_ns`, rank 1 receives after `recv_ns`.
fn one_message(bytes: u64, send_ns: u64, recv_ns: u64) -> Graph {
    read(&format!(
        "num_ranks 2\nrank 0 {{\nl1: calc {send_ns}\nl2: send {bytes}b to 1 tag 7\nl2 requires l1\n}}\n\
         rank 1 {{\nl1: calc {recv_ns}\nl2: recv {bytes}b from 0 tag 7\nl2 requires l1\n}}\n"
    ))
}

fn end_ps(graph: &Graph) -> u64 {
    graph.check().unwrap();
    run(graph, &mut LINKS.clone()).iter().map(|times| times.end_ps).max().unwrap()
}

proptest! {
    /// Written at once: the later of the message and its receive. Cleared: the message begins when both sides have begun and
    /// the receiver's word has arrived. Requested: when the answer to the request has.
    #[test]
    fn one_message_takes_alpha_beta_and_its_round_trips(
        bytes in 1u64..1_000_000, send_ns in 1u64..5_000, recv_ns in 1u64..5_000,
    ) {
        let graph = one_message(bytes, send_ns, recv_ns);
        let (send_ps, recv_ps) = (send_ns * 1000, recv_ns * 1000);
        prop_assert_eq!(end_ps(&graph), (send_ps + message_ps(bytes)).max(recv_ps));
        let word_ps = message_ps(CONTROL_BYTES);
        let [cleared, requested] = BY.map(|by| end_ps(&graph.with_rendezvous(by, 0).unwrap()));
        prop_assert_eq!(cleared, send_ps.max(recv_ps + word_ps) + message_ps(bytes));
        prop_assert_eq!(requested, (send_ps + word_ps).max(recv_ps) + word_ps + message_ps(bytes));
        // S of LogGOPS: what is not larger goes at once.
        for by in BY {
            prop_assert_eq!(&graph.with_rendezvous(by, bytes).unwrap(), &graph);
            prop_assert_ne!(&graph.with_rendezvous(by, bytes - 1).unwrap(), &graph);
        }
    }
}

/// Ranks exchange parts with whom they know: each step of a ring waits for the word of the next rank, whose receive began
/// when its step before had ended. Direct all-to-alls wait once.
#[test]
fn collectives_wait_for_each_step() {
    let ranks = 8;
    let time = |kind, algorithm, by: Option<Rendezvous>| {
        let collective = Collective::new(kind, algorithm, 8 * 64_000);
        let graph = steps(ranks, 2, 0, |_| vec![collective.clone()]).unwrap();
        end_ps(&by.map_or_else(|| graph.clone(), |by| graph.with_rendezvous(by, 0).unwrap()))
    };
    let (word_ps, part_ps) = (message_ps(CONTROL_BYTES), message_ps(64_000));
    for (kind, algorithm, each) in
        [(Kind::AllReduce, Algorithm::Ring, 14), (Kind::AllToAll, Algorithm::Direct, 1)]
    {
        let [plain, cleared, requested] =
            [None, Some(BY[0]), Some(BY[1])].map(|by| time(kind, algorithm, by));
        assert_eq!(plain, 2 * each * part_ps, "{kind:?}");
        assert_eq!(requested, plain + 2 * each * 2 * word_ps, "{kind:?}");
        assert!(plain < cleared && cleared <= plain + 2 * each * word_ps, "{kind:?} {plain} {cleared}");
    }
}

/// Every collective ends under both, and every message waits for its receive: none starts before the receiver's word can be
/// there.
#[test]
fn every_collective_ends() {
    for kind in Kind::ALL {
        for &algorithm in kind.algorithms() {
            let segments = if matches!(kind, Kind::AllToAll | Kind::Barrier) { 1 } else { 2 };
            let channels = if kind == Kind::Barrier { 1 } else { 2 };
            let plain = Collective::new(kind, algorithm, 1 << 16);
            let collective = Collective { group: 4, channels, segments, ..plain };
            let graph = steps(8, 2, 1000, |_| vec![collective.clone()]).unwrap();
            graph.check_posted(|_| true, "as sends").unwrap();
            for by in BY {
                let waiting = graph.with_rendezvous(by, 0).unwrap();
                waiting.check().unwrap();
                let times = run(&waiting, &mut LINKS.clone());
                let (mut sends, mut receives) = (Vec::new(), Vec::new());
                for node in 0..waiting.nodes().len() as u32 {
                    let (start_ps, step) = (times[node as usize].start_ps, waiting.step_of(node));
                    match waiting.node(node).act {
                        Act::Send { to, bytes, tag } if bytes != CONTROL_BYTES => {
                            sends.push(((waiting.rank_of(node), to, tag, step), start_ps));
                        }
                        Act::Recv { from: Some(from), bytes, tag: Some(tag) } if bytes != CONTROL_BYTES => {
                            receives.push(((from, waiting.rank_of(node), tag, step), start_ps));
                        }
                        _ => {}
                    }
                }
                sends.sort_unstable();
                receives.sort_unstable();
                assert_eq!(sends.len() as u64, graph.messages().0);
                for (send, recv) in sends.iter().zip(&receives) {
                    assert_eq!(send.0, recv.0);
                    assert!(send.1 >= recv.1 + message_ps(CONTROL_BYTES), "{kind:?} {algorithm:?} {by:?}");
                }
            }
        }
    }
}

/// Two ranks that both send before they receive: it ends where messages go at once, and in no other way (MPI calls such
/// programs unsafe). The eager limit decides.
#[test]
fn messages_that_wait_for_each_other_are_refused_with_their_place() {
    let rank = |peer| {
        format!("l1: send 1000b to {peer} tag 0\nl2: recv 1000b from {peer} tag 0\nl2 requires l1\n}}\n")
    };
    let graph = read(&format!("num_ranks 2\nrank 0 {{\n{}rank 1 {{\n{}", rank(1), rank(0)));
    for by in BY {
        let error = graph.with_rendezvous(by, 999).unwrap_err();
        assert_eq!(error.position, "work.goal:3");
        assert!(error.problem.contains("waits forever under rendezvous"), "{}", error.problem);
        graph.with_rendezvous(by, 1000).unwrap().check().unwrap();
    }
    assert!(graph.check_posted(|_| true, "as sends").is_err());
    assert!(graph.check_posted(|_| false, "as sends").is_ok());
}

#[test]
fn receives_of_any_source_can_allow_none() {
    let graph =
        read("num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 0\n}\nrank 1 {\nl1: recv 10b from -1 tag 0\n}\n");
    let error = graph.with_rendezvous(BY[0], 0).unwrap_err();
    assert_eq!(error.position, "work.goal:6");
    assert!(error.problem.contains("any source"), "{}", error.problem);
    assert!(error.hint.contains("leave `rendezvous` out"), "{}", error.hint);
}
