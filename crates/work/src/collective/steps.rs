//! Steps of a job: computing, then collectives, one after the other.

use super::{Collective, expand};
use crate::{Act, Builder, Graph, NodeId, WorkError};

/// Makes the graph of a job of `ranks` ranks: in each step every rank computes for `compute_ps`, then takes part in the
/// collectives that `of_step` names, each when it has ended the one before.
///
/// # Errors
/// Settings of a collective that do not fit each other or the number of ranks.
pub fn steps(
    ranks: u32,
    iterations: u32,
    compute_ps: u64,
    mut of_step: impl FnMut(u32) -> Vec<Collective>,
) -> Result<Graph, WorkError> {
    let mut builder = Builder::new("collective", ranks)?;
    let all: Vec<u32> = (0..ranks).collect();
    for step in 0..iterations {
        builder.begin_step(compute_ps)?;
        let mut gates: Vec<NodeId> = Vec::new();
        for collective in of_step(step) {
            builder.begin_part(collective.part(step, ranks));
            let gate = |rank: u32| gates.get(rank as usize).copied();
            let ends = expand(&mut builder, &collective, &all, gate)?;
            let before = std::mem::take(&mut gates);
            for (rank, ends) in (0..).zip(ends) {
                let join = builder.node(rank, Act::Wait { ps: 0 })?;
                for end in ends.into_iter().chain(before.get(rank as usize).copied()) {
                    builder.requires(join, end);
                }
                gates.push(join);
            }
        }
    }
    Ok(builder.finish())
}
