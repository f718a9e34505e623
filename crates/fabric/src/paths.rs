//! Paths: all shortest paths between two leaves, numbered, each with the labels that lead along it.

use crate::{Fabric, FabricError, NextHops};

/// Largest number of choices that a packet's stack of labels holds.
const LABELS_MAX: u32 = 4;
/// Largest number of next hops that a label distinguishes.
const CHOICES_MAX: usize = 256;

/// One shortest path between two leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Ports that the path takes, one per switch, without the last leaf's port to the host.
    pub ports: Vec<u32>,
    /// Choices along the path, eight bits each, the first lowest: one for each switch with more than one next hop. A
    /// choice counts the switch's next hops in ascending order of port.
    pub labels: u32,
}

/// Number of shortest paths from each switch, by [`NextHops::switch`], to destination number `destination`.
#[must_use]
pub fn path_counts(fabric: &Fabric, hops: &NextHops, destination: u32) -> Vec<u64> {
    let mut counts = vec![0u64; hops.switches()];
    for node in hops.nearest_first(destination) {
        counts[hops.switch(node)] = if node == hops.leaves[destination as usize] {
            1
        } else {
            hops.ports(node, destination)
                .map(|port| counts[hops.switch(fabric.ports()[port as usize].to)])
                .fold(0, u64::saturating_add)
        };
    }
    counts
}

/// Finds path number `index`, modulo their number, of the shortest paths from leaf `from` (a node) to destination
/// number `destination`, in lexicographic order of choices. `counts` is what [`path_counts`] returned.
///
/// # Errors
/// Fails if there is no path, or if it has more choices than labels hold.
pub fn path(
    fabric: &Fabric,
    hops: &NextHops,
    counts: &[u64],
    from: u32,
    destination: u32,
    index: u64,
) -> Result<Path, FabricError> {
    let name = |node: u32| &fabric.nodes()[node as usize].name;
    let to = hops.leaves[destination as usize];
    let number = counts[hops.switch(from)];
    if number == 0 {
        return Err(FabricError::new(
            None,
            format!("path: there is no way from {} to {}", name(from), name(to)),
            "link them",
        ));
    }
    let mut path = Path { ports: Vec::new(), labels: 0 };
    let mut choices = 0;
    for Step { port, choice, next_hops } in steps(fabric, hops, counts, from, destination, index) {
        if next_hops > CHOICES_MAX || (next_hops > 1 && choices == LABELS_MAX) {
            return Err(FabricError::new(
                None,
                format!("path: from {} to {} there are more choices than labels hold", name(from), name(to)),
                format!(
                    "pin flows where paths make at most {LABELS_MAX} choices among {CHOICES_MAX} next hops"
                ),
            ));
        }
        if next_hops > 1 {
            path.labels |= (choice as u32) << (8 * choices);
            choices += 1;
        }
        path.ports.push(port);
    }
    Ok(path)
}

/// One switch of a path: the port that it takes there, and which of how many next hops that is.
pub(crate) struct Step {
    pub(crate) port: u32,
    choice: usize,
    next_hops: usize,
}

/// Steps of path number `index`, modulo their number, as [`path`] numbers them; none if there is no path.
pub(crate) fn steps(
    fabric: &Fabric,
    hops: &NextHops,
    counts: &[u64],
    from: u32,
    destination: u32,
    index: u64,
) -> Vec<Step> {
    let (to, number) = (hops.leaves[destination as usize], counts[hops.switch(from)]);
    let mut steps = Vec::new();
    if number == 0 {
        return steps;
    }
    let (mut node, mut left) = (from, index % number);
    while node != to {
        let ports: Vec<u32> = hops.ports(node, destination).collect();
        let behind = |port: u32| counts[hops.switch(fabric.ports()[port as usize].to)];
        let choice = ports.iter().position(|&port| {
            let inside = left < behind(port);
            left -= if inside { 0 } else { behind(port) };
            inside
        });
        let choice = choice.unwrap_or(0);
        steps.push(Step { port: ports[choice], choice, next_hops: ports.len() });
        node = fabric.ports()[ports[choice] as usize].to;
    }
    steps
}
