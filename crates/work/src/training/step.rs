//! Graph of a step: micro-batches forward and backward through the stages, one after the other at each (1F1B), and the
//! gradients that replicas add.

use super::Training;
use super::layer::Pass;
use crate::chains::Chains;
use crate::collective::{Algorithm, Collective, Kind};
use crate::{Act, Graph, NodeId, WorkError};

/// What nodes belong to; numbers of [`super::PARTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Compute,
    Tensor,
    Expert,
    Pipeline,
    Data,
}

/// Messages between two stages, by micro-batch and by rank of the stage that sends.
struct Boundary {
    sends: Vec<NodeId>,
    receives: Vec<NodeId>,
}

struct Step<'a> {
    training: &'a Training,
    chains: Chains,
    /// Forward, stage by stage: from it to the next one. Backward: from the next one to it.
    forward: Vec<Boundary>,
    backward: Vec<Boundary>,
    /// By rank and layer of its stage, the node with which the last micro-batch's gradients are there.
    known: Vec<Vec<NodeId>>,
}

/// Makes the graph of a checked shape.
pub(super) fn graph(training: &Training) -> Result<Graph, WorkError> {
    let ranks = training.ranks()?;
    let mut step = Step {
        training,
        chains: Chains::new("training", ranks, &super::PARTS)?,
        forward: Vec::new(),
        backward: Vec::new(),
        known: vec![vec![0; (training.layers / training.pipeline) as usize]; ranks as usize],
    };
    step.lay_boundaries()?;
    for stage in 0..training.pipeline {
        for first in (0..training.data).step_by(training.expert as usize) {
            step.run_stage(stage, first)?;
        }
    }
    step.add_gradients()?;
    step.chains.builder.weigh_parts();
    Ok(step.chains.builder.finish())
}

impl Step<'_> {
    /// Messages of all micro-batches between neighbouring stages: each rank has its part of the tokens.
    fn lay_boundaries(&mut self) -> Result<(), WorkError> {
        let training = self.training;
        let per_stage = training.tensor * training.data;
        let bytes = training.state_bytes() / u64::from(training.tensor);
        self.chains.builder.resume_part(Dimension::Pipeline as u32);
        for stage in 0..training.pipeline - 1 {
            let mut between = |back: bool| -> Result<Boundary, WorkError> {
                let mut boundary = Boundary { sends: Vec::new(), receives: Vec::new() };
                for _ in 0..training.micro_batches {
                    for place in 0..per_stage {
                        let (here, next) = (place + per_stage * stage, place + per_stage * (stage + 1));
                        let (from, to) = if back { (next, here) } else { (here, next) };
                        let (send, receive) = self.chains.builder.message(from, to, bytes)?;
                        boundary.sends.push(send);
                        boundary.receives.push(receive);
                    }
                }
                Ok(boundary)
            };
            let (forward, backward) = (between(false)?, between(true)?);
            self.forward.push(forward);
            self.backward.push(backward);
        }
        Ok(())
    }

    /// All passes of one stage in the replicas of one expert group, in the order of 1F1B.
    fn run_stage(&mut self, stage: u32, first: u32) -> Result<(), WorkError> {
        for (pass, micro_batch) in order(self.training.pipeline - 1 - stage, self.training.micro_batches) {
            self.arrive(pass, micro_batch, stage, first);
            let layers = self.training.layers / self.training.pipeline;
            for number in 0..layers {
                match pass {
                    Pass::Forward => {
                        self.attend(pass, stage, first)?;
                        self.feed_forward(pass, stage, first)?;
                    }
                    Pass::Backward => {
                        self.feed_forward(pass, stage, first)?;
                        self.attend(pass, stage, first)?;
                        self.note_gradients(layers - 1 - number, stage, first)?;
                    }
                }
            }
            self.leave(pass, micro_batch, stage, first);
        }
        Ok(())
    }

    fn ranks_of(&self, stage: u32, first: u32) -> Vec<u32> {
        let training = self.training;
        (first..first + training.expert).flat_map(|data| training.tensor_group(data, stage)).collect()
    }

    /// Index of a rank's message of a micro-batch in a boundary.
    fn slot(&self, micro_batch: u32, rank: u32) -> usize {
        let per_stage = self.training.tensor * self.training.data;
        (micro_batch * per_stage + rank % per_stage) as usize
    }

    /// Lets a pass wait for what the stage before it sends.
    fn arrive(&mut self, pass: Pass, micro_batch: u32, stage: u32, first: u32) {
        for rank in self.ranks_of(stage, first) {
            let slot = self.slot(micro_batch, rank);
            let boundary = match pass {
                Pass::Forward => stage.checked_sub(1).and_then(|before| self.forward.get(before as usize)),
                Pass::Backward => self.backward.get(stage as usize),
            };
            if let Some(boundary) = boundary {
                self.chains.tails[rank as usize].push(boundary.receives[slot]);
            }
        }
    }

    /// Sends what a pass made to the stage after it, which nothing at this rank waits for.
    fn leave(&mut self, pass: Pass, micro_batch: u32, stage: u32, first: u32) {
        for rank in self.ranks_of(stage, first) {
            let slot = self.slot(micro_batch, rank);
            let boundary = match pass {
                Pass::Forward => self.forward.get(stage as usize),
                Pass::Backward => stage.checked_sub(1).and_then(|before| self.backward.get(before as usize)),
            };
            if let Some(send) = boundary.map(|boundary| boundary.sends[slot]) {
                for &tail in &self.chains.tails[rank as usize] {
                    self.chains.builder.requires(send, tail);
                }
            }
        }
    }

    fn attend(&mut self, pass: Pass, stage: u32, first: u32) -> Result<(), WorkError> {
        let ps = self.training.attention_ps(pass).ok_or_else(too_long)?;
        for rank in self.ranks_of(stage, first) {
            self.add(rank, Act::Calc { ps })?;
        }
        self.add_partial_sums(stage, first)
    }

    fn feed_forward(&mut self, pass: Pass, stage: u32, first: u32) -> Result<(), WorkError> {
        let training = self.training;
        let experts = training.has_experts();
        if experts {
            self.exchange(stage, first, false)?;
        }
        for (member, data) in (first..first + training.expert).enumerate() {
            let ps = training.network_ps(pass, member).ok_or_else(too_long)?;
            for rank in training.tensor_group(data, stage) {
                self.add(rank, Act::Calc { ps })?;
            }
        }
        if experts { self.exchange(stage, first, true) } else { self.add_partial_sums(stage, first) }
    }

    /// All-reduce of each replica's partial sums.
    fn add_partial_sums(&mut self, stage: u32, first: u32) -> Result<(), WorkError> {
        let training = self.training;
        let sum = Collective::new(Kind::AllReduce, Algorithm::Ring, training.state_bytes());
        for data in first..first + training.expert {
            self.collect(Dimension::Tensor, &sum, &training.tensor_group(data, stage))?;
        }
        Ok(())
    }

    /// Tokens to their experts, and back.
    fn exchange(&mut self, stage: u32, first: u32, back: bool) -> Result<(), WorkError> {
        let training = self.training;
        let count = training.expert as usize;
        let transposed = |blocks: &Vec<u64>| -> Vec<u64> {
            (0..count * count).map(|index| blocks[index % count * count + index / count]).collect()
        };
        let blocks = training.expert_blocks.as_ref();
        let exchange = Collective {
            blocks: blocks.map(|blocks| if back { transposed(blocks) } else { blocks.clone() }),
            ..Collective::new(Kind::AllToAll, Algorithm::Direct, training.expert_bytes())
        };
        for tensor in 0..training.tensor {
            self.collect(Dimension::Expert, &exchange, &training.expert_group(tensor, first, stage))?;
        }
        Ok(())
    }

    /// Notes with which node a layer's gradients are there; later micro-batches replace it.
    fn note_gradients(&mut self, layer: u32, stage: u32, first: u32) -> Result<(), WorkError> {
        for rank in self.ranks_of(stage, first) {
            let node = self.add(rank, Act::Wait { ps: 0 })?;
            self.known[rank as usize][layer as usize] = node;
        }
        Ok(())
    }

    /// Replicas add their gradients, bucket by bucket; each waits for the one before it.
    fn add_gradients(&mut self) -> Result<(), WorkError> {
        let training = self.training;
        for stage in 0..training.pipeline {
            for tensor in 0..training.tensor {
                let shared = training.replicas(tensor, stage);
                self.add_buckets(training.shared_weights(), &shared)?;
                for member in 0..training.expert {
                    let replicas = training.expert_replicas(tensor, member, stage);
                    self.add_buckets(training.expert_weights(), &replicas)?;
                }
            }
        }
        Ok(())
    }

    fn add_buckets(&mut self, weights: u64, replicas: &[u32]) -> Result<(), WorkError> {
        for &rank in replicas {
            self.chains.tails[rank as usize].clear();
        }
        for bucket in self.training.buckets(weights) {
            // The first layer's are the last to be there.
            let layer = if self.training.overlap { bucket.layer } else { 0 };
            for &rank in replicas {
                let known = self.known[rank as usize][layer as usize];
                self.chains.tails[rank as usize].push(known);
            }
            let sum = Collective::new(Kind::AllReduce, Algorithm::Ring, bucket.bytes);
            self.collect(Dimension::Data, &sum, replicas)?;
        }
        Ok(())
    }

    fn add(&mut self, rank: u32, act: Act) -> Result<NodeId, WorkError> {
        self.chains.add(Dimension::Compute as u32, rank, act)
    }

    fn collect(
        &mut self,
        dimension: Dimension,
        collective: &Collective,
        group: &[u32],
    ) -> Result<(), WorkError> {
        self.chains.collect((dimension as u32, Dimension::Compute as u32), collective, group)
    }
}

/// Passes of a stage with `later` stages after it: as many forward as these can hold, then one forward and one backward
/// in turn, then the rest backward (Narayanan et al. 2021, figure 4).
fn order(later: u32, micro_batches: u32) -> Vec<(Pass, u32)> {
    let ahead = later.min(micro_batches);
    let mut passes: Vec<(Pass, u32)> = (0..ahead).map(|number| (Pass::Forward, number)).collect();
    for number in 0..micro_batches {
        if ahead + number < micro_batches {
            passes.push((Pass::Forward, ahead + number));
        }
        passes.push((Pass::Backward, number));
    }
    passes
}

fn too_long() -> WorkError {
    WorkError::new("training", "a layer takes more than 2^63 ps", "give a faster accelerator or fewer tokens")
}
