//! Flows pinned to paths: from the number of a path to the labels that lead along it.

use crate::SimulationError;
use anabranch_fabric::{Fabric, FabricError, LinkState, NextHops, paths};
use anabranch_traffic::{Flow, FlowSource};
use std::collections::HashMap;

/// Labels of one flow.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pinned {
    /// Labels of the flow's packets.
    pub(crate) forth: u32,
    /// Labels of the packets that come back.
    pub(crate) back: u32,
}

/// Labels of the flows that are pinned.
#[derive(Default)]
pub(crate) struct Pins {
    /// Leaf of each host. Empty if no flow is pinned.
    leaf_of: Vec<u32>,
    /// Labels by leaf of the sender, leaf of the receiver and path.
    labels: HashMap<(u32, u32, u32), u32>,
}

impl Pins {
    /// Labels of a flow, if it is pinned.
    pub(crate) fn of(&self, flow: &Flow) -> Option<Pinned> {
        let path = flow.path?;
        let [src, dst] = [flow.src, flow.dst].map(|host| self.leaf_of[host as usize]);
        Some(Pinned { forth: self.labels[&(src, dst, path)], back: self.labels[&(dst, src, path)] })
    }
}

/// Finds the labels of the flows that are pinned. Paths are those of the fabric as built.
pub(crate) fn pin(fabric: &Fabric, flows: &dyn FlowSource) -> Result<Pins, SimulationError> {
    if !flows.outline().pinned {
        return Ok(Pins::default());
    }
    let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
    let mut counts: HashMap<usize, Vec<u64>> = HashMap::new();
    let mut known = HashMap::new();
    let mut find = |from: u32, to: u32, path: u32| -> Result<(), FabricError> {
        if known.contains_key(&(from, to, path)) {
            return Ok(());
        }
        let destination = hops.leaves.binary_search(&to).unwrap_or(0);
        let counts = counts
            .entry(destination)
            .or_insert_with(|| paths::path_counts(fabric, &hops, destination as u32));
        let found = paths::path(fabric, &hops, counts, from, destination as u32, path.into())?;
        known.insert((from, to, path), found.labels);
        Ok(())
    };
    for (index, flow) in flows.pass().enumerate() {
        let Some(path) = flow.path else { continue };
        let [src, dst] = [flow.src, flow.dst].map(|host| fabric.leaf_of(host));
        find(src, dst, path)
            .and_then(|()| find(dst, src, path))
            .map_err(|error| SimulationError::new(format!("flow {index}: {}", error.problem), error.hint))?;
    }
    Ok(Pins { leaf_of: (0..fabric.hosts()).map(|host| fabric.leaf_of(host)).collect(), labels: known })
}
