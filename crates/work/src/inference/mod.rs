//! Inference served by ranks that fill caches and ranks that decode, as a graph.
//!
//! Prefill and decoding are apart, as in DistServe (Zhong et al., OSDI 2024) and Splitwise (Patel et al., ISCA 2024): a
//! prefill group makes a request's first token, its key-value cache goes to a decode group, which makes the others. How
//! long computing takes is stated, not modelled. A graph is fixed before it runs, so that requests are dealt to groups and
//! batches in the order of their arrival, whatever is free first.

mod dealing;
mod serving;

use crate::{Graph, MESSAGES_MAX, WorkError};

/// Names of the parts: times until requests arrive, computing of either kind of group, and messages.
pub const PARTS: [&str; 6] = ["arrival", "prefill", "decode", "tensor", "expert", "cache"];

/// Most bytes of a message: sums of them stay within 64 bits.
const BYTES_MAX: u128 = 1 << 50;

/// Model, groups of ranks, and the requests that they serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Inference {
    /// Layers, each of attention and a feed-forward network.
    pub layers: u32,
    /// Width of a token's state.
    pub hidden: u64,
    /// Heads of keys and values.
    pub kv_heads: u32,
    /// Width of a head.
    pub head: u64,
    /// Bytes of a value, of a state as of a cache.
    pub value_bytes: u64,
    /// Experts that each token goes to where there are some; 0: feed-forward networks are shared as attention is.
    pub experts_per_token: u32,
    /// Groups that fill caches.
    pub prefill: Prefill,
    /// Whether a layer's cache is sent once its attention is computed, and only the last one's with the first token; else
    /// that of all layers is sent with it.
    pub by_layer: bool,
    /// Groups that decode.
    pub decode: Decode,
    /// Requests in the order of their arrival.
    pub requests: Vec<Asked>,
}

/// Groups that make first tokens, one request after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefill {
    /// Number of groups.
    pub groups: u32,
    /// Ranks of each.
    pub tensor: u32,
    /// Time of all layers for a token of a prompt, in picoseconds.
    pub token_ps: u64,
}

/// Groups that make all other tokens, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decode {
    /// Number of groups.
    pub groups: u32,
    /// Ranks of each.
    pub tensor: u32,
    /// Neighbouring groups among which experts are divided; they take their steps together.
    pub expert: u32,
    /// Batches that a group has under way at once.
    pub slots: u32,
    /// Requests of a batch.
    pub batch: u32,
    /// Time of all layers for a step with one request, with two, and so on, in picoseconds; the last one for more.
    pub step_ps: Vec<u64>,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When it arrives, in picoseconds from the beginning.
    pub arrival_ps: u64,
    /// Tokens of its prompt, at least one.
    pub prompt_tokens: u64,
    /// Tokens that it gets, at least one.
    pub output_tokens: u64,
}

impl Inference {
    /// Number of ranks.
    ///
    /// # Errors
    /// More than 2^20.
    pub fn ranks(&self) -> Result<u32, WorkError> {
        let of = |groups: u32, tensor: u32| u64::from(groups) * u64::from(tensor);
        let ranks = of(self.prefill.groups, self.prefill.tensor) + of(self.decode.groups, self.decode.tensor);
        u32::try_from(ranks).ok().filter(|&ranks| ranks <= 1 << 20).ok_or_else(|| {
            let hint = "let groups x tensor of prefill and decode be at most 1048576 together";
            WorkError::new("inference", format!("{ranks} ranks"), hint)
        })
    }

    /// Number of messages.
    ///
    /// # Errors
    /// A shape that its groups do not divide, or that is too large.
    pub fn messages(&self) -> Result<u64, WorkError> {
        self.check()?;
        Ok(self.amounts().0)
    }

    /// Makes the graph. Ranks are numbered prefill group by prefill group, then decode group by decode group.
    ///
    /// # Errors
    /// A shape that its groups do not divide, or that is too large.
    pub fn graph(&self) -> Result<Graph, WorkError> {
        self.check()?;
        serving::graph(self)
    }

    /// Numbers of messages, and of nodes that compute.
    fn amounts(&self) -> (u64, u64) {
        let product = |factors: &[u64]| factors.iter().fold(1u64, |all, &factor| all.saturating_mul(factor));
        let (Prefill { tensor: filling, .. }, Decode { tensor, expert, .. }) = (&self.prefill, &self.decode);
        let [layers, filling, tensor, expert] = [self.layers, *filling, *tensor, *expert].map(u64::from);
        let ring = |ranks: u64| product(&[2, ranks, ranks - 1]);
        let exchanges = product(&[2, tensor, expert - 1]);
        let sums = if self.has_experts() { 1 } else { 2 };
        let a_step = if self.has_experts() { ring(tensor) + exchanges } else { sums * ring(tensor) };
        // Steps of each group of a batch, and those of the batch.
        let (mut of_groups, mut of_batches) = (0u64, 0u64);
        for batch in self.batches() {
            let steps: Vec<u64> = batch.groups.iter().map(|group| self.steps(group)).collect();
            of_groups =
                of_groups.saturating_add(steps.iter().fold(0, |all, &steps| all.saturating_add(steps)));
            of_batches = of_batches.saturating_add(steps.into_iter().max().unwrap_or(0));
        }
        let caches = product(&[self.decoded(), self.cache_moves().len() as u64]);
        let messages = [
            product(&[self.requests.len() as u64, layers, 2, ring(filling)]),
            product(&[caches, if self.by_layer { layers } else { 1 }]),
            product(&[of_groups, layers, a_step]),
        ];
        let nodes = [
            product(&[self.requests.len() as u64, layers, 2, filling]),
            product(&[of_batches, layers, 2, tensor, expert]),
        ];
        let sum = |all: &[u64]| all.iter().fold(0u64, |sum, &one| sum.saturating_add(one));
        (sum(&messages), sum(&nodes))
    }

    fn check(&self) -> Result<(), WorkError> {
        let refuse = |problem: String, hint: &str| Err(WorkError::new("inference", problem, hint));
        self.ranks()?;
        let Decode { groups, tensor, expert, .. } = self.decode;
        if self.requests.is_empty() {
            return refuse("no request".to_owned(), "ask for at least one");
        }
        if self.has_experts() && !groups.is_multiple_of(expert) {
            return refuse(
                format!("{groups} groups that decode in parts of {expert}"),
                "let `expert` divide `groups` of decode",
            );
        }
        if !self.has_experts() && expert > 1 {
            let problem = format!("no experts for {expert} groups that decode");
            return refuse(problem, "give `experts_per_token`, or leave `expert` out");
        }
        for (name, tensor) in [("prefill", self.prefill.tensor), ("decode", tensor)] {
            if !self.kv_heads.is_multiple_of(tensor) || !self.hidden.is_multiple_of(tensor.into()) {
                let problem =
                    format!("{} heads and a width of {} in {tensor} parts", self.kv_heads, self.hidden);
                return refuse(problem, &format!("let `tensor` of {name} divide `kv_heads` and `hidden`"));
            }
        }
        if self.has_experts() && self.hidden * self.value_bytes / u64::from(tensor) < u64::from(expert) {
            let problem = format!("a state of {} bytes for {expert} groups", self.hidden * self.value_bytes);
            return refuse(problem, "let `expert` be at most the bytes of a rank's part of a state");
        }
        let product = |factors: &[u64]| factors.iter().fold(1u128, |all, &factor| all * u128::from(factor));
        let prompt = self.requests.iter().map(|asked| asked.prompt_tokens).max().unwrap_or(0);
        let [heads, layers, per_token, batch] =
            [self.kv_heads, self.layers, self.experts_per_token.max(1), self.decode.batch].map(u64::from);
        let most = [
            product(&[prompt, 2, layers, heads, self.head, self.value_bytes]),
            product(&[prompt.max(batch), self.hidden, self.value_bytes]) * u128::from(per_token),
        ];
        if let Some(bytes) = most.into_iter().find(|&bytes| bytes > BYTES_MAX) {
            let problem = format!("{} TB of a request's states or cache", bytes >> 40);
            return refuse(problem, "ask for fewer tokens or layers, or smaller widths: 1024 TB at most");
        }
        let step_ps = u128::from(self.decode.step_ps.iter().copied().max().unwrap_or(0));
        let times = self.requests.iter().map(|asked| {
            u128::from(asked.arrival_ps)
                + u128::from(asked.prompt_tokens) * u128::from(self.prefill.token_ps)
                + u128::from(asked.output_tokens) * step_ps
        });
        if times.fold(0, u128::saturating_add) > 1 << 62 {
            let hint = "ask for fewer or faster tokens, or fewer requests";
            return refuse("all requests together take more than 2^62 ps".to_owned(), hint);
        }
        let (_, computing) = self.amounts();
        if computing > MESSAGES_MAX {
            let problem = format!("{computing} times of computing");
            return refuse(problem, "ask for fewer tokens, requests or layers: at most 100000000 of all");
        }
        Ok(())
    }
}
