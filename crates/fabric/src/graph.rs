//! Fabrics from graphs: finds hosts, gives switches their tiers, and puts hosts in order.

use crate::fabric::unique_names;
use crate::topology::{Builder, LinkSettings};
use crate::{Fabric, FabricError, Servers, Tier};

/// Node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// Name, unique in the graph.
    pub name: String,
    /// Distance from the hosts; derived from the links if `None`.
    pub tier: Option<Tier>,
    /// Pod of the node.
    pub pod: Option<u32>,
}

/// Link of a graph. Two links between the same nodes are parallel links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphLink {
    /// One end, as an index into [`Graph::nodes`].
    pub a: u32,
    /// Other end, as an index into [`Graph::nodes`].
    pub b: u32,
    /// Settings of the direction from `a` to `b`.
    pub settings: LinkSettings,
    /// Settings of the direction from `b` to `a`; those of the other direction if `None`.
    pub back: Option<LinkSettings>,
}

/// Graph of hosts and switches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Hosts and switches in any order.
    pub nodes: Vec<GraphNode>,
    /// Links; the fabric's ports keep their order.
    pub links: Vec<GraphLink>,
    /// Servers with scale-up switches. The graph's hosts are then all network cards, then all scale-up ports in the same
    /// order, and scale-up switches have their tier.
    pub servers: Option<Servers>,
    /// Whether hosts are numbered leaf by leaf instead of in the order of the nodes.
    pub hosts_by_leaf: bool,
}

impl Graph {
    /// Builds the fabric. Hosts are the nodes of tier host or, if no node has a tier, those with a single link. A
    /// switch without a tier becomes a leaf if it is linked to a host, a spine if no switch is farther from the hosts,
    /// and an aggregation otherwise. Hosts come first; they and the switches keep the graph's order, unless hosts
    /// are numbered by leaf.
    ///
    /// # Errors
    /// Refuses a graph without hosts, a host with several links or none or with a link to a host, a node that is linked
    /// to itself or out of reach, two nodes of one name, and too many nodes.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        // Before anything else: of two nodes of one name, the links may all be one's.
        unique_names(self.nodes.iter().map(|node| node.name.as_str()))?;
        let neighbours = self.neighbours()?;
        let is_host = self.hosts(&neighbours)?;
        for (host, links) in neighbours.iter().enumerate().filter(|(node, _)| is_host[*node]) {
            if let [only] = links[..]
                && is_host[only as usize]
            {
                return Err(FabricError::new(
                    format!("link {} - {}: both are hosts", self.nodes[host].name, self.name(only)),
                    "link hosts to switches, and give every switch two links or more or a tier of its own",
                ));
            }
            if links.len() != 1 {
                return Err(FabricError::new(
                    format!("host {}: it has {} links", self.nodes[host].name, links.len()),
                    "give every host exactly one link, to a switch; hosts of several links are built by \
                     `kind = \"rail-optimised\"` (a link from each accelerator of a server) and `kind = \"multi-plane\"` (a \
                     link to each plane), and no graph has them",
                ));
            }
        }
        let distance = self.distance_from_hosts(&neighbours, &is_host)?;
        let top = distance.iter().copied().max().unwrap_or(0);
        let tier = |node: usize| match (self.nodes[node].tier, distance[node]) {
            (Some(tier), _) => tier,
            (None, 0) => Tier::Host,
            (None, 1) => Tier::Leaf,
            (None, far) if far == top => Tier::Spine,
            (None, _) => Tier::Aggregation,
        };
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&node| match is_host[node] {
            true if self.hosts_by_leaf => (false, neighbours[node][0]),
            is_host => (!is_host, 0),
        });
        let mut builder = Builder::new(&[], self.nodes.len() as u128, self.links.len() as u128)?;
        let mut number = vec![0; self.nodes.len()];
        for node in order {
            let GraphNode { name, pod, .. } = &self.nodes[node];
            number[node] = builder.node(name.clone(), tier(node), *pod);
        }
        for link in &self.links {
            let (a, b) = (number[link.a as usize], number[link.b as usize]);
            builder.duplex(a, b, &link.settings, link.back.as_ref().unwrap_or(&link.settings));
        }
        let fabric = builder.build()?;
        Ok(match self.servers {
            Some(servers) => fabric.with_servers(servers),
            None => fabric,
        })
    }

    fn name(&self, node: u32) -> &str {
        &self.nodes[node as usize].name
    }

    /// Nodes at the other ends of each node's links; parallel links count once.
    fn neighbours(&self) -> Result<Vec<Vec<u32>>, FabricError> {
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for (index, link) in self.links.iter().enumerate() {
            if let Some(end) = [link.a, link.b].into_iter().find(|&end| end as usize >= self.nodes.len()) {
                return Err(FabricError::new(
                    format!("link {index}: it ends at node {end}, of {} nodes", self.nodes.len()),
                    "give two nodes of the graph, counted from 0",
                ));
            }
            if link.a == link.b {
                return Err(FabricError::new(
                    format!("link {} - {}: a node linked to itself", self.name(link.a), self.name(link.b)),
                    "leave the link out",
                ));
            }
            neighbours[link.a as usize].push(link.b);
            neighbours[link.b as usize].push(link.a);
        }
        Ok(neighbours)
    }

    /// Tells of each node whether it is a host.
    fn hosts(&self, neighbours: &[Vec<u32>]) -> Result<Vec<bool>, FabricError> {
        let given = self.nodes.iter().any(|node| node.tier.is_some());
        let is_host: Vec<bool> = if given {
            self.nodes.iter().map(|node| node.tier == Some(Tier::Host)).collect()
        } else {
            neighbours.iter().map(|links| links.len() == 1).collect()
        };
        if is_host.contains(&true) {
            return Ok(is_host);
        }
        Err(if given {
            FabricError::new(
                "graph: nodes have tiers, and none is a host",
                "give the hosts the tier host too, or no node a tier",
            )
        } else {
            FabricError::new(
                "graph: no node has a single link, and none has a tier, so there are no hosts",
                "link each host to one switch, or give the hosts the tier host",
            )
        })
    }

    /// Number of links from each node to the nearest host, over switches only.
    fn distance_from_hosts(
        &self,
        neighbours: &[Vec<u32>],
        is_host: &[bool],
    ) -> Result<Vec<u32>, FabricError> {
        let hosts = (0..self.nodes.len() as u32).filter(|&node| is_host[node as usize]);
        let distance = breadth_first(neighbours, hosts.clone());
        // Hosts are no way through, but with a single link they cannot be.
        let start = hosts.clone().min().unwrap_or(0);
        // Scale-up ports lead nowhere else.
        let ports =
            hosts.clone().skip(self.servers.map_or(usize::MAX, |servers| servers.accelerators as usize));
        let reached = breadth_first(neighbours, [start].into_iter().chain(ports));
        match reached.iter().position(|&links| links == u32::MAX) {
            None => Ok(distance),
            Some(lost) => Err(FabricError::new(
                format!("node {}: there is no way to it from {}", self.nodes[lost].name, self.name(start)),
                "link them, or leave the node out",
            )),
        }
    }
}

/// Number of links from the nearest of `starts` to each node; `u32::MAX` if there is no path.
fn breadth_first(neighbours: &[Vec<u32>], starts: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut distance = vec![u32::MAX; neighbours.len()];
    let mut queue: Vec<u32> = starts.collect();
    for &start in &queue {
        distance[start as usize] = 0;
    }
    let mut head = 0;
    while let Some(&node) = queue.get(head) {
        head += 1;
        for &next in &neighbours[node as usize] {
            if distance[next as usize] == u32::MAX {
                distance[next as usize] = distance[node as usize] + 1;
                queue.push(next);
            }
        }
    }
    distance
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests {
    use super::*;
    use crate::topology::{Clos, LeafSpine};
    use proptest::prelude::*;

    /// Graph that describes `fabric`, with its nodes in the order of `shuffle`.
    fn graph(fabric: &Fabric, tiers: bool, shuffle: &[u32]) -> Graph {
        let mut at = vec![0; shuffle.len()];
        (0..).zip(shuffle).for_each(|(rank, &node)| at[node as usize] = rank);
        let nodes = shuffle.iter().map(|&node| {
            let node = fabric.nodes()[node as usize].clone();
            GraphNode { name: node.name, tier: tiers.then_some(node.tier), pod: node.pod }
        });
        let links = fabric.ports().iter().enumerate().filter(|(index, port)| port.reverse as usize > *index);
        let links = links.map(|(_, port)| {
            let LinkSettings { buffer, marking, .. } = LinkSettings::default();
            let settings = LinkSettings { rate: port.rate, delay_ps: port.delay_ps, buffer, marking };
            GraphLink { a: at[port.from as usize], b: at[port.to as usize], settings, back: None }
        });
        Graph { nodes: nodes.collect(), links: links.collect(), ..Graph::default() }
    }

    fn named(links: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for &(a, b) in links {
            let ends = [a, b].map(|name| {
                let known = graph.nodes.iter().position(|node| node.name == name);
                known.unwrap_or_else(|| {
                    graph.nodes.push(GraphNode { name: name.to_owned(), tier: None, pod: None });
                    graph.nodes.len() - 1
                }) as u32
            });
            let settings = LinkSettings::default();
            graph.links.push(GraphLink { a: ends[0], b: ends[1], settings, back: None });
        }
        graph
    }

    fn error(graph: &Graph) -> String {
        graph.build().unwrap_err().to_string()
    }

    #[test]
    fn a_built_fabric_is_found_again_in_its_graph() {
        let leaf_spine = LeafSpine { leaves: 3, spines: 2, parallel_links: 2, ..LeafSpine::default() };
        for fabric in [leaf_spine.build().unwrap(), Clos::default().build().unwrap()] {
            let order: Vec<u32> = (0..fabric.nodes().len() as u32).collect();
            for tiers in [false, true] {
                assert_eq!(graph(&fabric, tiers, &order).build().unwrap(), fabric);
            }
        }
    }

    proptest! {
        #[test]
        fn order_changes_numbers_and_nothing_else(order in Just((0..52u32).collect::<Vec<_>>()).prop_shuffle()) {
            let fabric = Clos::default().build().unwrap();
            let found = graph(&fabric, false, &order).build().unwrap();
            let names = |nodes: &mut dyn Iterator<Item = u32>| -> Vec<String> {
                nodes.map(|node| fabric.nodes()[node as usize].name.clone()).collect()
            };
            let hosts = names(&mut order.iter().copied().filter(|&node| node < fabric.hosts()));
            prop_assert!(found.nodes()[..hosts.len()].iter().map(|node| &node.name).eq(&hosts));
            let by_leaf = Graph { hosts_by_leaf: true, ..graph(&fabric, false, &order) }.build().unwrap();
            let leaves: Vec<u32> = (0..by_leaf.hosts()).map(|host| by_leaf.leaf_of(host)).collect();
            prop_assert!(leaves.is_sorted());
            let sorted = |fabric: &Fabric| {
                let mut nodes = fabric.nodes().to_vec();
                nodes.sort_by(|a, b| a.name.cmp(&b.name));
                nodes
            };
            prop_assert_eq!(sorted(&found), sorted(&fabric));
        }
    }

    #[test]
    fn directions_of_a_link_may_differ() {
        let mut graph = named(&[("h0", "s"), ("h1", "s")]);
        let slow = LinkSettings { delay_ps: 7, ..LinkSettings::default() };
        graph.links[1].back = Some(slow);
        let fabric = graph.build().unwrap();
        let delays: Vec<u64> = fabric.ports().iter().map(|port| port.delay_ps).collect();
        assert_eq!(delays, [1_000_000, 1_000_000, 1_000_000, 7]);
        assert_eq!(fabric.nodes()[2].tier, Tier::Leaf);
    }

    #[test]
    fn what_is_no_fabric_is_refused_by_name() {
        let ends = "link them, or leave the node out";
        let apart = named(&[("h0", "a"), ("h1", "a"), ("h2", "b"), ("h3", "b")]);
        assert_eq!(error(&apart), format!("node h2: there is no way to it from h0; {ends}"));
        let pair = named(&[("x", "y")]);
        assert!(error(&pair).starts_with("link x - y: both are hosts; link hosts to switches"));
        let ring = named(&[("a", "b"), ("b", "c"), ("c", "a")]);
        assert!(error(&ring).starts_with("graph: no node has a single link"));
        let mut tiers = named(&[("h0", "s"), ("h1", "s")]);
        tiers.nodes[1].tier = Some(Tier::Leaf);
        assert!(error(&tiers).starts_with("graph: nodes have tiers, and none is a host"));
        let mut twice = named(&[("h0", "s"), ("h0", "s"), ("h1", "s")]);
        twice.nodes[0].tier = Some(Tier::Host);
        assert!(error(&twice).starts_with("host h0: it has 2 links"));
        let mut same = named(&[("h0", "s"), ("h1", "s")]);
        same.nodes.push(same.nodes[0].clone());
        assert_eq!(error(&same), "node h0: two nodes have this name; give every node a name of its own");
        assert!(error(&named(&[("a", "a")])).starts_with("link a - a: a node linked to itself"));
        let mut far = pair;
        far.links[0].b = 9;
        assert!(error(&far).starts_with("link 0: it ends at node 9, of 2 nodes"));
    }
}
