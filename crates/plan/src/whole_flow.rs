//! Whole flow between bounds: which links take one unit more, which one less.

use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};

/// A link of a flow network that is to carry between `least` and `most` whole units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedLink {
    /// Switch that sends, by any number.
    pub from: u32,
    /// Switch that receives.
    pub to: u32,
    /// Units that the link carries at least.
    pub least: u64,
    /// Units that the link carries at most.
    pub most: u64,
}

/// Units over each link if `source` sends `units` to `sink` and every other switch sends what it receives; `None` if the
/// bounds allow no such flow.
///
/// Where a flow of fractions lies between whole bounds, one of whole units does as well (Dantzig and Fulkerson, 1956): a
/// fractional flow can be rounded link by link, down or up, and still be a flow.
#[must_use]
pub fn whole_flow(links: &[BoundedLink], source: u32, sink: u32, units: u64) -> Option<Vec<u64>> {
    let mut nodes: Vec<u32> = links.iter().flat_map(|link| [link.from, link.to]).collect();
    nodes.extend([source, sink]);
    nodes.sort_unstable();
    nodes.dedup();
    let index = |node: u32| nodes.partition_point(|&other| other < node);
    // What must come in over a link's least amount is given to its end and asked of its beginning; then it is a question
    // of a maximum flow (Ahuja, Magnanti and Orlin, Network Flows, section 6.7).
    let mut surplus = vec![0i64; nodes.len()];
    surplus[index(source)] += units as i64;
    surplus[index(sink)] -= units as i64;
    let mut graph = DiGraph::<(), u64>::new();
    let node: Vec<NodeIndex> = nodes.iter().map(|_| graph.add_node(())).collect();
    for link in links {
        let (from, to) = (index(link.from), index(link.to));
        surplus[from] -= link.least as i64;
        surplus[to] += link.least as i64;
        graph.add_edge(node[from], node[to], link.most.checked_sub(link.least)?);
    }
    let (giver, taker) = (graph.add_node(()), graph.add_node(()));
    let mut asked = 0;
    for (&node, &surplus) in node.iter().zip(&surplus) {
        if surplus > 0 {
            asked += surplus as u64;
            graph.add_edge(giver, node, surplus as u64);
        } else {
            graph.add_edge(node, taker, surplus.unsigned_abs());
        }
    }
    let (given, flows) = dinics(&graph, giver, taker);
    (given == asked).then(|| links.iter().zip(flows).map(|(link, above)| link.least + above).collect())
}
