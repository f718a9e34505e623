//! Fabrics in which pauses cannot wait for each other in a circle, so that nobody has to look for one.
//!
//! Where all paths go up and then down, each port waits only for ports that come later on such paths, and a circle of
//! pauses cannot be (Dally and Seitz, *Deadlock-free message routing in multiprocessor interconnection networks*, IEEE
//! Transactions on Computers 1987).

use crate::Settings;
use anabranch_fabric::{Fabric, LinkState, NextHops, What};
use std::collections::VecDeque;

/// Whether pauses may wait for each other in a circle: where classes are lossless, unless all paths go up and then down as
/// long as the run lasts. `pinned`: whether flows have paths of their own.
pub(crate) fn may_wait_in_circles<C>(fabric: &Fabric, settings: &Settings<C>, pinned: bool) -> bool {
    let Some(switches) = fabric.switches() else { return false };
    let pauses = switches.shared.is_some() && switches.classes.iter().any(|class| class.lossless);
    let stays = |what| matches!(what, What::PortLoss(..) | What::PortRate(..) | What::NodeBlackhole(..));
    let reroutes = settings.changes.iter().any(|change| !stays(change.what));
    pauses && (pinned || reroutes || !goes_up_and_down(fabric))
}

/// Whether no shortest path goes up after it went down, or from a switch to one as high. Up is away from hosts.
fn goes_up_and_down(fabric: &Fabric) -> bool {
    let height = heights(fabric);
    let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
    let ends = |port: u32| {
        let port = &fabric.ports()[port as usize];
        (height[port.from as usize], height[port.to as usize], port.to)
    };
    (0..).zip(&hops.leaves).all(|(destination, &leaf)| {
        let mut nodes = (fabric.hosts()..fabric.nodes().len() as u32).filter(|&node| node != leaf);
        nodes.all(|node| {
            hops.ports(node, destination).all(|port| {
                let (from, to, next) = ends(port);
                let falls_on = |port| ends(port).1 < ends(port).0;
                to > from || to < from && (next == leaf || hops.ports(next, destination).all(falls_on))
            })
        })
    })
}

/// Links from each node to the nearest host.
fn heights(fabric: &Fabric) -> Vec<u32> {
    let mut heights = vec![u32::MAX; fabric.nodes().len()];
    let mut nodes: VecDeque<u32> = (0..fabric.hosts()).collect();
    nodes.iter().for_each(|&host| heights[host as usize] = 0);
    while let Some(node) = nodes.pop_front() {
        for &port in fabric.ports_of(node) {
            let next = fabric.ports()[port as usize].to;
            if heights[next as usize] == u32::MAX {
                heights[next as usize] = heights[node as usize] + 1;
                nodes.push_back(next);
            }
        }
    }
    heights
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail.
mod tests {
    use super::*;
    use anabranch_fabric::topology::{Dragonfly, FatTree, LeafSpine};

    #[test]
    fn clos_fabrics_go_up_and_then_down() {
        assert!(goes_up_and_down(
            &LeafSpine { leaves: 4, spines: 3, ..LeafSpine::default() }.build().unwrap()
        ));
        assert!(goes_up_and_down(&FatTree { k: 4, ..FatTree::default() }.build().unwrap()));
        assert!(!goes_up_and_down(&Dragonfly::default().build().unwrap()));
    }
}
