//! Fabric that is run, not simulated: its groups and slices with the current links.

use crate::error::{AnabranchError, scenario};
use crate::topology::topology;
use anabranch_fabric::paths::{path, path_counts};
use anabranch_fabric::{Fabric as Built, LinkState, NextHops, PathTable, Rate};
use anabranch_plan::{Groups, Weighing};
use anabranch_scenario::{fabric_of, path_table};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Group of next hops: (switch, leaves it leads to, (port, weight) of each next hop).
type GroupRow = (u32, Vec<u32>, Vec<(u32, u64)>);

/// Nodes that a path joins, its ports between switches, its weight.
type ExplicitPathRow = (u32, u32, Vec<u32>, u32);

/// Table `[fabric]` of a file; see `_core.pyi`.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct Fabric {
    built: Built,
}

impl Fabric {
    fn state(&self, up: Vec<bool>, rate_bps: Vec<u64>) -> PyResult<LinkState> {
        let ports = self.built.ports().len();
        if up.len() != ports || rate_bps.len() != ports {
            let given = format!("up, rate_bps: {} and {} values", up.len(), rate_bps.len());
            return Err(AnabranchError::new_err(format!(
                "{given} for {ports} ports; give each port one of both"
            )));
        }
        // A port that reports no speed counts as the slowest there is.
        let rate = |bps: u64| Rate::from_bps(bps.max(Rate::LEAST_BPS)).unwrap_or(Rate::FASTEST);
        let rate = rate_bps.into_iter().map(rate).collect();
        Ok(LinkState { up, rate, ..LinkState::of(&self.built) })
    }
}

#[pymethods]
impl Fabric {
    #[new]
    fn new(text: &str, file: &str) -> PyResult<Self> {
        Ok(Self { built: fabric_of(text, file).map_err(scenario)? })
    }

    fn topology<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        topology(py, &self.built, &[])
    }

    fn groups(&self, up: Vec<bool>, rate_bps: Vec<u64>, by_capacity: bool) -> PyResult<Vec<GroupRow>> {
        let weighing = if by_capacity { Weighing::Capacity } else { Weighing::Equal };
        let groups = Groups::plan(&self.built, &self.state(up, rate_bps)?, &weighing);
        let mut rows: Vec<GroupRow> = groups
            .groups
            .iter()
            .zip(&groups.switch_of)
            .map(|(group, &switch)| {
                let members = group.members.iter().map(|member| (member.port, member.weight));
                (switch, Vec::new(), members.collect())
            })
            .collect();
        for node in self.built.hosts()..self.built.nodes().len() as u32 {
            for (destination, &leaf) in (0..).zip(&groups.leaves) {
                rows[groups.index(node, destination)].1.push(leaf);
            }
        }
        Ok(rows)
    }

    fn paths(&self, up: Vec<bool>, from_leaf: u32, to_leaf: u32) -> PyResult<Vec<Vec<u32>>> {
        let state = LinkState { up, ..LinkState::of(&self.built) };
        let hops = NextHops::shortest(&self.built, &state);
        let number = |leaf: u32| hops.leaves.iter().position(|&one| one == leaf);
        let (Some(_), Some(destination)) = (number(from_leaf), number(to_leaf)) else {
            let message = format!(
                "from_leaf, to_leaf: {from_leaf}, {to_leaf}: not two leaves; take their node numbers"
            );
            return Err(AnabranchError::new_err(message));
        };
        let counts = path_counts(&self.built, &hops, destination as u32);
        let count = counts[hops.switch(from_leaf)];
        let one = |index| path(&self.built, &hops, &counts, from_leaf, destination as u32, index);
        let paths = (0..count).map(|index| one(index).map(|path| path.ports));
        paths.collect::<Result<_, _>>().map_err(|error| AnabranchError::new_err(error.to_string()))
    }

    /// Paths of a table of explicit paths, which is CSV, or all shortest ones without it; see `_core.pyi`.
    fn explicit_paths(
        &self,
        py: Python<'_>,
        content: Option<&[u8]>,
        file: &str,
    ) -> PyResult<Vec<ExplicitPathRow>> {
        let table = py.detach(|| match content {
            Some(content) => path_table(content, file, &self.built).map_err(scenario),
            None => PathTable::shortest(&self.built, None)
                .map_err(|error| AnabranchError::new_err(error.to_string())),
        })?;
        Ok(table.iter().map(|path| (path.ends.0, path.ends.1, path.ports, path.weight)).collect())
    }

    /// Table of the shortest paths between every two leaves as a file, its number of paths and of pairs; see `_core.pyi`.
    fn path_table(&self, py: Python<'_>, most: Option<u64>) -> PyResult<(String, usize, usize)> {
        let table = py.detach(|| PathTable::shortest(&self.built, most));
        let table = table.map_err(|error| AnabranchError::new_err(error.to_string()))?;
        Ok((table.csv(&self.built), table.len(), table.pairs()))
    }
}
