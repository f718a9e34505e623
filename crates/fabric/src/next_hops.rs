//! Shortest-path next hops: for every switch and every destination leaf, the ports on a path of least cost.

use crate::{Fabric, Port, Rate, Tier, What};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::OnceLock;

/// State of the links as routing knows it: which ports carry, and how fast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Whether each port is up by itself. It carries if the nodes at both ends of its link are up too.
    pub up: Vec<bool>,
    /// Whether each node is up. Its ports keep their own state: a port that failed while its node was down stays down.
    pub node_up: Vec<bool>,
    /// Rate of each port.
    pub rate: Vec<Rate>,
}

impl LinkState {
    /// State of a fabric as built.
    #[must_use]
    pub fn of(fabric: &Fabric) -> Self {
        Self {
            up: vec![true; fabric.ports().len()],
            node_up: vec![true; fabric.nodes().len()],
            rate: fabric.ports().iter().map(|port| port.rate).collect(),
        }
    }

    /// Applies a change. Losses and blackholes leave links as they are.
    pub fn apply(&mut self, what: What) {
        match what {
            What::PortDown(port) => self.up[port as usize] = false,
            What::PortUp(port) => self.up[port as usize] = true,
            What::NodeDown(node) => self.node_up[node as usize] = false,
            What::NodeUp(node) => self.node_up[node as usize] = true,
            What::PortRate(port, rate) => self.rate[port as usize] = rate,
            What::PortLoss(..) | What::NodeBlackhole(..) => {}
        }
    }

    /// Whether a port carries: itself, and the nodes at both ends of its link.
    #[must_use]
    pub fn port_up(&self, fabric: &Fabric, port: u32) -> bool {
        let link = &fabric.ports()[port as usize];
        self.up[port as usize] && self.node_up[link.from as usize] && self.node_up[link.to as usize]
    }

    /// Whether both directions of a port's link carry. Routing avoids links with a dead direction.
    #[must_use]
    pub fn link_up(&self, fabric: &Fabric, port: u32) -> bool {
        self.port_up(fabric, port) && self.up[fabric.ports()[port as usize].reverse as usize]
    }
}

/// Port from one switch to another.
#[derive(Clone, Copy, Debug)]
struct Link {
    port: u32,
    /// Switch at the other end, counted from the first switch.
    to: u32,
    /// Cost of the link.
    cost: u32,
    /// Whether that switch forwards what is not for its own hosts: network cards do not.
    through: bool,
}

/// Links of a leaf: the switch at the other end of each, and the rate of its port towards the leaf.
type Uplinks = Vec<(u32, u64)>;

/// Shortest next hops between switches, by the sum of the links' costs: their number, where each costs 1.
///
/// Leaves that are linked alike are one class: same neighbours, same rates towards the leaf. From everywhere but their
/// neighbours and themselves, all leaves of a class have the same distance and the same next hops, as if they were one
/// leaf. A leaf with a link of another cost than 1 is a class of its own. So there is one row of distances per class, and it is computed when it is first asked for: leaf and spine need
/// one row, a fat-tree one per pod, and each leaf that lost a link one more.
#[derive(Debug)]
pub struct NextHops {
    /// Leaves: switches with hosts, ascending. A destination is an index into this list.
    pub leaves: Vec<u32>,
    /// Number of nodes before the first switch.
    hosts: u32,
    /// Links that carry, of each switch, by ascending port: `links[first[s]..first[s + 1]]`.
    links: Vec<Link>,
    first: Vec<u32>,
    /// Class of each destination.
    class_of: Vec<u32>,
    /// A leaf of each class, counted from the first switch.
    leaf_of_class: Vec<u32>,
    /// Cost of the path from each switch to any leaf of a class but itself; `u32::MAX` if there is no path.
    distance: Vec<OnceLock<Box<[u32]>>>,
}

impl NextHops {
    /// Finds shortest paths over the links that carry. No path leads through a host or a network card.
    #[must_use]
    pub fn shortest(fabric: &Fabric, state: &LinkState) -> Self {
        let hosts = fabric.hosts();
        let mut hops = Self {
            leaves: fabric.leaves(),
            hosts,
            links: Vec::new(),
            first: vec![0],
            class_of: Vec::new(),
            leaf_of_class: Vec::new(),
            distance: Vec::new(),
        };
        for switch in hosts..fabric.nodes().len() as u32 {
            for &port in fabric.ports_of(switch) {
                let &Port { to, cost, .. } = &fabric.ports()[port as usize];
                if to >= hosts && state.link_up(fabric, port) {
                    let through = fabric.nodes()[to as usize].tier != Tier::Nic;
                    hops.links.push(Link { port, to: to - hosts, cost, through });
                }
            }
            hops.first.push(hops.links.len() as u32);
        }
        let mut known: HashMap<Uplinks, u32> = HashMap::new();
        for &leaf in &hops.leaves {
            let back_bps = |port: u32| state.rate[fabric.ports()[port as usize].reverse as usize].bps();
            let links = hops.links_of((leaf - hosts) as usize);
            let mut uplinks: Uplinks = links.iter().map(|link| (link.to, back_bps(link.port))).collect();
            uplinks.sort_unstable();
            let new = hops.leaf_of_class.len() as u32;
            let alike = links.iter().all(|link| link.cost == 1);
            let class = if alike { *known.entry(uplinks).or_insert(new) } else { new };
            if class as usize == hops.leaf_of_class.len() {
                hops.leaf_of_class.push(leaf - hosts);
            }
            hops.class_of.push(class);
        }
        hops.distance.resize_with(hops.leaf_of_class.len(), OnceLock::new);
        hops
    }

    /// Distances to a class. A leaf itself is as far as others of its class: there and back again.
    fn measure(&self, class: u32) -> Box<[u32]> {
        if self.links.iter().all(|link| link.cost == 1) {
            self.breadth_first(class)
        } else {
            self.cheapest_first(class)
        }
    }

    fn breadth_first(&self, class: u32) -> Box<[u32]> {
        let mut row = vec![u32::MAX; self.switches()].into_boxed_slice();
        let mut queue = Vec::with_capacity(self.switches());
        for link in self.links_of(self.leaf_of_class[class as usize] as usize) {
            if row[link.to as usize] == u32::MAX {
                row[link.to as usize] = 1;
                queue.extend(link.through.then_some(link.to));
            }
        }
        let mut head = 0;
        while let Some(&switch) = queue.get(head) {
            head += 1;
            let next = row[switch as usize] + 1;
            for link in self.links_of(switch as usize) {
                let known = &mut row[link.to as usize];
                if *known == u32::MAX {
                    *known = next;
                    queue.extend(link.through.then_some(link.to));
                }
            }
        }
        row
    }

    /// Distances where links differ in cost (Dijkstra 1959).
    fn cheapest_first(&self, class: u32) -> Box<[u32]> {
        let leaf = self.leaf_of_class[class as usize];
        let mut row = vec![u32::MAX; self.switches()].into_boxed_slice();
        let mut reached = BinaryHeap::from([Reverse((0, leaf))]);
        while let Some(Reverse((cost, switch))) = reached.pop() {
            // The leaf begins at 0, which its row does not show: that is the way there and back.
            if cost > 0 && cost > row[switch as usize] {
                continue;
            }
            for link in self.links_of(switch as usize) {
                let known = &mut row[link.to as usize];
                if cost + link.cost < *known {
                    *known = cost + link.cost;
                    reached.extend(link.through.then_some(Reverse((*known, link.to))));
                }
            }
        }
        row
    }

    fn links_of(&self, switch: usize) -> &[Link] {
        &self.links[self.first[switch] as usize..self.first[switch + 1] as usize]
    }

    /// Distances to a class.
    fn row(&self, class: u32) -> &[u32] {
        self.distance[class as usize].get_or_init(|| self.measure(class))
    }

    /// Class of a destination. Destinations of one class have the same next hops wherever
    /// [`Self::distinguishes`] says so.
    #[must_use]
    pub fn class(&self, destination: u32) -> u32 {
        self.class_of[destination as usize]
    }

    /// Number of the destination that a switch (a node) is; `None` if it is no leaf.
    #[must_use]
    pub fn destination(&self, node: u32) -> Option<u32> {
        self.leaves.binary_search(&node).ok().map(|destination| destination as u32)
    }

    /// Number of classes of destinations.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.leaf_of_class.len()
    }

    /// Whether a switch (a node) is linked to the leaves of a class, so that each has next hops of its own there.
    #[must_use]
    pub fn distinguishes(&self, node: u32, class: u32) -> bool {
        self.row(class)[self.switch(node)] == 1
    }

    /// Number of a switch among the switches, which indexes flat arrays: its node less the number of hosts.
    #[must_use]
    pub fn switch(&self, node: u32) -> usize {
        (node - self.hosts) as usize
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.first.len() - 1
    }

    /// Cost of the path from a switch (a node) to destination number `destination`: the number of its links, where each
    /// costs 1; `None` if there is no path.
    #[must_use]
    pub fn distance(&self, node: u32, destination: u32) -> Option<u32> {
        if node == self.leaves[destination as usize] {
            return Some(0);
        }
        Some(self.row(self.class(destination))[self.switch(node)]).filter(|&cost| cost != u32::MAX)
    }

    /// Ports of a switch (a node) on a shortest path to destination number `destination`, ascending.
    pub fn ports(&self, node: u32, destination: u32) -> impl Iterator<Item = u32> + '_ {
        let (row, switch) = (self.row(self.class(destination)), self.switch(node));
        let leaf = self.leaves[destination as usize] - self.hosts;
        // Links carry both ways, so whoever is linked to a switch with a path has one too.
        let here = if switch as u32 == leaf { 0 } else { row[switch] };
        // The leaf itself is nearer than others of its class, who are no way to it.
        let closer = move |link: &&Link| {
            let there = if link.to == leaf { 0 } else { row[link.to as usize] };
            here > 0 && there < here && there + link.cost == here && (link.through || link.to == leaf)
        };
        self.links_of(switch).iter().filter(closer).map(|link| link.port)
    }

    /// Switches (nodes) that have a path to destination number `destination`, nearest first; the leaf itself is the
    /// first.
    #[must_use]
    pub fn nearest_first(&self, destination: u32) -> Vec<u32> {
        let (row, leaf) = (self.row(self.class(destination)), self.leaves[destination as usize] - self.hosts);
        let has_path = |&switch: &u32| switch != leaf && row[switch as usize] != u32::MAX;
        let mut others: Vec<u32> = (0..row.len() as u32).filter(has_path).collect();
        others.sort_by_key(|&switch| row[switch as usize]);
        [leaf].into_iter().chain(others).map(|switch| switch + self.hosts).collect()
    }
}
