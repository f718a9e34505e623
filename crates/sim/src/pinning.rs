//! Flows pinned to paths: from the number of a path to the labels that lead along it.

use crate::SimulationError;
use anabranch_fabric::{Fabric, FabricError, LinkState, NextHops, paths};
use anabranch_traffic::Flow;
use std::collections::HashMap;

/// Labels of one flow.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pinned {
    /// Labels of the flow's packets.
    pub(crate) forth: u32,
    /// Labels of the packets that come back.
    pub(crate) back: u32,
}

/// Labels of the flows that are pinned, by flow; nothing if none is. Paths are those of the fabric as built.
pub(crate) fn pin(fabric: &Fabric, flows: &[Flow]) -> Result<Vec<Option<Pinned>>, SimulationError> {
    if flows.iter().all(|flow| flow.path.is_none()) {
        return Ok(Vec::new());
    }
    let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
    let mut counts: HashMap<usize, Vec<u64>> = HashMap::new();
    let mut known = HashMap::new();
    let mut labels = |from: u32, to: u32, path: u32| -> Result<u32, FabricError> {
        let (from, to) = (fabric.leaf_of(from), fabric.leaf_of(to));
        if let Some(&labels) = known.get(&(from, to, path)) {
            return Ok(labels);
        }
        let destination = hops.leaves.binary_search(&to).unwrap_or(0);
        let counts = counts
            .entry(destination)
            .or_insert_with(|| paths::path_counts(fabric, &hops, destination as u32));
        let found = paths::path(fabric, &hops, counts, from, destination as u32, path.into())?;
        known.insert((from, to, path), found.labels);
        Ok(found.labels)
    };
    flows
        .iter()
        .enumerate()
        .map(|(index, flow)| {
            let Some(path) = flow.path else { return Ok(None) };
            let found = labels(flow.src, flow.dst, path)
                .and_then(|forth| Ok(Pinned { forth, back: labels(flow.dst, flow.src, path)? }));
            found
                .map(Some)
                .map_err(|error| SimulationError::new(format!("flow {index}: {}", error.problem), error.hint))
        })
        .collect()
}
