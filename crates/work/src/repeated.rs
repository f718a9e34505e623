//! Work several times over: the steps of a job.

use crate::WorkError;
use crate::builder::Builder;
use crate::graph::{Graph, Part};
use crate::node::Node;

impl Graph {
    /// The same work several times over. Each rank begins a step with `compute_ps` of computing, once it has ended the
    /// step before.
    ///
    /// # Errors
    /// More nodes than identities hold.
    pub fn repeated(&self, iterations: u32, compute_ps: u64) -> Result<Self, WorkError> {
        let mut builder = Builder::new(&self.file, self.ranks())?;
        self.warnings.iter().for_each(|warning| builder.warn(warning.clone()));
        for step in 0..iterations {
            builder.begin_step(compute_ps)?;
            for part in &self.parts {
                builder.begin_part(Part { step, ..part.clone() });
            }
            let part_before = builder.parts.len() as u32 - self.parts.len() as u32;
            let offset = builder.nodes.len() as u32;
            for (rank, node) in
                (0..self.ranks()).flat_map(|rank| self.nodes_of(rank).map(move |node| (rank, node)))
            {
                let node = *self.node(node);
                builder.add(rank, Node { part: part_before + node.part, ..node })?;
            }
            for before in 0..self.nodes.len() as u32 {
                for &after in self.after_end(before) {
                    builder.requires(offset + after, offset + before);
                }
                for &after in self.after_start(before) {
                    builder.irequires(offset + after, offset + before);
                }
            }
            builder.pairs.extend(self.pairs().map(|(send, recv)| (offset + send, offset + recv)));
        }
        Ok(builder.finish())
    }
}
