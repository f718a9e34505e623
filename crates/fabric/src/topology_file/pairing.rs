//! Pairs edges into links: an undirected edge is a link, two opposite directed edges are the directions of one link.

use super::Fault;
use crate::topology::LinkSettings;
use crate::{GraphLink, GraphNode};
use std::collections::{HashMap, VecDeque};

/// Edge as the file gives it.
pub(super) struct Edge {
    pub(super) source: u32,
    pub(super) target: u32,
    pub(super) settings: LinkSettings,
    pub(super) directed: bool,
    /// Position in the file.
    pub(super) at: usize,
}

/// Pairs edges into links, in the order of each link's first edge.
pub(super) fn pair(edges: &[Edge], nodes: &[GraphNode]) -> Result<Vec<GraphLink>, Fault> {
    let mut links: Vec<GraphLink> = Vec::new();
    // Links that lack their direction back, by (source, target), with the edge they come from.
    let mut open: HashMap<(u32, u32), VecDeque<(usize, usize)>> = HashMap::new();
    for (index, edge) in edges.iter().enumerate() {
        let forth = open.get_mut(&(edge.target, edge.source)).filter(|_| edge.directed);
        if let Some((link, _)) = forth.and_then(VecDeque::pop_front) {
            links[link].back = Some(edge.settings);
            continue;
        }
        if edge.directed {
            open.entry((edge.source, edge.target)).or_default().push_back((links.len(), index));
        }
        links.push(GraphLink { a: edge.source, b: edge.target, settings: edge.settings, back: None });
    }
    let Some(&(_, lone)) = open.values().flatten().min() else { return Ok(links) };
    let name = |node: u32| &nodes[node as usize].name;
    let (source, target) = (name(edges[lone].source), name(edges[lone].target));
    Err(Fault::new(
        edges[lone].at,
        format!("edge {source} -> {target}: there is none back"),
        format!("add an edge {target} -> {source}, or write the graph undirected"),
    ))
}
