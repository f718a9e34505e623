//! Workloads of AICB: closed forms of single layers, groups of ranks, and what is refused.

use anabranch_work::aicb::read;
use anabranch_work::links::{AlphaBeta, run};
use anabranch_work::{Act, Graph};
use std::collections::BTreeSet;

const LINKS: AlphaBeta = AlphaBeta { alpha_ps: 1_000_000, beta_ps: 40.0 };
const US: u64 = 1_000_000;

fn made(text: &str, ranks: Option<u32>) -> Graph {
    let graph = read(text, "w.txt", ranks).unwrap();
    graph.check().unwrap();
    graph
}

fn end_ps(text: &str, ranks: Option<u32>) -> u64 {
    run(&made(text, ranks), &mut LINKS.clone()).iter().map(|times| times.end_ps).max().unwrap()
}

fn transformer(groups: &str, layers: &[&str]) -> String {
    format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD {groups}\n{}\n{}\n", layers.len(), layers.join("\n"))
}

/// Rounds of a ring or an exchange, each of a part.
fn rounds_ps(rounds: u64, ranks: u64, bytes: u64) -> u64 {
    rounds * (LINKS.alpha_ps + bytes / ranks * 40)
}

#[test]
fn a_layer_takes_its_passes_one_after_the_other() {
    let layer = "a -1 10000 ALLREDUCE 80000 20000 ALLGATHER 40000 30000 REDUCESCATTER 60000 100";
    let text = transformer("model_parallel_NPU_group: 4 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 8", &[layer]);
    // Times are nanoseconds, with 100 of them after each collective; weights are added by two replicas.
    let expected =
        60 * US + rounds_ps(6, 4, 80_000) + rounds_ps(3, 4, 40_000) + rounds_ps(1, 2, 60_000) + 3 * 100_000;
    assert_eq!(end_ps(&text, None), expected);
    // Without groups nothing is sent, nor waited for.
    let alone = text.replace("group: 4", "group: 1").replace("all_gpus: 8", "all_gpus: 1");
    assert_eq!(end_ps(&alone, None), 60 * US);
}

#[test]
fn experts_exchange_and_weights_are_added_beside_the_layers_before() {
    // Two layers, the second first: its weights take longer than the first one's passes.
    let first = "a -1 1000 NONE 0 2000 NONE 0 3000 NONE 0 0";
    let second = "b -1 1000 ALLTOALL_EP 4096 2000 ALLTOALL_EP 4096 3000 ALLREDUCE 800000 0";
    let groups = "model_parallel_NPU_group: 2 ep: 4 pp: 1 all_gpus: 16";
    let exchange = LINKS.alpha_ps + 4096 / 4 * 40;
    let until = (2 + 2 + 3) * US + 2 * exchange;
    let sum = rounds_ps(14, 8, 800_000);
    assert!(sum > 5 * US);
    assert_eq!(end_ps(&transformer(groups, &[first, second]), None), until + sum);
    // What is not there is not waited for, and weights of one group follow each other.
    let short = "b -1 1000 NONE 0 2000 NONE 0 3000 ALLREDUCE_DP_EP 8 0";
    assert_eq!(end_ps(&transformer(groups, &[first, short]), None), 12 * US);
    let both = transformer(groups, &[&second.replace("4096", "0"), &second.replace("4096", "0")]);
    assert_eq!(end_ps(&both, None), 7 * US + 2 * sum);
}

#[test]
fn rules_order_passes_as_they_do() {
    let layer = "a -1 1000 ALLREDUCE 4096 2000 ALLREDUCE 8192 3000 ALLREDUCE 40960 0";
    let text = |rule: &str| format!("{rule}\n2\n{layer}\n{layer}\n");
    let sum = |bytes: u64| rounds_ps(6, 4, bytes);
    // DATA: two layers forward, both weights, the second layer's inputs; sums beside what follows.
    assert_eq!(end_ps(&text("DATA"), Some(4)), (2 + 3) * US + (2 * sum(40_960)).max(5 * US + sum(40_960)));
    // MODEL: inputs beside weights, but the first layer's.
    let beside = (3 * US).max(sum(8192));
    assert_eq!(end_ps(&text("MODEL"), Some(4)), 2 * (US + sum(4096)) + 2 * US + beside + 5 * US);
    let whole = 2 * (6 * US + sum(4096) + sum(8192));
    assert_eq!(end_ps(&text("HYBRID_TRANSFORMER"), Some(4)), whole);
}

#[test]
fn forward_passes_are_repeated_from_the_last_checkpoint() {
    let layer = "a -1 1000 NONE 0 2000 NONE 0 3000 NONE 0 0";
    let text = transformer("all_gpus: 2 checkpoints: 2 0 2 checkpoint_initiates: 2 1 3", &[layer; 4]);
    // Layer 0 again before layer 1, layer 2 before layer 3.
    assert_eq!(end_ps(&text, None), (4 * 6 + 2) * US);
}

#[test]
fn groups_are_of_neighbours_and_bytes_those_of_the_lines() {
    let layers = [
        "a -1 0 ALLGATHER 3000 0 ALLTOALL_EP 6000 0 REDUCESCATTER_DP_EP 9000 0",
        "b -1 0 NONE 5 0 ALLREDUCE 1 0 ALLREDUCE 12000 0",
    ];
    let text = transformer("model_parallel_NPU_group: 2 ep: 3 pp: 2 ga: 1 all_gpus: 24 pp_comm: 9", &layers);
    let graph = made(&text, None);
    assert_eq!(graph.ranks(), 24);
    assert_eq!(graph.warnings().len(), 1);
    // Six replicas in each of two stages.
    let place = |rank: u32| (rank % 2, rank / 2 % 6, rank / 12);
    let mut seen = BTreeSet::new();
    for rank in 0..24 {
        for node in graph.nodes_of(rank).map(|node| graph.node(node)) {
            let Act::Send { to, bytes, .. } = node.act else { continue };
            let ((tensor, data, stage), (to_tensor, to_data, to_stage)) = (place(rank), place(to));
            assert_eq!(stage, to_stage);
            let part = graph.parts()[node.part as usize].name.as_str();
            assert!(match (part, bytes) {
                ("tensor", 1500 | 1) => data == to_data && tensor != to_tensor,
                ("expert", 2000) => tensor == to_tensor && data / 3 == to_data / 3,
                ("data", 4500) => tensor == to_tensor && data.abs_diff(to_data) == 3,
                ("data", 2000) => tensor == to_tensor,
                _ => false,
            });
            seen.insert((part, bytes));
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
    let part = |name: &str| graph.parts().iter().find(|part| part.name == name).unwrap().bytes;
    // A gather sends n - 1 times what it gathers in a group, a sum twice that; a sum of one byte is one of two.
    assert_eq!(part("tensor"), 12 * 3000 + 12 * 2 * 2);
    assert_eq!(part("expert"), 24 * 4000);
    assert_eq!(part("data"), 12 * 9000 + 4 * 2 * 5 * 12_000);
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let layer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1";
    let good = transformer("model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4", &[layer]);
    made(&good, None);
    for (text, expected) in [
        (String::new(), "w.txt:1: an empty file"),
        (
            good.replace("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_DLRM"),
            "w.txt:1: HYBRID_DLRM: not read; begin",
        ),
        (good.replace("ep: 1", "tp: 1"), "w.txt:1: tp:: unknown; leave"),
        (good.replace("ep: 1", "ep: one"), "w.txt:1: ep: one: no whole number; write"),
        (good.replace(" all_gpus: 4", ""), "w.txt:1: no number of ranks; add `all_gpus: N`"),
        (good.replace("all_gpus: 4", "all_gpus: 5"), "w.txt:1: 5 ranks in groups of 2 x 1 in 1 stages; let"),
        (good.replace("ep: 1", "ep: 0"), "w.txt:1: 4 ranks in groups of 2 x 0 in 1 stages"),
        (good.replace("\n1\n", "\n2\n"), "w.txt:2: 2 layers, and 1 follow; write"),
        (good.replace("\n1\n", "\nx\n"), "w.txt:2: x: no number of layers"),
        (good.replace("0 1\n", "0\n"), "w.txt:3: 11 columns; write 12"),
        (
            good.replace("1 NONE 0 1\n", "1 ALLREDUCEALLTOALL 0 1\n"),
            "w.txt:3: collective of weight gradients: ALLREDUCEALLTOALL",
        ),
        (
            good.replace("a -1 1 NONE 0", "a -1 1 BROADCAST 0"),
            "w.txt:3: collective forward: BROADCAST: not read; take",
        ),
        (good.replace("a -1 1 NONE 0", "a -1 1.5 NONE 0"), "w.txt:3: time forward: 1.5: no whole number"),
        (good.replace("a -1 1 NONE 0", "a -1 1 NONE -2"), "w.txt:3: size forward: -2: no whole number"),
        (good.replace("pp: 1", "pp: 1 checkpoints: 1 7"), "w.txt:1: checkpoints: layer 7 of 1"),
        (
            good.replace("pp: 1", "pp: 1 checkpoint_initiates: 1 0"),
            "w.txt:1: checkpoint_initiates: no checkpoint up to layer 0; name",
        ),
        (
            good.replace("1 NONE 0 1\n", "1 ALLREDUCE 9 1\n").replace("all_gpus: 4", "all_gpus: 1000000"),
            "w.txt: 999998000000 messages of 1000000 ranks",
        ),
        (good.replace("all_gpus: 4", "all_gpus: 4000000000"), "w.txt:1: 4000000000 ranks; ask for"),
        (
            transformer("all_gpus: 2", &["a -1 1125899906842624 NONE 0 1 NONE 0 1 NONE 0 1"; 5]),
            "w.txt: 0 bytes, and 56294995342",
        ),
    ] {
        let error = read(&text, "w.txt", None).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}{error}");
    }
}
