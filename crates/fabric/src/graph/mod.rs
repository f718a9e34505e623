//! Fabrics from graphs: finds hosts, and gives switches their tiers.

mod host_ends;

use crate::fabric::unique_names;
use crate::topology::{Builder, LinkSettings};
use crate::{Fabric, FabricError, Tier};
use host_ends::HostEnds;

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
}

impl Graph {
    /// Builds the fabric. Hosts are the nodes of tier host or, if no node has a tier, those with a single link. A
    /// switch without a tier becomes a leaf if it is linked to a host, a spine if no switch is farther from the hosts,
    /// and an aggregation otherwise. Hosts come first; they and the switches keep the graph's order.
    ///
    /// A host with several links, or with one to another host, gets a network card, a switch of tier [`Tier::Nic`], with a
    /// port for each. Nothing passes through a host to another. Its links to switches of tier [`Tier::Server`] are those of
    /// its scale-up port, a host of its own behind all others; scale-up switches that share hosts are of one server.
    ///
    /// # Errors
    /// Refuses a graph without hosts, a host without a link, a link between hosts where no node has a tier, a scale-up
    /// switch with a link to another switch, a node that is linked to itself or out of reach, two nodes of one name, and too
    /// many nodes.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        // Before anything else: of two nodes of one name, the links may all be one's.
        unique_names(self.nodes.iter().map(|node| node.name.as_str()))?;
        let neighbours = self.neighbours()?;
        let is_host = self.hosts(&neighbours)?;
        self.check_links(&is_host)?;
        self.check_hosts(&neighbours, &is_host)?;
        let distance = self.distance_from_hosts(&neighbours, &is_host)?;
        let top = distance.iter().copied().max().unwrap_or(0);
        let tier = |node: usize| match (self.nodes[node].tier, distance[node]) {
            (Some(tier), _) => tier,
            (None, 0) => Tier::Host,
            (None, 1) => Tier::Leaf,
            (None, far) if far == top => Tier::Spine,
            (None, _) => Tier::Aggregation,
        };
        let host_ends = HostEnds::of(self, &is_host);
        let switches = is_host.iter().filter(|&&is_host| !is_host).count();
        let nodes = host_ends.hosts() + host_ends.cards() + switches;
        let mut builder = Builder::new(&[], nodes as u128, (self.links.len() + host_ends.cards()) as u128)?;
        let ends = host_ends.add(self, &mut builder);
        let mut number = vec![u32::MAX; self.nodes.len()];
        for (node, GraphNode { name, pod, .. }) in self.nodes.iter().enumerate() {
            if !is_host[node] {
                number[node] = builder.node(name.clone(), tier(node), *pod);
            }
        }
        for (link, [a, b]) in self.links.iter().zip(ends) {
            let (a, b) = (a.min(number[link.a as usize]), b.min(number[link.b as usize]));
            builder.duplex(a, b, &link.settings, link.back.as_ref().unwrap_or(&link.settings));
        }
        host_ends.join(self, &mut builder)?;
        let fabric = builder.build()?;
        Ok(match host_ends.servers() {
            Some(servers) => fabric.with_servers(servers),
            None => fabric,
        })
    }

    /// Refuses links between hosts that nobody calls hosts, and those from a scale-up switch to another switch.
    fn check_links(&self, is_host: &[bool]) -> Result<(), FabricError> {
        for &GraphLink { a, b, .. } in &self.links {
            let problem = |what: &str| format!("link {} - {}: {what}", self.name(a), self.name(b));
            let both = is_host[a as usize] && is_host[b as usize];
            // With tiers, somebody has said so; without, one of them may be a switch.
            if both && self.nodes[a as usize].tier.is_none() {
                return Err(FabricError::new(
                    None,
                    problem("both are hosts"),
                    "link hosts to switches, and give every switch two links or more; or give hosts the tier host",
                ));
            }
            let one_is = |which: &dyn Fn(u32) -> bool| which(a) != which(b);
            if one_is(&|node| self.is_scale_up(node)) && !one_is(&|node| is_host[node as usize]) {
                return Err(FabricError::new(
                    None,
                    problem("a scale-up switch joins the hosts of a server, and leads nowhere else"),
                    "link it to hosts alone, or give it the tier of a leaf",
                ));
            }
        }
        Ok(())
    }

    /// Refuses hosts without a link to the network.
    fn check_hosts(&self, neighbours: &[Vec<u32>], is_host: &[bool]) -> Result<(), FabricError> {
        for (host, links) in neighbours.iter().enumerate().filter(|(node, _)| is_host[*node]) {
            if links.iter().all(|&switch| self.is_scale_up(switch)) {
                let name = &self.nodes[host].name;
                return Err(if links.is_empty() {
                    FabricError::new(
                        None,
                        format!("host {name}: it has no link"),
                        "link it to a switch, or leave it out",
                    )
                } else {
                    FabricError::new(
                        None,
                        format!("host {name}: it has links to scale-up switches alone"),
                        "link it to a leaf too, or give those switches the tier of leaves",
                    )
                });
            }
        }
        Ok(())
    }

    /// Whether a node is a switch within a server.
    fn is_scale_up(&self, node: u32) -> bool {
        self.nodes[node as usize].tier == Some(Tier::Server)
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
                    None,
                    format!("link {index}: it ends at node {end}, of {} nodes", self.nodes.len()),
                    "give two nodes of the graph, counted from 0",
                ));
            }
            if link.a == link.b {
                return Err(FabricError::new(
                    None,
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
                None,
                "graph: nodes have tiers, and none is a host",
                "give the hosts the tier host too, or no node a tier",
            )
        } else {
            FabricError::new(
                None,
                "graph: no node has a single link, and none has a tier, so there are no hosts",
                "link each host to one switch, or give the hosts the tier host",
            )
        })
    }

    /// Number of links from each node to the nearest host.
    fn distance_from_hosts(
        &self,
        neighbours: &[Vec<u32>],
        is_host: &[bool],
    ) -> Result<Vec<u32>, FabricError> {
        let hosts = (0..self.nodes.len() as u32).filter(|&node| is_host[node as usize]);
        let start = hosts.clone().min().unwrap_or(0);
        let reached = breadth_first(neighbours, [start].into_iter());
        match reached.iter().position(|&links| links == u32::MAX) {
            None => Ok(breadth_first(neighbours, hosts)),
            Some(lost) => Err(FabricError::new(
                None,
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
        Graph { nodes: nodes.collect(), links: links.collect() }
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
        let mut alone = named(&[("h0", "s"), ("h1", "s")]);
        alone.nodes.push(GraphNode { name: "h2".into(), tier: Some(Tier::Host), pod: None });
        (alone.nodes[0].tier, alone.nodes[2].tier) = (Some(Tier::Host), Some(Tier::Host));
        assert!(error(&alone).starts_with("host h2: it has no link; link it to a switch"));
        let mut same = named(&[("h0", "s"), ("h1", "s")]);
        same.nodes.push(same.nodes[0].clone());
        assert_eq!(error(&same), "node h0: two nodes have this name; give every node a name of its own");
        assert!(error(&named(&[("a", "a")])).starts_with("link a - a: a node linked to itself"));
        let mut far = pair;
        far.links[0].b = 9;
        assert!(error(&far).starts_with("link 0: it ends at node 9, of 2 nodes"));
    }
}
