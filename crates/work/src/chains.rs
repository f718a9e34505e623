//! Graph in which each rank does one thing after the other, alone or with its groups.

use crate::collective::{Collective, expand};
use crate::{Act, Builder, Node, NodeId, Part, WorkError};

/// Graph that grows, with what each rank does next behind what it did last.
pub(crate) struct Chains {
    pub(crate) builder: Builder,
    /// Nodes that the next one of each rank waits for.
    pub(crate) tails: Vec<Vec<NodeId>>,
    /// Processor that computes.
    pub(crate) cpu: u8,
}

impl Chains {
    /// Chains of so many ranks, in which nothing happens yet. `parts` are the names of the graph's parts.
    pub(crate) fn new(name: &str, ranks: u32, parts: &[&str]) -> Result<Self, WorkError> {
        let mut builder = Builder::new(name, ranks)?;
        for &name in parts {
            builder.begin_part(Part { step: 0, name: name.to_owned(), bytes: 0, ranks, bus: None });
        }
        Ok(Self { builder, tails: vec![Vec::new(); ranks as usize], cpu: 0 })
    }

    /// Adds a node that waits for all that its rank did before.
    pub(crate) fn add(&mut self, part: u32, rank: u32, act: Act) -> Result<NodeId, WorkError> {
        let node = self.builder.add(rank, Node { act, cpu: self.cpu, nic: 0, part, line: 0 })?;
        for before in std::mem::replace(&mut self.tails[rank as usize], vec![node]) {
            self.builder.requires(node, before);
        }
        Ok(node)
    }

    /// Adds a collective of a group, unless it is one rank. Ranks that wait for several nodes join them in `joint` first.
    pub(crate) fn collect(
        &mut self,
        (part, joint): (u32, u32),
        collective: &Collective,
        group: &[u32],
    ) -> Result<(), WorkError> {
        if group.len() < 2 {
            return Ok(());
        }
        for &rank in group {
            if self.tails[rank as usize].len() > 1 {
                self.add(joint, rank, Act::Wait { ps: 0 })?;
            }
        }
        self.builder.resume_part(part);
        let tails = &self.tails;
        let ends =
            expand(&mut self.builder, collective, group, |rank| tails[rank as usize].first().copied())?;
        for (&rank, ends) in group.iter().zip(ends) {
            self.tails[rank as usize] = ends;
        }
        Ok(())
    }
}
