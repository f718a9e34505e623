//! `training` of a `[[traffic]]` of kind `graph`: the shape of a model and of its parallelism.

use anabranch_form::Form;
use anabranch_form::unit::{Bytes, Count, Flag, Whole};
use anabranch_work::Accelerator;
use anabranch_work::training::Training;

const DEGREE: Count = Count { least: 1, most: 1 << 20 };
const WIDTH: Whole = Whole { least: 1, most: 1 << 24 };
/// Bytes of a stage's gradients before any are added: all of them.
const BUCKET_MOST: u64 = u64::MAX >> 1;

/// A layer of one rank, to be filled.
pub(super) fn fresh() -> Training {
    Training {
        layers: 1,
        hidden: 1,
        feed_forward: 0,
        sequence: 1,
        micro_batch: 1,
        micro_batches: 1,
        experts: 1,
        experts_per_token: 1,
        tensor: 1,
        pipeline: 1,
        data: 1,
        expert: 1,
        value_bytes: 2,
        gradient_bytes: 2,
        bucket_bytes: BUCKET_MOST,
        overlap: true,
        accelerator: Accelerator { flops: 1, memory_bytes_per_s: 1 },
        expert_blocks: None,
    }
}

/// Shows the keys.
pub(super) fn visit(form: &mut impl Form, training: &mut Training) {
    visit_model(form, training);
    visit_parallelism(form, training);
    visit_gradients(form, training);
}

fn visit_model(form: &mut impl Form, training: &mut Training) {
    form.required(
        "layers",
        DEGREE,
        &mut training.layers,
        "Layers, each of attention and a feed-forward network.",
    );
    form.required("hidden", WIDTH, &mut training.hidden, "Width of a token's state.");
    let mut feed_forward = (training.feed_forward > 0).then_some(training.feed_forward);
    form.optional(
        "feed_forward",
        WIDTH,
        &mut feed_forward,
        "Width inside the feed-forward network, of two matrices. Default: four times `hidden`.",
    );
    training.feed_forward = feed_forward.unwrap_or(4 * training.hidden);
    form.required("sequence", WIDTH, &mut training.sequence, "Tokens of a sequence.");
    form.key("micro_batch", WIDTH, &mut training.micro_batch, "Sequences of a micro-batch.");
    form.key(
        "micro_batches",
        DEGREE,
        &mut training.micro_batches,
        "Micro-batches of a step in each pipeline, forward and backward in the order 1F1B.",
    );
    form.key(
        "experts",
        DEGREE,
        &mut training.experts,
        "Experts of each layer: networks of which each token goes to some. With 1 there are none, and all tokens go through \
         the same one.",
    );
    form.key(
        "experts_per_token",
        DEGREE,
        &mut training.experts_per_token,
        "Experts that each token goes to.",
    );
    let value = Bytes { least: 1, most: 16 };
    form.key("value", value, &mut training.value_bytes, "Size of a weight, and of a value between layers.");
}

fn visit_parallelism(form: &mut impl Form, training: &mut Training) {
    form.key(
        "tensor",
        DEGREE,
        &mut training.tensor,
        "Ranks that share the matrices of each layer: neighbours. They add their partial sums after attention and after the \
         feed-forward network, forward and backward, by an all-reduce of the micro-batch's states in a ring.",
    );
    form.key(
        "data",
        DEGREE,
        &mut training.data,
        "Replicas of the model, `tensor` ranks apart, which add their gradients by all-reduces in a ring.",
    );
    form.key(
        "pipeline",
        DEGREE,
        &mut training.pipeline,
        "Stages of as many layers each, `tensor` x `data` ranks apart. Each rank sends its part of the states on, and of \
         their gradients back.",
    );
    form.key(
        "expert",
        DEGREE,
        &mut training.expert,
        "Neighbouring replicas among which experts are divided: tokens go to them and back by direct all-to-alls, forward and \
         backward. An expert is whole, so that `tensor` ranks share out tokens instead, and add no sums behind it.",
    );
}

fn visit_gradients(form: &mut impl Form, training: &mut Training) {
    let value = Bytes { least: 1, most: 16 };
    form.key("gradient", value, &mut training.gradient_bytes, "Size of a gradient as replicas add it.");
    let mut bucket = (training.bucket_bytes < BUCKET_MOST).then_some(training.bucket_bytes);
    form.optional(
        "bucket",
        Bytes { least: 1, most: BUCKET_MOST },
        &mut bucket,
        "Gradients of layers, the last first, are added together once there are so many bytes. Default: those of a stage all \
         at once.",
    );
    training.bucket_bytes = bucket.unwrap_or(BUCKET_MOST);
    form.key(
        "overlap",
        Flag,
        &mut training.overlap,
        "Whether a bucket is added as soon as the last micro-batch has its gradients, beside what still computes; after all \
         of that if not.",
    );
}
