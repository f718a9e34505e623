//! A table of explicit paths: for each pair of leaves, or of hosts, the paths that packets between them may take, each with a
//! weight. No routing protocol changes it.

use crate::{Fabric, FabricError, LinkState, NextHops, paths};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Most paths of a table. Packets carry the number of theirs in 24 bits.
const PATHS_MAX: usize = 1 << 23;
/// Most paths of a pair.
const PATHS_OF_PAIR_MAX: usize = 1 << 16;
/// Most links between switches on a path: packets count those that lie behind them in 7 bits.
pub const LINKS_MAX: usize = 127;

/// One path of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplicitPath {
    /// Nodes that it joins: two leaves, or two hosts.
    pub ends: (u32, u32),
    /// Ports that it takes, one per switch, without the last leaf's port to the host.
    pub ports: Vec<u32>,
    /// Weight among the paths of its pair; at least 1.
    pub weight: u32,
}

/// Paths by pair, numbered: those of a pair follow each other, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTable {
    /// Paths of each pair, by their numbers.
    pairs: BTreeMap<(u32, u32), Range<u32>>,
    /// Where the ports of each path end in `ports`.
    ends: Vec<u32>,
    ports: Vec<u32>,
    weights: Vec<u32>,
}

impl PathTable {
    /// The table of these paths.
    ///
    /// # Errors
    /// More paths than packets can name.
    pub fn new(all: impl IntoIterator<Item = ExplicitPath>) -> Result<Self, FabricError> {
        let mut by_pair: BTreeMap<(u32, u32), Vec<ExplicitPath>> = BTreeMap::new();
        for path in all {
            by_pair.entry(path.ends).or_default().push(path);
        }
        let mut table = Self::default();
        for (ends, paths) in by_pair {
            table.add(ends, paths.into_iter())?;
        }
        Ok(table)
    }

    /// Adds the paths of a pair that has none, behind all others.
    pub(crate) fn add(
        &mut self,
        ends: (u32, u32),
        paths: impl ExactSizeIterator<Item = ExplicitPath>,
    ) -> Result<(), FabricError> {
        Self::check_count(self.len(), paths.len())?;
        let first = self.len() as u32;
        for ExplicitPath { ports, weight, .. } in paths {
            self.ports.extend(ports);
            self.ends.push(self.ports.len() as u32);
            self.weights.push(weight);
        }
        self.pairs.insert(ends, first..self.len() as u32);
        Ok(())
    }

    /// Refuses so many more paths of one pair beside so many.
    pub(crate) fn check_count(others: usize, of_pair: usize) -> Result<(), FabricError> {
        let hint =
            "list fewer: `anabranch paths SCENARIO.toml --most 8 --out paths.csv` writes eight for each pair";
        if of_pair > PATHS_OF_PAIR_MAX {
            let problem =
                format!("{of_pair} paths between two leaves, and hosts tell {PATHS_OF_PAIR_MAX} apart");
            return Err(FabricError::new(None, problem, hint));
        }
        if others.saturating_add(of_pair) > PATHS_MAX {
            return Err(FabricError::new(None, format!("more than {PATHS_MAX} paths"), hint));
        }
        Ok(())
    }

    /// The shortest paths between every two leaves of the fabric as built, of equal weights: all of them, or `most` that are
    /// evenly spread over them.
    ///
    /// # Errors
    /// More paths than packets can name.
    pub fn shortest(fabric: &Fabric, most: Option<u64>) -> Result<Self, FabricError> {
        let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
        let (mut all, leaves) = (Vec::new(), hops.leaves.len() as u32);
        for destination in 0..leaves {
            let counts = paths::path_counts(fabric, &hops, destination);
            let to = hops.leaves[destination as usize];
            for &from in hops.leaves.iter().filter(|&&from| from != to) {
                let number = counts[hops.switch(from)];
                let listed = number.min(most.unwrap_or(u64::MAX));
                Self::check_count(all.len(), listed as usize)?;
                all.extend((0..listed).map(|index| {
                    let index = (u128::from(index) * u128::from(number) / u128::from(listed)) as u64;
                    let steps = paths::steps(fabric, &hops, &counts, from, destination, index);
                    let ports = steps.into_iter().map(|step| step.port).collect();
                    ExplicitPath { ends: (from, to), ports, weight: 1 }
                }));
            }
        }
        Self::new(all)
    }

    /// Number of paths.
    #[must_use]
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Number of pairs that have paths.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Numbers of the paths between two hosts of different leaves: their own, or else those of their leaves. Empty if none is
    /// listed.
    #[must_use]
    pub fn between(&self, fabric: &Fabric, from: u32, to: u32) -> Range<u32> {
        let leaves = || self.pairs.get(&(fabric.leaf_of(from), fabric.leaf_of(to)));
        self.pairs.get(&(from, to)).or_else(leaves).cloned().unwrap_or_default()
    }

    /// Ports of a path, one per switch, without the last leaf's port to the host.
    #[inline]
    #[must_use]
    pub fn ports(&self, path: u32) -> &[u32] {
        let at = path as usize;
        let first = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.ports[first as usize..self.ends[at] as usize]
    }

    /// Weight of a path among those of its pair.
    #[must_use]
    pub fn weight(&self, path: u32) -> u32 {
        self.weights[path as usize]
    }

    /// All paths, by number.
    pub fn iter(&self) -> impl Iterator<Item = ExplicitPath> + '_ {
        self.pairs.iter().flat_map(move |(&ends, numbers)| {
            numbers.clone().map(move |path| ExplicitPath {
                ends,
                ports: self.ports(path).to_vec(),
                weight: self.weight(path),
            })
        })
    }

    /// The table as a file: columns `path` and `weight`, nodes by name, and of parallel links the number, `leaf0>spine0#1`.
    #[must_use]
    pub fn csv(&self, fabric: &Fabric) -> String {
        let mut text = String::from("path,weight\n");
        for path in self.iter() {
            let name = path_name(fabric, &path);
            let _ = if name.contains([',', '"']) {
                writeln!(text, "\"{}\",{}", name.replace('"', "\"\""), path.weight)
            } else {
                writeln!(text, "{name},{}", path.weight)
            };
        }
        text
    }
}

/// Path by the names of its nodes, as the file has it.
fn path_name(fabric: &Fabric, path: &ExplicitPath) -> String {
    let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
    let (from, to) = path.ends;
    let mut text = name(from).to_owned();
    let hosts = fabric.hosts();
    if from < hosts {
        let _ = write!(text, ">{}", name(fabric.leaf_of(from)));
    }
    for &port in &path.ports {
        let ends = &fabric.ports()[port as usize];
        let parallel = || {
            fabric.ports_of(ends.from).iter().filter(|&&other| fabric.ports()[other as usize].to == ends.to)
        };
        let _ = write!(text, ">{}", name(ends.to));
        if parallel().count() > 1 {
            let number = parallel().position(|&other| other == port).unwrap_or(0);
            let _ = write!(text, "#{number}");
        }
    }
    if to < hosts {
        let _ = write!(text, ">{}", name(to));
    }
    text
}
