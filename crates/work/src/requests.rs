//! Requests that a graph of inference serves, and the nodes with which each goes on.

use crate::node::NodeId;

/// A request, from its arrival to its last token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    /// Tokens that it gets, at least one.
    pub output_tokens: u64,
    /// Node that ends when it arrives.
    pub arrival: NodeId,
    /// Nodes that end with its first token: it is there when all have ended.
    pub first_token: Vec<NodeId>,
    /// Nodes that end when its cache is where it is decoded; none if it has one token.
    pub cache: Vec<NodeId>,
    /// Nodes that end with its last token.
    pub last_token: Vec<NodeId>,
}

impl Request {
    /// The same request where nodes have other numbers: `number` has them, by those of here.
    pub(crate) fn renumbered(&self, number: &[NodeId]) -> Self {
        let each = |nodes: &[NodeId]| nodes.iter().map(|&node| number[node as usize]).collect();
        Self {
            arrival: number[self.arrival as usize],
            first_token: each(&self.first_token),
            cache: each(&self.cache),
            last_token: each(&self.last_token),
            ..*self
        }
    }
}
