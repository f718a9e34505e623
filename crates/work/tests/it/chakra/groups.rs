//! Communicator groups: every form in which traces name them, and what lists their ranks.

use super::*;
use anabranch_work::chakra::Groups;

/// Eight ranks that each ask for an all-reduce, with one more attribute by rank.
fn eight(attribute: &str, value: impl Fn(u64) -> Vec<u8>) -> Vec<Vec<Vec<u8>>> {
    (0..8).map(|rank| vec![with(collective(1, 0, 1 << 20, &[]), attribute, &value(rank))]).collect()
}

fn listed(json: &str) -> Context {
    Context { groups: Groups::read(json.as_bytes(), "comm_group.json").unwrap(), ..Context::default() }
}

fn within(dimensions: &[u32]) -> Context {
    Context { dimensions: dimensions.to_vec(), ..Context::default() }
}

/// Rings of ranks that follow each other.
fn rings(groups: &[&[u32]]) -> Vec<(u32, u32)> {
    let ring = |group: &&[u32]| {
        (0..group.len()).map(|at| (group[at], group[(at + 1) % group.len()])).collect::<Vec<_>>()
    };
    let mut pairs: Vec<_> = groups.iter().flat_map(ring).collect();
    pairs.sort_unstable();
    pairs
}

/// Asserts two rings of four: six rounds of 1000 ns, 48 messages.
fn assert_two_rings_of_four(graph: &Graph) {
    assert_eq!(pairs(graph), rings(&[&[0, 1, 2, 3], &[4, 5, 6, 7]]));
    assert_eq!((end_ns(graph), graph.messages().0), (6000, 48));
}

#[test]
fn two_groups_of_four_ranks_run_as_two_groups_however_they_are_named() {
    let half = |rank: u64| rank / 4;
    let forms = [
        eight("pg_name", |rank| text(&half(rank).to_string())),
        eight("pg_name", |rank| int32(half(rank))),
        eight("pg_name", |rank| integer(9, half(rank))),
        eight("comm_group", |rank| text(&half(rank).to_string())),
        eight("comm_group", |rank| int32(half(rank))),
    ];
    for ranks in &forms {
        let graph = graph_of(ranks, &listed("{\"0\": [0, 1, 2, 3], \"1\": [4, 5, 6, 7]}")).unwrap();
        assert_two_rings_of_four(&graph);
        assert!(graph.warnings().is_empty());
        let graph = graph_of(ranks, &Context::default()).unwrap();
        assert_two_rings_of_four(&graph);
        assert_eq!(graph.warnings().len(), 1);
        assert!(
            graph.warnings()[0].contains("group `0` of ranks 0 1 2 3, group `1` of ranks 4 5 6 7; a file"),
            "{:?}",
            graph.warnings()
        );
    }
    let named = eight("pg_name", |rank| text(["tp0", "tp1"][half(rank) as usize]));
    assert_two_rings_of_four(&graph_of(&named, &Context::default()).unwrap());
    let dimensions = eight("involved_dim", |_| truths(&[true, false]));
    assert_two_rings_of_four(&graph_of(&dimensions, &within(&[4, 2])).unwrap());
}

/// Without a name, under an empty one, under 0 that no file lists, in all dimensions: ASTRA-sim's default group.
#[test]
fn all_ranks_are_the_group_of_those_that_name_none() {
    let one_ring = |ranks: &[Vec<Vec<u8>>], context: &Context| {
        let graph = graph_of(ranks, context).unwrap();
        assert_eq!(pairs(&graph), rings(&[&[0, 1, 2, 3, 4, 5, 6, 7]]));
        assert_eq!((end_ns(&graph), graph.messages().0), (14_000, 112));
        assert!(graph.warnings().is_empty());
    };
    let others = listed("{\"1\": [0, 1, 2, 3], \"2\": [4, 5, 6, 7]}");
    let none: Vec<_> = (0..8).map(|_| vec![collective(1, 0, 1 << 20, &[])]).collect();
    for context in [Context::default(), others] {
        one_ring(&none, &context);
        one_ring(&eight("pg_name", |_| text("")), &context);
        one_ring(&eight("pg_name", |_| text("0")), &context);
    }
    for (dimensions, context) in [
        (vec![true, true], Context::default()),
        (vec![true, true], within(&[4, 2])),
        (vec![true, true, false], within(&[4, 2])),
    ] {
        one_ring(&eight("involved_dim", |_| truths(&dimensions)), &context);
    }
}

#[test]
fn the_first_dimension_is_that_of_neighbouring_ranks() {
    let of = |dimensions: &[bool], sizes: &[u32]| {
        pairs(&graph_of(&eight("involved_dim", |_| truths(dimensions)), &within(sizes)).unwrap())
    };
    assert_eq!(of(&[false, true], &[4, 2]), rings(&[&[0, 4], &[1, 5], &[2, 6], &[3, 7]]));
    assert_eq!(of(&[true, false, true], &[2, 2, 2]), rings(&[&[0, 1, 4, 5], &[2, 3, 6, 7]]));
    assert_eq!(of(&[false, true, true], &[2, 2, 2]), rings(&[&[0, 2, 4, 6], &[1, 3, 5, 7]]));
    assert_eq!(of(&[false, false], &[4, 2]), [], "a group of one rank sends nothing");
    let refused = |dimensions: &[bool], sizes: &[u32]| {
        graph_of(&eight("involved_dim", |_| truths(dimensions)), &within(sizes)).unwrap_err()
    };
    let unknown = refused(&[true, false], &[]);
    assert!(unknown.position.starts_with("t.0.et: byte 9 (node 1"), "{unknown}");
    assert_eq!(
        unknown.problem,
        "`involved_dim` leaves out a dimension, and the sizes of dimensions are not known"
    );
    assert_eq!(refused(&[true], &[4, 2]).problem, "`involved_dim` has 1 dimensions, and `dimensions` 2");
    assert_eq!(refused(&[true, false], &[4, 3]).problem, "8 ranks, and dimensions of [4, 3]");
    // A name that is listed comes before dimensions.
    let both = eight("involved_dim", |_| truths(&[true, false]))
        .into_iter()
        .map(|nodes| nodes.into_iter().map(|node| with(node, "pg_name", &text("7"))).collect());
    let context = Context { dimensions: vec![4, 2], ..listed("{\"7\": [0, 1, 2, 3, 4, 5, 6, 7]}") };
    assert_eq!(end_ns(&graph_of(&both.collect::<Vec<_>>(), &context).unwrap()), 14_000);
}

/// The trace of astra-sim#339: four of eight ranks reduce, then all gather.
#[test]
fn groups_of_several_sizes_share_ranks() {
    let named = |id, comm_type, group, after: &[u64]| {
        with(collective(id, comm_type, 1024, after), "pg_name", &text(group))
    };
    let rank = |rank: u64| match rank {
        0..4 => vec![named(1, 2, "1", &[])],
        _ => vec![named(0, 0, "2", &[]), named(1, 2, "1", &[0])],
    };
    let ranks: Vec<_> = (0..8).map(rank).collect();
    for context in [listed("{\"1\": [0, 1, 2, 3, 4, 5, 6, 7], \"2\": [4, 5, 6, 7]}"), Context::default()] {
        let graph = graph_of(&ranks, &context).unwrap();
        assert_eq!(graph.messages().0, 4 * 6 + 8 * 7);
        // Ranks 4 to 7 come after 6 us, and rank 4 forwards what it has then.
        assert_eq!(end_ns(&graph), 6000 + 7000);
    }
}

#[test]
fn a_listed_order_is_that_of_the_ring() {
    let ranks = eight("pg_name", |_| text("1"));
    let graph = graph_of(&ranks, &listed("{\"1\": [0, 2, 4, 6, 1, 3, 5, 7]}")).unwrap();
    assert_eq!(pairs(&graph), rings(&[&[0, 2, 4, 6, 1, 3, 5, 7]]));
}

#[test]
fn a_group_of_one_rank_passes_at_once() {
    let ranks = eight("pg_name", int32);
    let json: Vec<String> = (0..8).map(|rank| format!("\"{rank}\": [{rank}]")).collect();
    let graph = graph_of(&ranks, &listed(&format!("{{{}}}", json.join(", ")))).unwrap();
    assert_eq!((graph.messages().0, end_ns(&graph)), (0, 0));
}

/// The trace of one rank alone, and a group that one rank alone names: others are missing.
#[test]
fn a_rank_alone_has_no_collective_that_nothing_lists() {
    let alone = |ranks: &[Vec<Vec<u8>>]| graph_of(ranks, &Context::default()).unwrap_err().problem;
    let all = "rank 0 alone takes part in a collective of all ranks";
    assert_eq!(alone(&[vec![collective(1, 0, 1 << 20, &[])]]), all);
    let seven = eight("pg_name", |rank| int32(rank / 7));
    assert_eq!(alone(&seven), "rank 7 alone takes part in a collective of group `1`");
}

/// PyTorch's list of groups in a trace of its own; two groups may share a name where no rank is in both.
#[test]
fn groups_that_pytorch_noted_in_the_traces_are_read() {
    let noted = |groups: &str| {
        let mut node = [integer(1, 0), counted(2, b"## process_group:init ##"), integer(3, 1)].concat();
        node.extend(counted(8, &counted(1, format!("['[{groups}]']").as_bytes())));
        node
    };
    let all = "{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"ranks\": [], \"group_size\": 8}";
    let job = |groups: &dyn Fn(u64) -> String, name: &str| {
        let rank =
            |rank| vec![noted(&groups(rank)), with(collective(1, 0, 1 << 20, &[]), "pg_name", &text(name))];
        graph_of(&(0..8).map(rank).collect::<Vec<_>>(), &Context::default())
    };
    let halves = |rank: u64| {
        let ranks = if rank < 4 { "0, 1, 2, 3" } else { "4, 5, 6, 7" };
        format!("{all}, {{\"pg_name\": \"3\", \"ranks\": [{ranks}], \"group_size\": 4}}")
    };
    let graph = job(&halves, "3").unwrap();
    assert_two_rings_of_four(&graph);
    assert!(graph.warnings().is_empty());
    assert_eq!(end_ns(&job(&halves, "0").unwrap()), 14_000);
    let error = job(&halves, "4").unwrap_err();
    assert_eq!(error.problem, "a collective of group `4`, which the trace does not list");
    let larger = |_| all.replace('8', "16");
    assert_eq!(
        job(&larger, "0").unwrap_err().to_string(),
        "t.8.et: the trace of rank 8 is not there, and group `0` of 16 ranks has that rank; put the files of all ranks beside \
         each other, numbered from 0"
    );
    let cut = job(&|_| "{\"pg_name\"".to_owned(), "0").unwrap_err();
    assert!(cut.problem.starts_with("its process groups are no JSON: "), "{cut}");
    assert!(cut.position.starts_with("t.0.et: byte 9 (node 0, `## process_group:init ##`)"), "{cut}");
}

#[test]
fn what_is_wrong_with_a_group_is_named() {
    let halves = eight("pg_name", |rank| int32(rank / 4));
    let problem = |json: &str| graph_of(&halves, &listed(json)).unwrap_err();
    let stranger = problem("{\"0\": [0, 1, 2], \"1\": [4, 5, 6, 7]}");
    assert!(stranger.position.starts_with("t.3.et: byte 9 (node 1"), "{stranger}");
    assert_eq!(stranger.problem, "a collective of group `0` of comm_group.json, which rank 3 is not in");
    let unlisted = problem("{\"0\": [0, 1, 2, 3]}");
    assert_eq!(unlisted.problem, "a collective of group `1`, which comm_group.json does not list");
    let absent = problem("{\"0\": [0, 1, 2, 3], \"1\": [4, 5, 6, 7, 8]}").to_string();
    assert_eq!(
        absent,
        "t.8.et: the trace of rank 8 is not there, and group `1` of comm_group.json has that rank; put the files of all \
         ranks beside each other, numbered from 0"
    );
    let late = graph_of(
        &eight("pg_name", |rank| int32(u64::from(rank == 5))),
        &listed("{\"0\": [0, 1, 2, 3, 4, 5, 6, 7], \"1\": [5]}"),
    );
    assert_eq!(late.unwrap_err().problem, "rank 5 never joins collective 0 of group `0` of comm_group.json");
    let list = eight("pg_name", |_| truths(&[true]));
    assert!(
        graph_of(&list, &Context::default()).unwrap_err().problem.contains("neither a text nor an integer")
    );
    let read = |json: &str| Groups::read(json.as_bytes(), "g.json").unwrap_err().to_string();
    assert!(
        read("{\n\"0\": [0,\n").starts_with("g.json:3: this is no JSON: "),
        "{}",
        read("{\n\"0\": [0,\n")
    );
    assert!(read("[]").starts_with("g.json: this is no object of groups; write groups as {\"0\": [0, 1]"));
    for wrong in ["7", "[]", "[-1]", "[1.5]", "[\"1\"]", "[4294967296]"] {
        assert!(read(&format!("{{\"a\": {wrong}}}")).contains("group `a` is no list of ranks"), "{wrong}");
    }
    assert!(read("{\"a\": [1, 1]}").contains("group `a` lists a rank twice"));
}
