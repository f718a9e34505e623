//! Shortest-path next hops: for every switch and every destination leaf, the ports on a shortest path.

use crate::{Fabric, Rate, What};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    port: u32,
    /// Switch at the other end, counted from the first switch.
    to: u32,
}

/// Shortest next hops between switches, by number of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHops {
    /// Leaves: switches with hosts, ascending. A destination is an index into this list.
    pub leaves: Vec<u32>,
    /// Number of nodes before the first switch.
    hosts: u32,
    /// Links that carry, of each switch, by ascending port: `links[first[s]..first[s + 1]]`.
    links: Vec<Link>,
    first: Vec<u32>,
    /// Number of links to each destination: `distance[destination * switches + s]`; `u32::MAX` if there is no path.
    distance: Vec<u32>,
}

impl NextHops {
    /// Finds shortest paths over the links that carry. No path leads through a host.
    #[must_use]
    pub fn shortest(fabric: &Fabric, state: &LinkState) -> Self {
        let hosts = fabric.hosts();
        let mut leaves: Vec<u32> = (0..hosts).map(|host| fabric.leaf_of(host)).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let mut hops = Self { leaves, hosts, links: Vec::new(), first: vec![0], distance: Vec::new() };
        for switch in hosts..fabric.nodes().len() as u32 {
            for &port in fabric.ports_of(switch) {
                let to = fabric.ports()[port as usize].to;
                if to >= hosts && state.link_up(fabric, port) {
                    hops.links.push(Link { port, to: to - hosts });
                }
            }
            hops.first.push(hops.links.len() as u32);
        }
        let switches = hops.first.len() - 1;
        let mut distance = vec![u32::MAX; hops.leaves.len() * switches];
        let mut queue = Vec::with_capacity(switches);
        for (row, &leaf) in distance.chunks_exact_mut(switches.max(1)).zip(&hops.leaves) {
            hops.measure(leaf - hosts, row, &mut queue);
        }
        hops.distance = distance;
        hops
    }

    /// Fills a leaf's row of distances, breadth-first from the leaf.
    fn measure(&self, leaf: u32, row: &mut [u32], queue: &mut Vec<u32>) {
        queue.clear();
        queue.push(leaf);
        row[leaf as usize] = 0;
        let mut head = 0;
        while let Some(&switch) = queue.get(head) {
            head += 1;
            let next = row[switch as usize] + 1;
            for link in self.links_of(switch as usize) {
                let known = &mut row[link.to as usize];
                if *known == u32::MAX {
                    *known = next;
                    queue.push(link.to);
                }
            }
        }
    }

    fn links_of(&self, switch: usize) -> &[Link] {
        &self.links[self.first[switch] as usize..self.first[switch + 1] as usize]
    }

    /// Distances of all switches to a destination.
    fn row(&self, destination: u32) -> &[u32] {
        let switches = self.first.len() - 1;
        &self.distance[destination as usize * switches..][..switches]
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

    /// Number of links from a switch (a node) to destination number `destination`; `None` if there is no path.
    #[must_use]
    pub fn distance(&self, node: u32, destination: u32) -> Option<u32> {
        Some(self.row(destination)[self.switch(node)]).filter(|&links| links != u32::MAX)
    }

    /// Ports of a switch (a node) on a shortest path to destination number `destination`, ascending.
    pub fn ports(&self, node: u32, destination: u32) -> impl Iterator<Item = u32> + '_ {
        let (row, switch) = (self.row(destination), self.switch(node));
        // Links carry both ways, so whoever is linked to a switch with a way has one too.
        let here = row[switch];
        self.links_of(switch).iter().filter(move |link| row[link.to as usize] < here).map(|link| link.port)
    }

    /// Switches (nodes) that have a path to destination number `destination`, nearest first; the leaf itself is the
    /// first.
    #[must_use]
    pub fn nearest_first(&self, destination: u32) -> Vec<u32> {
        let row = self.row(destination);
        let mut switches: Vec<u32> =
            (0..row.len() as u32).filter(|&switch| row[switch as usize] != u32::MAX).collect();
        switches.sort_by_key(|&switch| row[switch as usize]);
        switches.iter().map(|switch| switch + self.hosts).collect()
    }
}
