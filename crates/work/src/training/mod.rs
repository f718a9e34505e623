//! One step of training a transformer, from the shape of the model and of its parallelism.
//!
//! Tensor, pipeline, data and expert parallelism as Megatron-LM has them (Narayanan et al., "Efficient Large-Scale
//! Language Model Training on GPU Clusters", SC 2021; Shoeybi et al. 2019; Lepikhin et al., "GShard", 2020): what each
//! rank computes and sends follows from layers, widths and tokens. Embeddings, biases, norms, the router and the optimiser
//! are left out.

mod buckets;
mod layer;
mod layout;
mod step;

use crate::{Accelerator, Graph, WorkError};

/// Names of the parts of a step: computing, and the messages of each dimension.
pub const PARTS: [&str; 5] = ["compute", "tensor", "expert", "pipeline", "data"];

/// Most bytes that a rank has of anything: sums of them stay within 64 bits.
const BYTES_MAX: u128 = 1 << 50;

/// Model, its parallelism, and what computes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Layers, each of attention and a feed-forward network.
    pub layers: u32,
    /// Width of a token's state.
    pub hidden: u64,
    /// Width inside the feed-forward network.
    pub feed_forward: u64,
    /// Tokens of a sequence.
    pub sequence: u64,
    /// Sequences of a micro-batch.
    pub micro_batch: u64,
    /// Micro-batches of a step, in each pipeline.
    pub micro_batches: u32,
    /// Experts of a layer; one: its feed-forward network is for all tokens.
    pub experts: u32,
    /// Experts that each token goes to.
    pub experts_per_token: u32,
    /// Ranks that share each layer's matrices.
    pub tensor: u32,
    /// Stages, each of as many layers.
    pub pipeline: u32,
    /// Replicas of the model, which have tokens of their own.
    pub data: u32,
    /// Replicas among which experts are divided.
    pub expert: u32,
    /// Bytes of a weight, and of a value of an activation.
    pub value_bytes: u64,
    /// Bytes of a gradient, as replicas add them.
    pub gradient_bytes: u64,
    /// Gradients are added once this many bytes of a stage are there.
    pub bucket_bytes: u64,
    /// Whether they are while further layers still compute, or after all of them.
    pub overlap: bool,
    /// Speed of each rank.
    pub accelerator: Accelerator,
    /// What ranks of an expert group send each other to the experts, source by destination in bytes; the same of all if
    /// `None`.
    pub expert_blocks: Option<Vec<u64>>,
}

impl Training {
    /// Number of ranks.
    ///
    /// # Errors
    /// More than 2^20.
    pub fn ranks(&self) -> Result<u32, WorkError> {
        let ranks = u64::from(self.tensor) * u64::from(self.pipeline) * u64::from(self.data);
        u32::try_from(ranks).ok().filter(|&ranks| ranks <= 1 << 20).ok_or_else(|| {
            let problem = format!("{ranks} ranks");
            WorkError::new("training", problem, "let tensor x pipeline x data be at most 1048576")
        })
    }

    /// Number of messages of a step.
    ///
    /// # Errors
    /// A shape that its parallelism does not divide, or that is too large.
    pub fn messages(&self) -> Result<u64, WorkError> {
        self.check()?;
        let [tensor, pipeline, data, expert] =
            [self.tensor, self.pipeline, self.data, self.expert].map(u64::from);
        let product = |factors: &[u64]| factors.iter().fold(1u64, |all, &factor| all.saturating_mul(factor));
        let ring = |ranks: u64| product(&[2, ranks, ranks - 1]);
        let passes = product(&[u64::from(self.micro_batches), u64::from(self.layers)]);
        let sums = if self.has_experts() { 2 } else { 4 };
        let exchanges =
            if self.has_experts() { product(&[4, tensor, data / expert, expert, expert - 1]) } else { 0 };
        let buckets = |weights: u64| product(&[tensor, pipeline, self.buckets(weights).len() as u64]);
        let messages = [
            product(&[passes, data, sums, ring(tensor)]),
            product(&[passes, exchanges]),
            product(&[2, self.micro_batches.into(), pipeline - 1, tensor, data]),
            product(&[buckets(self.shared_weights()), ring(data)]),
            product(&[buckets(self.expert_weights()), expert, ring(data / expert)]),
        ]
        .into_iter()
        .fold(0, u64::saturating_add);
        Ok(messages)
    }

    /// Bytes that each rank of an expert group has for the experts, of one micro-batch.
    #[must_use]
    pub fn expert_bytes(&self) -> u64 {
        self.tokens() * u64::from(self.experts_per_token) * self.hidden * self.value_bytes
            / u64::from(self.tensor)
    }

    /// Makes the graph of one step. Ranks are numbered tensor first, then data, then pipeline.
    ///
    /// # Errors
    /// A shape that its parallelism does not divide.
    pub fn graph(&self) -> Result<Graph, WorkError> {
        self.check()?;
        step::graph(self)
    }

    /// Tokens of a micro-batch.
    fn tokens(&self) -> u64 {
        self.micro_batch * self.sequence
    }

    fn check(&self) -> Result<(), WorkError> {
        let refuse = |problem: String, hint: &str| Err(WorkError::new("training", problem, hint));
        self.ranks()?;
        if !self.layers.is_multiple_of(self.pipeline) {
            let problem = format!("{} layers in {} stages", self.layers, self.pipeline);
            return refuse(problem, "let `pipeline` divide `layers`");
        }
        if !self.experts.is_multiple_of(self.expert) || !self.data.is_multiple_of(self.expert) {
            let problem =
                format!("{} experts and {} replicas in {} parts", self.experts, self.data, self.expert);
            return refuse(problem, "let `expert` divide `experts` and `data`");
        }
        if self.experts_per_token > self.experts {
            let problem = format!("{} of {} experts for each token", self.experts_per_token, self.experts);
            return refuse(problem, "let `experts_per_token` be at most `experts`");
        }
        let product = |factors: &[u64]| factors.iter().fold(1u128, |all, &factor| all * u128::from(factor));
        let [layers, experts, per_token] = [self.layers, self.experts, self.experts_per_token].map(u64::from);
        let states = product(&[self.micro_batch, self.sequence, self.hidden])
            * u128::from(per_token * self.value_bytes);
        let weights =
            product(&[self.hidden, 4 * self.hidden + 2 * self.feed_forward]) * u128::from(experts * layers);
        let most = states.max(weights * u128::from(self.gradient_bytes.max(self.value_bytes)));
        if most > BYTES_MAX {
            let problem = format!("{} TB of a micro-batch's states, or of weights", most >> 40);
            return refuse(
                problem,
                "ask for fewer tokens, layers or experts, or smaller widths: 1024 TB at most",
            );
        }
        let parts = u64::from(self.tensor);
        if !self.hidden.is_multiple_of(parts) || !self.feed_forward.is_multiple_of(parts) {
            let problem = format!("widths of {} and {} in {parts} parts", self.hidden, self.feed_forward);
            return refuse(problem, "let `tensor` divide `hidden` and `feed_forward`");
        }
        if !self.tokens().is_multiple_of(parts) {
            let problem = format!("{} tokens in {parts} parts", self.tokens());
            return refuse(problem, "let `tensor` divide `micro_batch` x `sequence`");
        }
        Ok(())
    }
}
