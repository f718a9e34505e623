//! Reference capacities: loads are given as fractions of one of them.

use crate::{Fabric, Racks, Tier};

/// Capacity that a load is given as a fraction of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Sum of all links from leaves upwards, which all traffic between racks shares. Sum of all host links if there are
    /// none.
    Uplink,
    /// Sum of all links from hosts.
    Host,
    /// Largest flow from one half of the leaves to the other, both directions together.
    Bisection,
}

/// Sum of the rates of all ports from one tier to a higher one, in bits per second. Links within servers do not count.
#[must_use]
pub fn upward_bps(fabric: &Fabric, from: Tier) -> u64 {
    let nodes = fabric.nodes();
    let ports = fabric.ports().iter();
    ports
        .filter(|port| {
            let (low, high) = (nodes[port.from as usize].tier, nodes[port.to as usize].tier);
            let up = high > low || (low == Tier::Leaf && high == Tier::Leaf);
            low == from && up && high != Tier::Server
        })
        .map(|port| port.rate.bps())
        .sum()
}

/// Capacity in bits per second that a load refers to.
#[must_use]
pub fn reference_bps(fabric: &Fabric, reference: Reference) -> u64 {
    match reference {
        Reference::Host => upward_bps(fabric, Tier::Host),
        Reference::Uplink => match upward_bps(fabric, Tier::Leaf) {
            0 => upward_bps(fabric, Tier::Host),
            bps => bps,
        },
        Reference::Bisection => 2 * bisection_bps(fabric),
    }
}

/// Largest flow from the first half of the leaves to the second, in bits per second: the least cut between them
/// (Ford and Fulkerson), found by augmenting shortest paths (Edmonds and Karp 1972).
#[must_use]
pub fn bisection_bps(fabric: &Fabric) -> u64 {
    let racks = Racks::of(fabric).leaves;
    let (left, right) = racks.split_at(racks.len() / 2);
    let (left, right) = (left.concat(), right.concat());
    let mut residual: Vec<u64> = fabric.ports().iter().map(|port| port.rate.bps()).collect();
    let is_right = |node: u32| right.contains(&node);
    let mut total = 0;
    loop {
        let mut came_by = vec![None; fabric.nodes().len()];
        let mut seen = vec![false; fabric.nodes().len()];
        let mut queue = std::collections::VecDeque::new();
        for &leaf in &left {
            seen[leaf as usize] = true;
            queue.push_back(leaf);
        }
        let mut reached = None;
        while let Some(node) = queue.pop_front() {
            if is_right(node) {
                reached = Some(node);
                break;
            }
            for &port in fabric.ports_of(node) {
                let to = fabric.ports()[port as usize].to;
                if residual[port as usize] > 0 && to >= fabric.hosts() && !seen[to as usize] {
                    seen[to as usize] = true;
                    came_by[to as usize] = Some(port);
                    queue.push_back(to);
                }
            }
        }
        let Some(mut node) = reached else { return total };
        let mut ports = Vec::new();
        while let Some(port) = came_by[node as usize] {
            ports.push(port);
            node = fabric.ports()[port as usize].from;
        }
        let bottleneck = ports.iter().map(|&port| residual[port as usize]).min().unwrap_or(0);
        for port in ports {
            residual[port as usize] -= bottleneck;
            residual[fabric.ports()[port as usize].reverse as usize] += bottleneck;
        }
        total += bottleneck;
    }
}
