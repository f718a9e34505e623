//! Steps of training: closed forms of time and bytes for each dimension, where nothing contends.

use anabranch_work::Accelerator;
use anabranch_work::links::{AlphaBeta, run};
use anabranch_work::training::Training;
use anabranch_work::{Act, Graph};

const LINKS: AlphaBeta = AlphaBeta { alpha_ps: 1_000_000, beta_ps: 40.0 };
const FREE: AlphaBeta = AlphaBeta { alpha_ps: 0, beta_ps: 0.0 };
const HIDDEN: u64 = 1024;
const TOKENS: u64 = 2048;

/// Two layers on one rank, three micro-batches of one sequence.
fn alone() -> Training {
    Training {
        layers: 2,
        hidden: HIDDEN,
        feed_forward: 4 * HIDDEN,
        sequence: TOKENS,
        micro_batch: 1,
        micro_batches: 3,
        experts: 1,
        experts_per_token: 1,
        tensor: 1,
        pipeline: 1,
        data: 1,
        expert: 1,
        value_bytes: 2,
        gradient_bytes: 4,
        bucket_bytes: u64::MAX,
        overlap: false,
        accelerator: Accelerator { flops: 1_000_000_000_000_000, memory_bytes_per_s: u64::MAX },
        expert_blocks: None,
    }
}

fn made(training: &Training) -> Graph {
    let graph = training.graph().unwrap();
    graph.check().unwrap();
    graph
}

fn end_ps(training: &Training, mut links: AlphaBeta) -> u64 {
    run(&made(training), &mut links).iter().map(|times| times.end_ps).max().unwrap()
}

/// Attention and the feed-forward network of a layer, forward, at 1 PFLOPS: 2 operations for a weight and token, and
/// 4 s h for the scores of each token.
fn forward_ps(ranks: u64) -> (u64, u64) {
    let attention = TOKENS * (8 * HIDDEN * HIDDEN + 4 * TOKENS * HIDDEN);
    let network = TOKENS * 16 * HIDDEN * HIDDEN;
    let ps = |operations: u64| (operations / ranks).div_ceil(1000);
    (ps(attention), ps(network))
}

fn layer_ps(ranks: u64) -> u64 {
    let (attention, network) = forward_ps(ranks);
    3 * (attention + network)
}

/// Ring of n ranks: 2 (n - 1) turns of an n-th.
fn ring_ps(ranks: u64, bytes: u64) -> u64 {
    2 * (ranks - 1) * (LINKS.alpha_ps + (bytes as f64 / ranks as f64 * LINKS.beta_ps) as u64)
}

#[track_caller]
fn near(found: u64, expected: u64) {
    assert!(found.abs_diff(expected) < 2_000, "{found} ps, {expected} expected");
}

#[test]
fn one_rank_computes_forward_and_twice_as_long_backward() {
    near(end_ps(&alone(), LINKS), 3 * 2 * layer_ps(1));
    // Weights that the memory gives at 1 GB/s: 12 h^2 of 2 bytes, thrice, in each layer and micro-batch.
    let slow = Accelerator { memory_bytes_per_s: 1_000_000_000, ..alone().accelerator };
    near(end_ps(&Training { accelerator: slow, ..alone() }, LINKS), 3 * 2 * 3 * 24 * HIDDEN * HIDDEN * 1000);
}

#[test]
fn tensor_ranks_add_partial_sums_four_times_a_layer() {
    let sum = ring_ps(4, TOKENS * HIDDEN * 2);
    near(end_ps(&Training { tensor: 4, ..alone() }, LINKS), 3 * 2 * (layer_ps(4) + 4 * sum));
}

#[test]
fn stages_take_turns_with_one_bubble_of_the_pipeline() {
    for (stages, micro_batches) in [(2, 3), (4, 4), (4, 16), (8, 3)] {
        let pipeline = Training { layers: stages, pipeline: stages, micro_batches, ..alone() };
        near(end_ps(&pipeline, FREE), u64::from(micro_batches + stages - 1) * layer_ps(1));
    }
    // A single micro-batch goes through all stages and back.
    let pipeline = Training { layers: 4, pipeline: 4, micro_batches: 1, ..alone() };
    let message = LINKS.alpha_ps + TOKENS * HIDDEN * 2 * 40;
    near(end_ps(&pipeline, LINKS), 4 * layer_ps(1) + 2 * 3 * message);
}

#[test]
fn a_stage_holds_as_many_micro_batches_as_stages_come_after_it() {
    // The first stage of four sends four micro-batches before the first gradient is back.
    let graph = made(&Training { layers: 4, pipeline: 4, micro_batches: 9, ..alone() });
    let times = run(&graph, &mut FREE.clone());
    let first = graph.nodes_of(0);
    let gradient_ps = first
        .clone()
        .filter(|&node| matches!(graph.node(node).act, Act::Recv { .. }))
        .map(|node| times[node as usize].end_ps)
        .min()
        .unwrap();
    let ahead = first.filter(|&node| {
        matches!(graph.node(node).act, Act::Send { .. }) && times[node as usize].end_ps <= gradient_ps
    });
    assert_eq!(ahead.count(), 4);
}

#[test]
fn replicas_add_gradients_at_the_end_or_behind_the_layers_that_follow() {
    let weights = 12 * HIDDEN * HIDDEN * 4;
    let data = Training { data: 4, ..alone() };
    near(end_ps(&data, LINKS), 3 * 2 * layer_ps(1) + ring_ps(4, 2 * weights));
    let buckets = Training { bucket_bytes: 1, ..data };
    near(end_ps(&buckets, LINKS), 3 * 2 * layer_ps(1) + 2 * ring_ps(4, weights));
    // The last layer's are under way while the first one computes backward, which takes less.
    let (attention, network) = forward_ps(1);
    let overlapping = Training { overlap: true, ..buckets };
    let sum = ring_ps(4, weights);
    let hidden = sum.min(2 * (attention + network));
    near(end_ps(&overlapping, LINKS), 3 * 2 * layer_ps(1) + 2 * sum - hidden);
}

#[test]
fn experts_get_tokens_and_give_them_back() {
    // Four replicas, eight experts of which each token goes to two; their weights have no other replica.
    let expert = Training { data: 4, expert: 4, experts: 8, experts_per_token: 2, ..alone() };
    let exchange = LINKS.alpha_ps + 2 * TOKENS * HIDDEN * 2 / 4 * 40;
    let (attention, network) = forward_ps(1);
    let layer = 3 * (attention + 2 * network) + 4 * exchange;
    near(end_ps(&expert, LINKS), 3 * 2 * layer + ring_ps(4, 2 * 4 * HIDDEN * HIDDEN * 4));
    // All tokens to one rank's experts: it computes for four.
    let own = expert.expert_bytes();
    let blocks = (0..16).map(|index| if index % 4 == 2 { own } else { 0 }).collect();
    let skewed = Training { expert_blocks: Some(blocks), ..expert };
    let exchange = LINKS.alpha_ps + own * 40;
    let layer = 3 * (attention + 8 * network) + 4 * exchange;
    near(end_ps(&skewed, LINKS), 3 * 2 * layer + ring_ps(4, 2 * 4 * HIDDEN * HIDDEN * 4));
}

#[test]
fn bytes_of_each_dimension_are_those_of_its_groups() {
    let training = Training {
        layers: 8,
        micro_batches: 5,
        tensor: 2,
        pipeline: 4,
        data: 6,
        expert: 3,
        experts: 6,
        experts_per_token: 2,
        ..alone()
    };
    let graph = made(&training);
    assert_eq!(graph.ranks(), 48);
    assert_eq!(graph.messages().0, training.messages().unwrap());
    let dense = Training { experts: 1, experts_per_token: 1, expert: 1, bucket_bytes: 1, ..training };
    assert_eq!(made(&dense).messages().0, dense.messages().unwrap());
    let bytes: Vec<(&str, u64)> = graph.parts().iter().map(|part| (part.name.as_str(), part.bytes)).collect();
    let (passes, state) = (5 * 8, TOKENS * HIDDEN * 2);
    // Two sums a layer, there and back: 2 (n - 1) times their size in a group, six groups a stage.
    let tensor = passes * 6 * 2 * 2 * state;
    // Of what a rank has two thirds leave it: four times a layer, 12 ranks a stage.
    let expert = passes * 12 * 4 * (2 * state / 2) * 2 / 3;
    let pipeline = 5 * 3 * 2 * 6 * state;
    // 24 ranks have 2 layers' attention, half each, in groups of six; and of experts 2 of 6, in groups of two.
    let shared = 8 * 2 * 5 * (2 * 2 * HIDDEN * HIDDEN * 4);
    let experts = 8 * 3 * 2 * (2 * 2 * 8 * HIDDEN * HIDDEN * 4);
    let expected = [
        ("compute", 0),
        ("tensor", tensor),
        ("expert", expert),
        ("pipeline", pipeline),
        ("data", shared + experts),
    ];
    for ((name, found), (expected_name, expected)) in bytes.iter().zip(expected) {
        assert_eq!(*name, expected_name);
        // Blocks are whole bytes.
        assert!(found.abs_diff(expected) <= expected / 100_000, "{name}: {found}, {expected} expected");
    }
}

/// Two ranks of tensor groups, six replicas of which three have the experts among them, two stages.
#[test]
fn each_dimension_is_of_its_own_ranks() {
    let training = Training {
        tensor: 2,
        pipeline: 2,
        data: 6,
        expert: 3,
        experts: 6,
        gradient_bytes: 4,
        bucket_bytes: u64::MAX,
        ..alone()
    };
    let graph = made(&training);
    // Gradients of two experts, halves of which go between two replicas.
    let expert_gradient = 2 * 2 * 4 * HIDDEN * HIDDEN * 4 / 2;
    let place = |rank: u32| (rank % 2, rank / 2 % 6, rank / 12);
    let mut seen = std::collections::BTreeSet::new();
    for rank in 0..graph.ranks() {
        for node in graph.nodes_of(rank).map(|node| graph.node(node)) {
            let Act::Send { to, bytes, .. } = node.act else { continue };
            let ((tensor, data, stage), (to_tensor, to_data, to_stage)) = (place(rank), place(to));
            let (same_tensor, same_data, same_stage) =
                (tensor == to_tensor, data == to_data, stage == to_stage);
            let part = graph.parts()[node.part as usize].name.as_str();
            let is_right = match part {
                "tensor" => same_data && same_stage,
                "expert" => same_tensor && same_stage && data / 3 == to_data / 3,
                "pipeline" => same_tensor && same_data && !same_stage,
                _ if bytes == expert_gradient => same_tensor && same_stage && data.abs_diff(to_data) == 3,
                _ => same_tensor && same_stage,
            };
            assert!(is_right, "{part}: {rank} to {to}");
            seen.insert((part, bytes == expert_gradient));
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

#[test]
fn shapes_that_their_parallelism_does_not_divide_are_refused() {
    let cases = [
        (Training { layers: 3, pipeline: 2, ..alone() }, "3 layers in 2 stages"),
        (Training { experts: 6, expert: 4, data: 4, ..alone() }, "6 experts and 4 replicas in 4 parts"),
        (Training { experts: 4, expert: 4, data: 6, ..alone() }, "4 experts and 6 replicas in 4 parts"),
        (Training { experts_per_token: 2, ..alone() }, "2 of 1 experts for each token"),
        (Training { tensor: 3, ..alone() }, "widths of 1024 and 4096 in 3 parts"),
        (Training { tensor: 4, sequence: 6, ..alone() }, "6 tokens in 4 parts"),
        (
            Training { hidden: 1 << 24, sequence: 1 << 24, ..alone() },
            "8193 TB of a micro-batch's states, or of weights",
        ),
        (Training { tensor: 1 << 10, data: 1 << 10, pipeline: 2, ..alone() }, "2097152 ranks"),
    ];
    for (training, problem) in cases {
        assert_eq!(training.graph().unwrap_err().problem, problem);
        assert_eq!(training.messages().unwrap_err().problem, problem);
    }
}

/// STAGE (astra-sim/symbolic_tensor_graph) with `--dp 2 --tp 4 --num_stacks 2 --batch 4 --micro_batch 2 --seq 1024
/// --dmodel 1024 --dff 4096 --tpsp 0`, a byte a value: each tensor group has 16 all-reduces of 1,048,576 bytes besides 4 of
/// embeddings, and each rank adds 3,145,728 bytes of gradients a layer, of each micro-batch where ours adds their sum.
#[test]
fn sums_and_gradients_are_those_of_stage() {
    let training = Training {
        sequence: 1024,
        micro_batches: 2,
        tensor: 4,
        data: 2,
        value_bytes: 1,
        gradient_bytes: 1,
        bucket_bytes: 1,
        ..alone()
    };
    let graph = made(&training);
    let part = |name: &str| graph.parts().iter().find(|part| part.name == name).unwrap().bytes;
    assert_eq!(part("tensor"), 2 * 16 * 2 * 3 * 1_048_576);
    assert_eq!(part("data"), 4 * 2 * 2 * 3_145_728);
}
