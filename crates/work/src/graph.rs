//! Graph of work: what each rank sends, receives and computes, and what must have happened before.

use crate::lists::Lists;
use crate::node::{Act, Node, NodeId};
use crate::requests::Request;

/// No node.
pub(crate) const NONE: NodeId = u32::MAX;

/// Part of a graph whose completion is reported: a collective, or all of a file, in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Iteration, from 0. Messages are matched within their step.
    pub step: u32,
    /// Name: `all-reduce ring`, or that of a file.
    pub name: String,
    /// Size as nccl-tests states it for a collective, else the bytes of all messages.
    pub bytes: u64,
    /// Number of ranks that take part.
    pub ranks: u32,
    /// Factor from algorithm to bus bandwidth as a fraction (numerator, denominator); none if this is no collective.
    pub bus: Option<(u32, u32)>,
}

/// Graph of work, complete and unchangeable. [`Builder`] makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// First node of each rank, and the number of nodes at the end.
    pub(crate) first: Vec<u32>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) after_end: Lists,
    pub(crate) after_start: Lists,
    pub(crate) needs: Vec<u32>,
    /// Receive of each send and send of each receive, where they were made together, else [`NONE`]; empty if none were.
    pub(crate) partners: Vec<NodeId>,
    pub(crate) parts: Vec<Part>,
    pub(crate) file: String,
    /// Least tag of the messages by which sender and receiver meet; see [`Graph::needs_receive`].
    pub(crate) control_tag: Option<u32>,
    pub(crate) warnings: Vec<String>,
    pub(crate) requests: Vec<Request>,
}

impl Graph {
    /// Warnings of what its file leaves out, in sentences for the user.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// All nodes, rank by rank.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Node of an identity.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node as usize]
    }

    /// Nodes of a rank.
    #[must_use]
    pub fn nodes_of(&self, rank: u32) -> std::ops::Range<NodeId> {
        self.first[rank as usize]..self.first[rank as usize + 1]
    }

    /// Rank of a node.
    #[must_use]
    pub fn rank_of(&self, node: NodeId) -> u32 {
        self.first.partition_point(|&first| first <= node) as u32 - 1
    }

    /// Rank at which a node ends: a message ends where it is received.
    #[must_use]
    pub fn ends_at(&self, node: NodeId) -> u32 {
        match self.node(node).act {
            Act::Send { to, .. } => to,
            _ => self.rank_of(node),
        }
    }

    /// Whether each receive has its send whatever else happens ([`crate::Builder::message`]), so that all orders of events
    /// match alike.
    #[must_use]
    pub fn is_matched(&self) -> bool {
        let is_matched =
            |node| !matches!(self.node(node).act, Act::Recv { .. }) || self.partner(node).is_some();
        (0..self.nodes.len() as u32).all(is_matched)
    }

    /// Nodes that require the end of `node`.
    #[must_use]
    pub fn after_end(&self, node: NodeId) -> &[NodeId] {
        self.after_end.of_node(node)
    }

    /// Nodes that require the start of `node`.
    #[must_use]
    pub fn after_start(&self, node: NodeId) -> &[NodeId] {
        self.after_start.of_node(node)
    }

    /// Number of starts and ends that each node requires.
    #[must_use]
    pub fn needs(&self) -> &[u32] {
        &self.needs
    }

    /// Whether a node receives messages of any source or any tag.
    pub(crate) fn is_wildcard(&self, node: NodeId) -> bool {
        matches!(self.node(node).act, Act::Recv { from: None, .. } | Act::Recv { tag: None, .. })
    }

    /// Receive of a send, or send of a receive, that were made as one message ([`crate::Builder::message`]); they match each other
    /// whatever else has their label.
    pub(crate) fn partner(&self, node: NodeId) -> Option<NodeId> {
        self.partners.get(node as usize).copied().filter(|&partner| partner != NONE)
    }

    /// Sends and receives that were made as one message, each pair once.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        (0..).zip(&self.partners).filter_map(|(node, &partner)| {
            (partner != NONE && matches!(self.node(node).act, Act::Send { .. })).then_some((node, partner))
        })
    }

    /// Parts whose completion is reported.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Step to which a node belongs.
    #[must_use]
    pub fn step_of(&self, node: NodeId) -> u32 {
        self.parts[self.node(node).part as usize].step
    }

    /// Requests that it serves, in the order of their arrival; none unless it is of inference.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Number of messages and sum of their bytes.
    #[must_use]
    pub fn messages(&self) -> (u64, u64) {
        let sizes = self.nodes.iter().filter_map(|node| match node.act {
            Act::Send { bytes, .. } => Some(bytes),
            _ => None,
        });
        sizes.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes))
    }

    /// Position of a node: its line, or its rank and number.
    #[must_use]
    pub fn position(&self, node: NodeId) -> String {
        match self.node(node).line {
            0 => {
                let rank = self.rank_of(node);
                let number = node - self.first[rank as usize];
                format!("{}: rank {rank}, node {number}", self.file)
            }
            line => format!("{}:{line}", self.file),
        }
    }

    /// File or collective that it was made of.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }
}
