//! Hosts of a graph as the fabric has them: one for the network, and one for the scale-up port.

use super::Graph;
use crate::racks::Groups;
use crate::topology::Builder;
use crate::{FabricError, Servers, Tier};
use std::collections::HashMap;

/// Host of the fabric, and its links.
struct End {
    /// Host of the graph.
    host: u32,
    name: String,
    /// Links of the graph.
    links: Vec<usize>,
    /// Whether they are those of a network card: several, or one to another host.
    has_card: bool,
}

/// Hosts of the fabric that a graph's hosts become: all for the network, and behind them scale-up ports.
pub(crate) struct HostEnds {
    ends: Vec<End>,
    servers: Option<Servers>,
}

impl HostEnds {
    /// Deals each host's links to its two ends.
    pub(crate) fn of(graph: &Graph, is_host: &[bool]) -> Self {
        let is_scale_up = |node: u32| graph.nodes[node as usize].tier == Some(Tier::Server);
        let other_end = |index: usize, host: u32| {
            let link = &graph.links[index];
            if link.a == host { link.b } else { link.a }
        };
        let mut links = vec![[const { Vec::new() }; 2]; graph.nodes.len()];
        let mut groups = Groups::new(graph.nodes.len());
        for (index, link) in graph.links.iter().enumerate() {
            for (host, switch) in [(link.a, link.b), (link.b, link.a)] {
                if is_host[host as usize] {
                    let [others, scale_up] = &mut links[host as usize];
                    if is_scale_up(switch) {
                        groups.join(switch, scale_up.first().map_or(switch, |&first| other_end(first, host)));
                        scale_up.push(index);
                    } else {
                        others.push(index);
                    }
                }
            }
            if is_scale_up(link.a) && is_scale_up(link.b) {
                groups.join(link.a, link.b);
            }
        }
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let (mut network, mut ports, mut servers) = (Vec::new(), Vec::new(), Vec::new());
        for (host, [others, scale_up]) in (0..).zip(links).filter(|(node, _)| is_host[*node as usize]) {
            let name = graph.nodes[host as usize].name.clone();
            servers.push(scale_up.first().map(|&link| {
                let next = numbers.len() as u32;
                *numbers.entry(groups.least(other_end(link, host))).or_insert(next)
            }));
            if !scale_up.is_empty() {
                let has_card = scale_up.len() > 1;
                ports.push(End { host, name: format!("{name}.scaleup"), links: scale_up, has_card });
            }
            let has_card = others.len() > 1 || is_host[other_end(others[0], host) as usize];
            network.push(End { host, name, links: others, has_card });
        }
        let servers = (!ports.is_empty()).then(|| Servers::new(&servers));
        network.append(&mut ports);
        Self { ends: network, servers }
    }

    /// Number of network cards.
    pub(crate) fn cards(&self) -> usize {
        self.ends.iter().filter(|end| end.has_card).count()
    }

    /// Number of hosts of the fabric.
    pub(crate) fn hosts(&self) -> usize {
        self.ends.len()
    }

    /// Adds hosts and their cards; where each link of the graph ends, `u32::MAX` at switches.
    pub(crate) fn add(&self, graph: &Graph, builder: &mut Builder) -> Vec<[u32; 2]> {
        let mut ends = vec![[u32::MAX; 2]; graph.links.len()];
        let pod = |end: &End| graph.nodes[end.host as usize].pod;
        let mut at: Vec<u32> =
            self.ends.iter().map(|end| builder.node(end.name.clone(), Tier::Host, pod(end))).collect();
        for (end, at) in self.ends.iter().zip(&mut at) {
            if end.has_card {
                *at = builder.node(format!("{}.nic", end.name), Tier::Nic, pod(end));
            }
            for &link in &end.links {
                ends[link][usize::from(graph.links[link].b == end.host)] = *at;
            }
        }
        ends
    }

    /// Links hosts to their cards, which stand behind them in the same order.
    ///
    /// # Errors
    /// Refuses a host faster than links can be.
    pub(crate) fn join(&self, graph: &Graph, builder: &mut Builder) -> Result<(), FabricError> {
        let several = (0..).zip(&self.ends).filter(|(_, end)| end.has_card);
        for (card, (host, end)) in (self.hosts() as u32..).zip(several) {
            let rates = end.links.iter().map(|&link| {
                let link = &graph.links[link];
                let back = link.back.unwrap_or(link.settings);
                if link.a == end.host { link.settings.rate } else { back.rate }
            });
            builder.card(host, card, rates, (None, &format!("host {}", end.name)))?;
        }
        Ok(())
    }

    /// Servers, if there are scale-up switches.
    pub(crate) fn servers(self) -> Option<Servers> {
        self.servers
    }
}
