//! Rendezvous: messages that wait until their receive has begun, as small messages of a graph.
//!
//! A rank that is to receive says so, and the sender waits for that. Both are nodes like any other, so that every transport
//! carries them, and results show what they cost.

use crate::builder::Builder;
use crate::{Act, Graph, Node, NodeId, WorkError};
use std::collections::BTreeMap;

/// Size of a message that asks or allows: an entry of NCCL's `ctsFifo`, the header of an MPI envelope.
pub const CONTROL_BYTES: u64 = 64;

/// How sender and receiver meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendezvous {
    /// The receiver allows the message when its receive begins, unasked: NCCL (`net_ib.cc`, `ncclIbPostFifo`).
    ClearToSend,
    /// The sender asks when it could send, and the receiver allows it once its receive has begun: MPI.
    RequestToSend,
}

/// Sender, receiver, tag and step of messages.
type Label = (u32, u32, u32, u32);

impl Graph {
    /// The same work with rendezvous for messages larger than `eager_bytes`. Messages with the same ranks, tag and step are
    /// taken together, by the largest: their receives cannot be told apart.
    ///
    /// # Errors
    /// A receive of any source or any tag, which cannot say whom it allows; a message that waits forever; more nodes or
    /// tags than identities hold.
    pub fn with_rendezvous(&self, by: Rendezvous, eager_bytes: u64) -> Result<Self, WorkError> {
        let mut next_tag = 0;
        let mut tags: BTreeMap<Label, u32> = BTreeMap::new();
        for (index, node) in (0..).zip(self.nodes()) {
            match node.act {
                Act::Recv { from: None, .. } | Act::Recv { tag: None, .. } => {
                    return Err(WorkError::new(
                        self.position(index),
                        "rendezvous: this receive takes messages of any source or tag, so it can allow none",
                        "give it a source and a tag, or leave `rendezvous` out",
                    ));
                }
                Act::Send { bytes, tag, .. } | Act::Recv { bytes, tag: Some(tag), .. } => {
                    next_tag = next_tag.max(u64::from(tag) + 1);
                    let label = self.label(index).filter(|_| bytes > eager_bytes);
                    tags.extend(label.map(|label| (label, 0)));
                }
                Act::Calc { .. } | Act::Wait { .. } => {}
            }
        }
        for tag in tags.values_mut() {
            *tag = u32::try_from(next_tag + 1).map(|last| last - 1).map_err(|_| {
                WorkError::new(self.position(0), "rendezvous: no tag is left", "use smaller tags")
            })?;
            next_tag += 2;
        }
        let waits = |node| self.label(node).is_some_and(|label| tags.contains_key(&label));
        self.check_posted(waits, "under rendezvous")?;
        let mut graph = self.rebuilt(by, &tags)?;
        graph.control_tag = tags.values().min().copied();
        Ok(graph)
    }

    /// Whether the message of a send goes to a receive that its rank posts for it. The words by which sender and receiver
    /// meet do not: a clear-to-send is written into memory that the other rank knows (NCCL: `ctsFifo`), and libraries of MPI
    /// keep receives posted for their envelopes.
    #[must_use]
    pub fn needs_receive(&self, send: NodeId) -> bool {
        let Act::Send { tag, .. } = self.node(send).act else { return false };
        self.control_tag.is_none_or(|least| tag < least)
    }

    /// Label of a send or receive between two ranks.
    fn label(&self, node: NodeId) -> Option<Label> {
        let (rank, step) = (self.rank_of(node), self.step_of(node));
        let (from, to, tag) = match self.node(node).act {
            Act::Send { to, tag, .. } => (rank, to, tag),
            Act::Recv { from: Some(from), tag: Some(tag), .. } => (from, rank, tag),
            _ => return None,
        };
        (from != to).then_some((from, to, tag, step))
    }

    /// The graph with a node more, or two, for each send and receive in `tags`, whose messages have that tag and the next.
    fn rebuilt(&self, by: Rendezvous, tags: &BTreeMap<Label, u32>) -> Result<Self, WorkError> {
        let mut builder = Builder::new(self.file(), self.ranks())?;
        self.warnings().iter().for_each(|warning| builder.warn(warning.clone()));
        self.parts().iter().for_each(|part| builder.begin_part(part.clone()));
        for rank in 0..self.ranks() {
            for node in self.nodes_of(rank) {
                builder.add(rank, *self.node(node))?;
            }
        }
        // Node that waits for what each node has waited for so far.
        let mut first: Vec<NodeId> = (0..self.nodes().len() as u32).collect();
        for node in 0..self.nodes().len() as u32 {
            let Some((from, to, allow)) =
                self.label(node).and_then(|label| Some((label.0, label.1, *tags.get(&label)?)))
            else {
                continue;
            };
            let mut add = |rank, act| builder.add(rank, Node { act, ..*self.node(node) });
            let send = |to, tag| Act::Send { to, bytes: CONTROL_BYTES, tag };
            let recv = |from, tag| Act::Recv { from: Some(from), bytes: CONTROL_BYTES, tag: Some(tag) };
            let is_send = matches!(self.node(node).act, Act::Send { .. });
            match (is_send, by) {
                (true, Rendezvous::ClearToSend) => {
                    let allowed = add(from, recv(to, allow))?;
                    first[node as usize] = allowed;
                    builder.requires(node, allowed);
                }
                (true, Rendezvous::RequestToSend) => {
                    let asks = add(from, send(to, allow + 1))?;
                    let allowed = add(from, recv(to, allow))?;
                    first[node as usize] = asks;
                    builder.irequires(allowed, asks);
                    builder.requires(node, allowed);
                }
                (false, Rendezvous::ClearToSend) => {
                    let allows = add(to, send(from, allow))?;
                    builder.irequires(allows, node);
                }
                (false, Rendezvous::RequestToSend) => {
                    let asked = add(to, recv(from, allow + 1))?;
                    let allows = add(to, send(from, allow))?;
                    builder.irequires(asked, node);
                    builder.requires(allows, asked);
                }
            }
        }
        for before in 0..self.nodes().len() as u32 {
            for &after in self.after_end(before) {
                builder.requires(first[after as usize], before);
            }
            for &after in self.after_start(before) {
                builder.irequires(first[after as usize], before);
            }
        }
        builder.pairs = self.pairs().collect();
        builder.requests = self.requests().to_vec();
        Ok(builder.finish())
    }
}
