//! Graph of requests: prefill one after the other at each group, caches sent, batches decoded step by step.

use super::dealing::Batch;
use super::{Asked, Inference};
use crate::chains::Chains;
use crate::collective::{Algorithm, Collective, Kind};
use crate::{Act, Graph, NodeId, Request, WorkError};
use std::collections::BTreeMap;

/// What nodes belong to; numbers of [`super::PARTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Arrival,
    Prefill,
    Decode,
    Tensor,
    Expert,
    Cache,
}

struct Serving<'a> {
    inference: &'a Inference,
    chains: Chains,
    /// First rank of the decode group that each request goes to.
    destination: Vec<u32>,
    /// Receives of each request's cache, with their ranks.
    received: Vec<Vec<(u32, NodeId)>>,
}

/// Makes the graph of a checked shape.
pub(super) fn graph(inference: &Inference) -> Result<Graph, WorkError> {
    let chains = Chains::new("inference", inference.ranks()?, &super::PARTS)?;
    let count = inference.requests.len();
    let mut serving =
        Serving { inference, chains, destination: vec![0; count], received: vec![Vec::new(); count] };
    let batches = inference.batches();
    for batch in &batches {
        for (group, members) in batch.groups.iter().enumerate() {
            let rank = serving.decode_ranks(batch.unit, group).start;
            members.iter().for_each(|&number| serving.destination[number] = rank);
        }
    }
    for (number, asked) in inference.requests.iter().enumerate() {
        serving.prefill(number, *asked)?;
    }
    serving.decode(&batches)?;
    serving.chains.builder.weigh_parts();
    Ok(serving.chains.builder.finish())
}

impl Serving<'_> {
    /// Ranks of a group of a unit of those that decode.
    fn decode_ranks(&self, unit: u32, group: usize) -> std::ops::Range<u32> {
        let (prefill, decode) = (&self.inference.prefill, &self.inference.decode);
        let group = unit * decode.expert + group as u32;
        let first = prefill.groups * prefill.tensor + group * decode.tensor;
        first..first + decode.tensor
    }

    /// The first token of a request, behind those of the group's requests before it.
    fn prefill(&mut self, number: usize, asked: Asked) -> Result<(), WorkError> {
        let inference = self.inference;
        let tensor = inference.prefill.tensor;
        let first = number as u32 % inference.prefill.groups * tensor;
        let ranks: Vec<u32> = (first..first + tensor).collect();
        let arrivals = self.arrive(&ranks, asked)?;
        let whole_ps = asked.prompt_tokens * inference.prefill.token_ps;
        let mut sends = Vec::new();
        for layer in 0..inference.layers {
            self.compute(Part::Prefill, &ranks, inference.half_ps(whole_ps, 2 * layer))?;
            if inference.by_layer && layer + 1 < inference.layers {
                sends.push(self.tails(&ranks));
            }
            self.add_partial_sums(&ranks, asked.prompt_tokens)?;
            self.compute(Part::Prefill, &ranks, inference.half_ps(whole_ps, 2 * layer + 1))?;
            self.add_partial_sums(&ranks, asked.prompt_tokens)?;
        }
        // What decodes needs the first token too, which comes with the last of the cache.
        sends.push(self.tails(&ranks));
        let layers = if inference.by_layer { 1 } else { inference.layers };
        if asked.output_tokens > 1 {
            for after in &sends {
                self.send_cache(number, first, u64::from(layers), after)?;
            }
        }
        let first_token: Vec<NodeId> = self.tails(&ranks).into_iter().flatten().collect();
        let cache = self.received[number].iter().map(|&(_, node)| node).collect();
        self.chains.builder.requests.push(Request {
            prompt_tokens: asked.prompt_tokens,
            output_tokens: asked.output_tokens,
            arrival: arrivals,
            last_token: if asked.output_tokens > 1 { Vec::new() } else { first_token.clone() },
            first_token,
            cache,
        });
        Ok(())
    }

    /// Lets what ranks do next wait for a request. Returns the node that ends when it is there.
    fn arrive(&mut self, ranks: &[u32], asked: Asked) -> Result<NodeId, WorkError> {
        self.chains.builder.resume_part(Part::Arrival as u32);
        let mut arrival = 0;
        for &rank in ranks {
            arrival = self.chains.builder.node(rank, Act::Wait { ps: asked.arrival_ps })?;
            self.chains.tails[rank as usize].push(arrival);
        }
        Ok(arrival)
    }

    fn tails(&self, ranks: &[u32]) -> Vec<Vec<NodeId>> {
        ranks.iter().map(|&rank| self.chains.tails[rank as usize].clone()).collect()
    }

    fn compute(&mut self, part: Part, ranks: &[u32], ps: u64) -> Result<(), WorkError> {
        ranks.iter().try_for_each(|&rank| self.chains.add(part as u32, rank, Act::Calc { ps }).map(|_| ()))
    }

    /// All-reduce of the states of so many tokens in a group.
    fn add_partial_sums(&mut self, ranks: &[u32], tokens: u64) -> Result<(), WorkError> {
        let bytes = tokens * self.inference.hidden * self.inference.value_bytes;
        if bytes == 0 {
            return Ok(());
        }
        let sum = Collective::new(Kind::AllReduce, Algorithm::Ring, bytes);
        self.collect(Part::Tensor, &sum, ranks)
    }

    fn collect(&mut self, part: Part, collective: &Collective, group: &[u32]) -> Result<(), WorkError> {
        self.chains.collect((part as u32, Part::Arrival as u32), collective, group)
    }

    /// Sends the cache of so many layers of a request, which nothing at the prefill ranks waits for. `after` has what each
    /// of these ranks must have done.
    fn send_cache(
        &mut self,
        number: usize,
        first: u32,
        layers: u64,
        after: &[Vec<NodeId>],
    ) -> Result<(), WorkError> {
        let inference = self.inference;
        let tokens = inference.requests[number].prompt_tokens;
        self.chains.builder.resume_part(Part::Cache as u32);
        for one in inference.cache_moves() {
            let to = self.destination[number] + one.to;
            let bytes = layers * inference.cache_bytes(one.heads, tokens);
            let (send, receive) = self.chains.builder.message(first + one.from, to, bytes)?;
            for &before in &after[one.from as usize] {
                self.chains.builder.requires(send, before);
            }
            self.received[number].push((to, receive));
        }
        Ok(())
    }

    /// All batches. Those of one slot follow each other; slots have processors of their own.
    fn decode(&mut self, batches: &[Batch]) -> Result<(), WorkError> {
        let mut of_slots: BTreeMap<(u32, u32), Vec<NodeId>> = BTreeMap::new();
        for batch in batches {
            let groups = 0..batch.groups.len();
            let ranks: Vec<u32> = groups.flat_map(|group| self.decode_ranks(batch.unit, group)).collect();
            for &rank in &ranks {
                let tails = of_slots.remove(&(rank, batch.slot)).unwrap_or_default();
                self.chains.tails[rank as usize] = tails;
            }
            self.chains.cpu = batch.slot as u8;
            self.decode_batch(batch)?;
            for &rank in &ranks {
                let tails = std::mem::take(&mut self.chains.tails[rank as usize]);
                of_slots.insert((rank, batch.slot), tails);
            }
        }
        Ok(())
    }

    fn decode_batch(&mut self, batch: &Batch) -> Result<(), WorkError> {
        for &number in batch.groups.iter().flatten() {
            for &(rank, receive) in &self.received[number] {
                self.chains.tails[rank as usize].push(receive);
            }
        }
        let steps = batch.groups.iter().map(|group| self.inference.steps(group)).max().unwrap_or(0);
        for step in 1..=steps {
            let left = |group: &Vec<usize>| {
                group.iter().filter(|&&number| self.inference.requests[number].output_tokens > step).count()
                    as u64
            };
            let requests: Vec<u64> = batch.groups.iter().map(left).collect();
            self.step(batch.unit, &requests)?;
            for (group, members) in batch.groups.iter().enumerate() {
                let ranks: Vec<u32> = self.decode_ranks(batch.unit, group).collect();
                let done = |number: usize| self.inference.requests[number].output_tokens == step + 1;
                for &number in members.iter().filter(|&&number| done(number)) {
                    let last = self.tails(&ranks).into_iter().flatten().collect();
                    self.chains.builder.requests[number].last_token = last;
                }
            }
        }
        Ok(())
    }

    /// A step of neighbouring groups, each with so many requests.
    fn step(&mut self, unit: u32, requests: &[u64]) -> Result<(), WorkError> {
        let inference = self.inference;
        for half in 0..2 * inference.layers {
            let is_network = half % 2 == 1;
            let exchanges = is_network && inference.has_experts();
            if exchanges {
                self.exchange(unit, requests, false)?;
            }
            for (group, &requests) in requests.iter().enumerate() {
                let ranks: Vec<u32> = self.decode_ranks(unit, group).collect();
                let ps = inference.half_ps(inference.step_ps(requests), half);
                self.compute(Part::Decode, &ranks, ps)?;
                if !exchanges {
                    self.add_partial_sums(&ranks, requests)?;
                }
            }
            if exchanges {
                self.exchange(unit, requests, true)?;
            }
        }
        Ok(())
    }

    /// Tokens to their experts, and back: ranks of a group share them out, and send each group of the unit as many.
    fn exchange(&mut self, unit: u32, requests: &[u64], back: bool) -> Result<(), WorkError> {
        let inference = self.inference;
        let count = requests.len();
        let mut blocks = vec![0; count * count];
        for (from, requests) in requests.iter().enumerate() {
            let states = requests * u64::from(inference.experts_per_token) * inference.hidden;
            let bytes = states * inference.value_bytes / u64::from(inference.decode.tensor);
            for to in 0..count {
                let upto = |to: usize| (u128::from(bytes) * to as u128 / count as u128) as u64;
                let (row, column) = if back { (to, from) } else { (from, to) };
                blocks[row * count + column] = upto(to + 1) - upto(to);
            }
        }
        let exchange =
            Collective { blocks: Some(blocks), ..Collective::new(Kind::AllToAll, Algorithm::Direct, 1) };
        for place in 0..inference.decode.tensor {
            let ranks: Vec<u32> =
                (0..count).map(|group| self.decode_ranks(unit, group).start + place).collect();
            self.collect(Part::Expert, &exchange, &ranks)?;
        }
        Ok(())
    }
}
