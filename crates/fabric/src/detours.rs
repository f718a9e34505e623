//! Detours: paths that are not the shortest, by way of a router that is on the way to neither end.

use crate::paths::{self, path_counts};
use crate::{ExplicitPath, Fabric, FabricError, LinkState, NextHops, PathTable, Tier};
use std::collections::{BTreeMap, BTreeSet};

/// Groups of leaves that detours lead by: pods, or each leaf by itself where there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetourGroups {
    /// Group of each leaf, by its number among [`NextHops::leaves`]. Those that detours may lead by come first.
    pub of_leaf: Vec<u32>,
    /// Leaves of each group that detours may lead by.
    pub members: Vec<Vec<u32>>,
}

impl DetourGroups {
    /// The groups of a fabric; nothing if no two of its leaves are linked, as where spines join them.
    #[must_use]
    pub fn of(fabric: &Fabric, hops: &NextHops) -> Option<Self> {
        // Network cards and scale-up switches have hosts too, but lead nowhere.
        let leads = |node: u32| !matches!(fabric.nodes()[node as usize].tier, Tier::Nic | Tier::Server);
        let is_router = |node: u32| leads(node) && hops.destination(node).is_some();
        if !fabric.ports().iter().any(|port| is_router(port.from) && is_router(port.to)) {
            return None;
        }
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut of_pod: BTreeMap<u32, u32> = BTreeMap::new();
        let mut of_leaf = vec![None; hops.leaves.len()];
        for (leaf, &node) in (0..).zip(&hops.leaves).filter(|&(_, &node)| is_router(node)) {
            let next = members.len() as u32;
            let group = match fabric.nodes()[node as usize].pod {
                Some(pod) => *of_pod.entry(pod).or_insert(next),
                None => next,
            };
            if group == next {
                members.push(Vec::new());
            }
            members[group as usize].push(leaf);
            of_leaf[leaf as usize] = Some(group);
        }
        let mut next = members.len() as u32..;
        let of_leaf = of_leaf.into_iter().map(|group| group.or_else(|| next.next()).unwrap_or(0)).collect();
        Some(Self { of_leaf, members })
    }
}

/// Shortest paths between all leaves of a fabric, counted.
struct Shortest<'a> {
    fabric: &'a Fabric,
    hops: NextHops,
    counts: Vec<Vec<u64>>,
}

impl Shortest<'_> {
    /// Number of shortest paths between two leaves.
    fn number(&self, from: u32, to: u32) -> u64 {
        self.counts[to as usize][self.hops.switch(self.hops.leaves[from as usize])]
    }

    /// Ports of shortest path number `index`, modulo their number, from one leaf to another.
    fn ports(&self, from: u32, to: u32, index: u64) -> Vec<u32> {
        let start = self.hops.leaves[from as usize];
        let steps = paths::steps(self.fabric, &self.hops, &self.counts[to as usize], start, to, index);
        steps.into_iter().map(|step| step.port).collect()
    }

    /// The first router of a group on a shortest path to one of its routers, which is spread over them.
    fn entry(&self, from: u32, members: &[u32], spread: u64) -> u32 {
        let to = members[(spread % members.len() as u64) as usize];
        let node = |port: u32| self.fabric.ports()[port as usize].to;
        let leaf = |port: u32| self.hops.destination(node(port));
        let mut passed = self.ports(from, to, spread).into_iter().filter_map(leaf);
        passed.find(|leaf| members.contains(leaf)).unwrap_or(to)
    }

    /// Whether a path that begins at leaf `from` meets no switch twice.
    fn is_simple(&self, from: u32, ports: &[u32]) -> bool {
        let mut met = BTreeSet::from([self.hops.leaves[from as usize]]);
        ports.iter().all(|&port| met.insert(self.fabric.ports()[port as usize].to))
    }
}

impl PathTable {
    /// The paths between these pairs of leaves, by node: all shortest ones, and one by each other group of routers; between
    /// two routers of one group, one by each other router of it. Both halves of a detour are shortest paths of the fabric as
    /// built; where there are several, pairs and detours are spread over them. No path meets a switch twice, and none is
    /// listed twice. Those of a pair come by ascending delay, then by links. Fabrics whose leaves are not linked have no
    /// detours.
    ///
    /// # Errors
    /// More paths than packets can name.
    pub fn with_detours(
        fabric: &Fabric,
        pairs: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, FabricError> {
        let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
        let leaves = hops.leaves.len() as u32;
        let counts = (0..leaves).map(|leaf| path_counts(fabric, &hops, leaf)).collect();
        let groups = DetourGroups::of(fabric, &hops);
        let shortest = Shortest { fabric, hops, counts };
        let mut table = Self::default();
        for pair in pairs.into_iter().collect::<BTreeSet<_>>() {
            let ends = (shortest.hops.destination(pair.0), shortest.hops.destination(pair.1));
            let (Some(from), Some(to)) = ends else { continue };
            Self::check_count(table.len(), shortest.number(from, to).try_into().unwrap_or(usize::MAX))?;
            let mut listed: Vec<Vec<u32>> =
                (0..shortest.number(from, to)).map(|index| shortest.ports(from, to, index)).collect();
            let spread = u64::from(from) + u64::from(to);
            for by in groups.iter().flat_map(|groups| intermediates(&shortest, groups, from, to, spread)) {
                let mut ports = shortest.ports(from, by, spread);
                ports.extend(shortest.ports(by, to, spread));
                let is_whole = shortest.number(from, by) > 0 && shortest.number(by, to) > 0;
                if is_whole && shortest.is_simple(from, &ports) && !listed.contains(&ports) {
                    listed.push(ports);
                }
            }
            listed.sort_by_key(|ports| {
                let delay_ps: u64 = ports.iter().map(|&port| fabric.ports()[port as usize].delay_ps).sum();
                (delay_ps, ports.len())
            });
            table.add(pair, listed.into_iter().map(|ports| ExplicitPath { ends: pair, ports, weight: 1 }))?;
        }
        Ok(table)
    }
}

/// Routers that detours between two leaves lead by.
fn intermediates(
    shortest: &Shortest<'_>,
    groups: &DetourGroups,
    from: u32,
    to: u32,
    spread: u64,
) -> Vec<u32> {
    let [first, last] = [from, to].map(|leaf| groups.of_leaf[leaf as usize]);
    if first == last {
        let members = groups.members.get(first as usize).map_or(&[][..], Vec::as_slice);
        return members.iter().copied().filter(|&by| by != from && by != to).collect();
    }
    let others = (0..).zip(&groups.members).filter(|&(group, _)| group != first && group != last);
    others.map(|(_, members)| shortest.entry(from, members, spread)).collect()
}
