//! Collectives: what every rank holds in the end, and how long it takes where nothing contends.

use anabranch_work::collective::{Algorithm, Collective, Kind, Move, expand_with_moves};
use anabranch_work::links::{AlphaBeta, Links, Message, run};
use anabranch_work::{Act, Builder, Graph};
use proptest::prelude::*;

fn made(collective: &Collective, ranks: u32) -> (Graph, Vec<Move>) {
    let mut builder = Builder::new("collective", ranks).unwrap();
    let all: Vec<u32> = (0..ranks).collect();
    let moves = expand_with_moves(&mut builder, collective, &all).unwrap();
    let graph = builder.finish();
    graph.check().unwrap();
    (graph, moves)
}

/// Links whose every message takes another time.
struct Erratic(u64);

impl Links for Erratic {
    fn arrival_ps(&mut self, start_ps: u64, _: Message) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        start_ps + 1 + (self.0 >> 33) % 1000
    }
}

/// Contributions by cell and rank.
type Vector = Vec<Vec<u8>>;

/// What each rank holds after the collective, under message times drawn by `seed`: how often each rank's contribution is
/// in each cell of the vector, or in each block of an all-to-all.
fn held(collective: &Collective, ranks: u32, seed: u64) -> (Vec<Vector>, Graph, Vec<Move>) {
    let (graph, moves) = made(collective, ranks);
    let count = ranks as usize;
    let cells = if collective.kind == Kind::AllToAll { count * count } else { collective.bytes as usize };
    let mut state: Vec<Vector> = vec![vec![vec![0; count]; cells]; count];
    for (rank, vector) in state.iter_mut().enumerate() {
        for (cell, contributions) in vector.iter_mut().enumerate() {
            let has = match collective.kind {
                Kind::AllReduce | Kind::ReduceScatter | Kind::Reduce | Kind::Barrier => true,
                Kind::AllGather | Kind::Gather => owner(collective, count, cell) == rank,
                Kind::Broadcast | Kind::Scatter => rank == 0,
                Kind::AllToAll => cell / count == rank,
            };
            contributions[rank] = u8::from(has);
        }
    }
    let times = run(&graph, &mut Erratic(seed));
    // Each message takes a copy when it is sent, and is applied when it is delivered.
    let mut events: Vec<(u64, bool, usize, u32)> = Vec::new();
    // Moves are told in the order in which sends were made: rank by rank that is the graph's.
    let mut sends: Vec<Vec<u32>> = (0..ranks)
        .map(|rank| {
            graph.nodes_of(rank).filter(|&node| matches!(graph.node(node).act, Act::Send { .. })).collect()
        })
        .collect();
    sends.iter_mut().for_each(|sends| sends.reverse());
    for (number, moved) in moves.iter().enumerate() {
        let node = sends[moved.from].pop().unwrap();
        events.push((times[node as usize].start_ps, true, number, node));
        events.push((times[node as usize].end_ps, false, number, node));
    }
    // Deliveries come before sends of the same time: they cause them.
    events.sort_unstable();
    let mut flying: Vec<Option<Vector>> = vec![None; moves.len()];
    for (_, leaves, number, _) in events {
        let Move { from, to, ref range, adds, .. } = moves[number];
        let cells = range.start as usize..range.end as usize;
        if leaves {
            flying[number] = Some(state[from][cells].to_vec());
            continue;
        }
        for (cell, data) in cells.zip(flying[number].take().unwrap()) {
            let own = &mut state[to][cell];
            if adds {
                own.iter_mut().zip(data).for_each(|(own, more)| *own += more);
            } else {
                *own = data;
            }
        }
    }
    (state, graph, moves)
}

/// Rank whose part a cell of the vector is: parts are taken channel by channel, and in halving and doubling segment by
/// segment.
fn owner(collective: &Collective, count: usize, cell: usize) -> usize {
    let upto = |length: usize, parts: usize, index: usize| length * index / parts;
    let inside = |from: usize, length: usize, parts: usize| {
        let index = (0..parts).find(|&index| cell < from + upto(length, parts, index + 1)).unwrap();
        let start = from + upto(length, parts, index);
        (index, start, from + upto(length, parts, index + 1) - start)
    };
    let (_, mut from, mut length) = inside(0, collective.bytes as usize, collective.channels as usize);
    if collective.algorithm == Algorithm::HalvingDoubling {
        (_, from, length) = inside(from, length, collective.segments as usize);
    }
    inside(from, length, count).0
}

fn collectives() -> impl Strategy<Value = (Collective, u32)> {
    let pairs: Vec<(Kind, Algorithm)> = Kind::ALL
        .into_iter()
        .flat_map(|kind| kind.algorithms().iter().map(move |&how| (kind, how)))
        .collect();
    (prop::sample::select(pairs), 2u32..18, 1u32..4, 1u32..4, 0u64..50, 1u32..4).prop_map(
        |((kind, how), ranks, channels, segments, more, half_group)| {
            let powers = how == Algorithm::HalvingDoubling && kind != Kind::AllReduce;
            let ranks = if powers { ranks.next_power_of_two() } else { ranks };
            let (group, ranks) = match how {
                Algorithm::Hierarchical => (half_group + 1, (half_group + 1) * ranks.clamp(2, 5)),
                _ => (1, ranks),
            };
            let segments = if matches!(kind, Kind::AllToAll | Kind::Barrier) { 1 } else { segments };
            let channels = if kind == Kind::Barrier { 1 } else { channels };
            let trees = if how == Algorithm::DoubleTree { 2 } else { 1 };
            let bytes = u64::from(ranks * channels * segments * trees) + more;
            (Collective { channels, segments, group, ..Collective::new(kind, how, bytes) }, ranks)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_rank_holds_what_the_collective_promises((collective, ranks) in collectives(), seed in any::<u64>()) {
        let count = ranks as usize;
        let (state, graph, moves) = held(&collective, ranks, seed);
        prop_assert_eq!(graph.messages().0, moves.len() as u64);
        for (rank, vector) in state.iter().enumerate() {
            for (cell, contributions) in vector.iter().enumerate() {
                let expected: Vec<u8> = match collective.kind {
                    Kind::AllReduce => vec![1; count],
                    Kind::ReduceScatter if owner(&collective, count, cell) == rank => vec![1; count],
                    Kind::AllGather => {
                        let owner = owner(&collective, count, cell);
                        (0..count).map(|of| u8::from(of == owner)).collect()
                    }
                    Kind::Broadcast => (0..count).map(|of| u8::from(of == 0)).collect(),
                    Kind::AllToAll if cell % count == rank => {
                        (0..count).map(|of| u8::from(of == cell / count)).collect()
                    }
                    Kind::Reduce if rank == 0 => vec![1; count],
                    Kind::Gather if rank == 0 => {
                        let owner = owner(&collective, count, cell);
                        (0..count).map(|of| u8::from(of == owner)).collect()
                    }
                    Kind::Scatter if owner(&collective, count, cell) == rank => {
                        (0..count).map(|of| u8::from(of == 0)).collect()
                    }
                    Kind::Barrier => {
                        prop_assert!(contributions.iter().all(|&heard| heard > 0), "{}: {:?}", rank, contributions);
                        continue;
                    }
                    // What others are to have may be anything here.
                    Kind::ReduceScatter | Kind::AllToAll | Kind::Reduce | Kind::Gather | Kind::Scatter => continue,
                };
                prop_assert_eq!(contributions, &expected, "{:?}: rank {}, cell {}", &collective, rank, cell);
            }
        }
    }

    /// What each rank sends, in bytes: the least that the collective needs, for those that send no more.
    #[test]
    fn bandwidth_optimal_collectives_send_no_byte_twice(ranks in 2u32..20, parts in 1u64..100) {
        let bytes = u64::from(ranks) * parts;
        let own = u64::from(ranks - 1) * parts;
        for (kind, algorithm, each) in [
            (Kind::AllReduce, Algorithm::Ring, 2 * own),
            (Kind::AllGather, Algorithm::Ring, own),
            (Kind::AllGather, Algorithm::Direct, own),
            (Kind::ReduceScatter, Algorithm::Ring, own),
            (Kind::ReduceScatter, Algorithm::Direct, own),
            (Kind::AllToAll, Algorithm::Direct, own),
            (Kind::AllToAll, Algorithm::Pairwise, own),
        ] {
            let (graph, _) = made(&Collective::new(kind, algorithm, bytes), ranks);
            prop_assert_eq!(graph.messages().1, u64::from(ranks) * each);
        }
    }
}

const ALPHA_PS: u64 = 1_000_000;
const BETA_PS: u64 = 80;

/// Time under alpha and beta alone.
fn time_ps(collective: &Collective, ranks: u32) -> u64 {
    let mut links = AlphaBeta { alpha_ps: ALPHA_PS, beta_ps: BETA_PS as f64 };
    let times = run(&made(collective, ranks).0, &mut links);
    times.iter().map(|node| node.end_ps).max().unwrap()
}

/// Time of so many messages of so many bytes, one after the other.
fn messages_ps(count: u64, bytes: u64) -> u64 {
    count * (ALPHA_PS + BETA_PS * bytes)
}

/// Closed forms of Thakur, Rabenseifner and Gropp (IJHPCA 2005), Sanders, Speck and Träff (2009), and of chains.
#[test]
fn collectives_take_the_time_of_their_closed_forms() {
    for ranks in [2u64, 4, 8, 16, 64] {
        let (n, log) = (ranks, u64::from(ranks.ilog2()));
        let bytes = n * 4096;
        let part = bytes / n;
        let time = |kind, algorithm| time_ps(&Collective::new(kind, algorithm, bytes), n as u32);
        let halved: u64 = (1..=log).map(|round| messages_ps(1, bytes >> round)).sum();
        assert_eq!(time(Kind::AllReduce, Algorithm::Ring), messages_ps(2 * (n - 1), part));
        assert_eq!(time(Kind::AllReduce, Algorithm::HalvingDoubling), 2 * halved);
        assert_eq!(time(Kind::AllReduce, Algorithm::DoubleTree), messages_ps(2 * log, bytes / 2));
        for kind in [Kind::AllGather, Kind::ReduceScatter] {
            assert_eq!(time(kind, Algorithm::Ring), messages_ps(n - 1, part));
            assert_eq!(time(kind, Algorithm::HalvingDoubling), halved);
            assert_eq!(time(kind, Algorithm::Direct), messages_ps(1, part));
        }
        assert_eq!(time(Kind::Broadcast, Algorithm::Tree), messages_ps(log, bytes));
        assert_eq!(time(Kind::Reduce, Algorithm::Tree), messages_ps(log, bytes));
        assert_eq!(time(Kind::Gather, Algorithm::Direct), messages_ps(1, part));
        assert_eq!(time(Kind::Scatter, Algorithm::Direct), messages_ps(1, part));
        assert_eq!(time(Kind::Barrier, Algorithm::Dissemination), messages_ps(log, bytes));
        assert_eq!(time(Kind::Broadcast, Algorithm::Ring), messages_ps(n - 1, bytes));
        assert_eq!(time(Kind::AllToAll, Algorithm::Direct), messages_ps(1, part));
        assert_eq!(time(Kind::AllToAll, Algorithm::Pairwise), messages_ps(n - 1, part));
        assert_eq!(time(Kind::AllToAll, Algorithm::Ring), messages_ps(n * (n - 1) / 2, part));
        let segmented = |kind, algorithm, segments: u64| {
            let settings =
                Collective { segments: segments as u32, ..Collective::new(kind, algorithm, bytes) };
            time_ps(&settings, n as u32)
        };
        // Pipelines: the last segment starts when those before it have left, and needs as many rounds as the first.
        for k in [2, 8] {
            let (chain, tree) =
                (messages_ps(n - 2 + k, bytes / k), messages_ps(2 * log + k - 1, bytes / 2 / k));
            assert_eq!(segmented(Kind::Broadcast, Algorithm::Ring, k), chain);
            assert_eq!(segmented(Kind::AllReduce, Algorithm::DoubleTree, k), tree);
        }
        for group in [2, 4, 8].into_iter().filter(|group| n % group == 0 && *group < n) {
            let settings = Collective {
                group: group as u32,
                ..Collective::new(Kind::AllReduce, Algorithm::Hierarchical, bytes)
            };
            let within = messages_ps(2 * (group - 1), bytes / group);
            assert_eq!(time_ps(&settings, n as u32), within + messages_ps(2 * (n / group - 1), part));
        }
    }
    // Beyond a power of two: one message of the whole vector before, and one after.
    let bytes = 4096 * 4;
    let halved: u64 = (1..=2).map(|round| messages_ps(1, bytes >> round)).sum();
    let seven = Collective::new(Kind::AllReduce, Algorithm::HalvingDoubling, bytes);
    assert_eq!(time_ps(&seven, 7), 2 * halved + messages_ps(2, bytes));
}

/// nccl-tests, doc/PERFORMANCE.md.
#[test]
fn bus_factors_are_those_of_nccl_tests() {
    assert_eq!(Kind::AllReduce.bus_factor(8), (14, 8));
    assert_eq!(Kind::AllGather.bus_factor(8), (7, 8));
    assert_eq!(Kind::ReduceScatter.bus_factor(8), (7, 8));
    assert_eq!(Kind::AllToAll.bus_factor(8), (7, 8));
    assert_eq!(Kind::Broadcast.bus_factor(8), (1, 1));
    assert_eq!(Kind::Reduce.bus_factor(8), (1, 1));
    assert_eq!(Kind::Gather.bus_factor(8), (7, 8));
    assert_eq!(Kind::Scatter.bus_factor(8), (7, 8));
}

#[test]
fn settings_that_do_not_fit_are_refused_with_a_hint() {
    let refused = |collective: Collective, ranks: u32| {
        let mut builder = Builder::new("collective", ranks).unwrap();
        let all: Vec<u32> = (0..ranks).collect();
        expand_with_moves(&mut builder, &collective, &all).unwrap_err().to_string()
    };
    let reduce = |algorithm| Collective::new(Kind::AllReduce, algorithm, 1000);
    assert!(refused(reduce(Algorithm::Ring), 1).contains("two ranks or more"));
    assert!(
        refused(reduce(Algorithm::Pairwise), 4).contains("ring, halving-doubling, double-tree, hierarchical")
    );
    assert!(
        refused(Collective { group: 3, ..reduce(Algorithm::Hierarchical) }, 8).contains("that divides 8")
    );
    let gather = Collective::new(Kind::AllGather, Algorithm::HalvingDoubling, 1000);
    assert!(refused(gather, 6).contains("power of two"));
    let barrier = Collective::new(Kind::Barrier, Algorithm::Dissemination, 64);
    assert!(refused(Collective { segments: 2, ..barrier }, 4).contains("there are no data to divide"));
    assert!(refused(Collective { channels: 200, ..reduce(Algorithm::Ring) }, 8).contains("1600 bytes"));
}
