//! Graph of all layers, forward and backward.

use super::groups::Group;
use super::header::{Header, Rule};
use super::layer::{Layer, Pass};
use crate::chains::Chains;
use crate::collective::{Collective, Kind};
use crate::{Act, Graph, MESSAGES_MAX, NodeId, WorkError};
use std::collections::BTreeMap;

/// What nodes belong to; numbers of [`PARTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Compute,
    Tensor,
    Expert,
    Data,
}

const PARTS: [&str; 4] = ["compute", "tensor", "expert", "data"];

struct Schedule<'a> {
    header: &'a Header,
    chains: Chains,
    /// Groups of each kind that has several ranks.
    groups: BTreeMap<Group, Vec<Vec<u32>>>,
    /// Last node of the collectives that run beside the layers, by kind of group and rank.
    beside: BTreeMap<(Group, u32), Vec<NodeId>>,
}

pub(super) fn graph(header: &Header, layers: &[Layer], file: &str) -> Result<Graph, WorkError> {
    check_size(header, layers, file)?;
    let mut chains = Chains::new(file, header.ranks, &PARTS)?;
    if header.pipeline > 1 {
        chains.builder.warn(format!(
            "{file}: each of {} stages does what the file lists; states between stages are left out, since it does not say \
             when they are sent",
            header.pipeline
        ));
    }
    let kinds = [Group::Tensor, Group::Expert, Group::Data, Group::ExpertData];
    let kinds = kinds.into_iter().filter(|&group| header.size(group) > 1);
    let groups = kinds.map(|group| (group, header.groups(group))).collect();
    let mut schedule = Schedule { header, chains, groups, beside: BTreeMap::new() };
    for layer in layers {
        schedule.forward(layer)?;
    }
    for (number, layer) in (0..layers.len() as u32).zip(layers).rev() {
        schedule.repeat_forward(number, layers)?;
        schedule.backward(number == 0, layer)?;
    }
    schedule.chains.builder.weigh_parts();
    Ok(schedule.chains.builder.finish())
}

/// Refuses workloads with more messages, nodes, bytes or time than there is room for, before they are made.
fn check_size(header: &Header, layers: &[Layer], file: &str) -> Result<(), WorkError> {
    let repeated: u64 = header.initiates.iter().map(|&layer| u64::from(layer)).sum();
    let again = if repeated > 0 { 2 } else { 1 };
    let (mut messages, mut bytes, mut ps) = (0u64, 0u128, 0u128);
    for layer in layers {
        for pass in &layer.passes {
            ps += u128::from(again * (pass.compute_ps + layer.update_ps));
            let Some((kind, group)) = pass.collective.filter(|_| pass.bytes > 0) else { continue };
            let size = u64::from(header.size(group));
            let rounds = if kind == Kind::AllReduce { 2 } else { 1 };
            let each = u64::from(header.ranks) * (size - 1) * rounds * again;
            messages = messages.saturating_add(each);
            bytes += u128::from(each) * u128::from((pass.bytes / size).max(1));
        }
    }
    let computing = u64::from(header.ranks) * (3 * layers.len() as u64 + repeated);
    let refuse = |problem: String| {
        let hint = format!(
            "give a workload of fewer or smaller layers, or fewer ranks: {MESSAGES_MAX} messages at most"
        );
        Err(WorkError::new(file, problem, hint))
    };
    if messages.max(computing) > MESSAGES_MAX {
        return refuse(format!(
            "{messages} messages of {} ranks, {computing} times of computing",
            header.ranks
        ));
    }
    if bytes.max(ps) > 1 << 62 {
        return refuse(format!("{bytes} bytes, and {ps} ps of computing"));
    }
    Ok(())
}

impl Schedule<'_> {
    fn forward(&mut self, layer: &Layer) -> Result<(), WorkError> {
        let [forward, ..] = &layer.passes;
        self.compute(forward)?;
        if self.header.rule == Rule::Data { Ok(()) } else { self.collect(forward, layer.update_ps) }
    }

    /// Repeats forward passes from the last checkpoint, before the backward pass of a layer that asks for that.
    fn repeat_forward(&mut self, number: u32, layers: &[Layer]) -> Result<(), WorkError> {
        if !self.header.initiates.contains(&number) {
            return Ok(());
        }
        let before = self.header.checkpoints.iter().copied().filter(|&checkpoint| checkpoint <= number);
        let first = before.max().unwrap_or(number);
        (first..number).try_for_each(|number| self.forward(&layers[number as usize]))
    }

    fn backward(&mut self, is_first: bool, layer: &Layer) -> Result<(), WorkError> {
        let [_, inputs, weights] = &layer.passes;
        let update_ps = layer.update_ps;
        match self.header.rule {
            Rule::Transformer => {
                self.compute(inputs)?;
                self.collect(inputs, update_ps)?;
                self.compute(weights)?;
                self.collect_beside(weights, update_ps)
            }
            Rule::Data => {
                self.compute(weights)?;
                self.collect_beside(weights, update_ps)?;
                if is_first { Ok(()) } else { self.compute(inputs) }
            }
            Rule::Model => {
                self.compute(inputs)?;
                if !is_first {
                    self.collect_beside(inputs, update_ps)?;
                }
                self.compute(weights)?;
                for ((_, rank), ends) in std::mem::take(&mut self.beside) {
                    self.chains.tails[rank as usize].extend(ends);
                }
                Ok(())
            }
        }
    }

    fn compute(&mut self, pass: &Pass) -> Result<(), WorkError> {
        let act = Act::Calc { ps: pass.compute_ps };
        (0..self.header.ranks)
            .try_for_each(|rank| self.chains.add(Part::Compute as u32, rank, act).map(|_| ()))
    }

    /// Collective of a pass in all groups of its kind, for which all that follows waits, and the time after it.
    fn collect(&mut self, pass: &Pass, update_ps: u64) -> Result<(), WorkError> {
        let Some((kind, group)) = pass.collective.filter(|_| pass.bytes > 0) else { return Ok(()) };
        let part = match group {
            Group::Tensor => Part::Tensor,
            Group::Expert => Part::Expert,
            Group::Data | Group::ExpertData => Part::Data,
        };
        for ranks in self.groups.get(&group).into_iter().flatten() {
            // A vector of fewer bytes than ranks, such as the mean of a loss, is rounded up to one byte for each part.
            let bytes = pass.bytes.max(ranks.len() as u64);
            let collective = Collective::new(kind, kind.algorithms()[0], bytes);
            self.chains.collect((part as u32, Part::Compute as u32), &collective, ranks)?;
            for &rank in ranks {
                self.chains.add(Part::Compute as u32, rank, Act::Wait { ps: update_ps })?;
            }
        }
        Ok(())
    }

    /// The same beside what follows, behind the collectives of the group that already run so.
    fn collect_beside(&mut self, pass: &Pass, update_ps: u64) -> Result<(), WorkError> {
        let Some((_, group)) = pass.collective.filter(|_| pass.bytes > 0) else { return Ok(()) };
        if !self.groups.contains_key(&group) {
            return Ok(());
        }
        let tails = self.chains.tails.clone();
        for (rank, tails) in (0..).zip(&mut self.chains.tails) {
            tails.extend(self.beside.remove(&(group, rank)).into_iter().flatten());
        }
        self.collect(pass, update_ps)?;
        let ends = std::mem::replace(&mut self.chains.tails, tails);
        self.beside.extend((0..).zip(ends).map(|(rank, ends)| ((group, rank), ends)));
        Ok(())
    }
}
