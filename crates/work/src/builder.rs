//! Graph that grows, until it is complete.

use crate::WorkError;
use crate::graph::{Graph, NONE, Part};
use crate::lists::Lists;
use crate::node::{Act, Node, NodeId};
use crate::requests::Request;
use std::collections::HashMap;

/// Graph that grows. Its node identities are in the order of creation and are of no use beside it.
#[derive(Debug)]
pub struct Builder {
    file: String,
    ranks: u32,
    pub(crate) nodes: Vec<(u32, Node)>,
    /// `(before, after)` by end, and by start.
    ends: Vec<(u32, u32)>,
    starts: Vec<(u32, u32)>,
    needs: Vec<u32>,
    /// Sends and receives of one message.
    pub(crate) pairs: Vec<(NodeId, NodeId)>,
    /// Whether another node of the same rank requires a node's end.
    awaited: Vec<bool>,
    pub(crate) parts: Vec<Part>,
    /// Part to which nodes belong that are made now.
    present: u32,
    /// First node of the present step, and by rank the node with which it began; no gates in a first step without
    /// computing.
    gates_first: u32,
    gates: Vec<u32>,
    /// Tags of messages made here begin at 2^31, beyond those that files use.
    next_tag: u32,
    warnings: Vec<String>,
    /// Requests that the graph serves, by identities of this builder.
    pub(crate) requests: Vec<Request>,
}

impl Builder {
    /// Starts a graph of so many ranks. `file` names it in errors.
    ///
    /// # Errors
    /// A graph without ranks, and more than 2^20 of them.
    pub fn new(file: &str, ranks: u32) -> Result<Self, WorkError> {
        if ranks == 0 || ranks > 1 << 20 {
            return Err(WorkError::new(file, format!("{ranks} ranks"), "ask for 1 to 1048576 ranks"));
        }
        Ok(Self {
            file: file.to_owned(),
            ranks,
            nodes: Vec::new(),
            ends: Vec::new(),
            starts: Vec::new(),
            needs: Vec::new(),
            pairs: Vec::new(),
            awaited: Vec::new(),
            parts: Vec::new(),
            present: 0,
            gates_first: 0,
            gates: Vec::new(),
            next_tag: 1 << 31,
            warnings: Vec::new(),
            requests: Vec::new(),
        })
    }

    /// Rank of a node.
    pub(crate) fn rank_of(&self, node: NodeId) -> u32 {
        self.nodes[node as usize].0
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Name of the file in errors.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Notes what the file leaves out, in a sentence for the user.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Begins a part: nodes made from now on belong to it.
    pub fn begin_part(&mut self, part: Part) {
        self.present = self.parts.len() as u32;
        self.parts.push(part);
    }

    /// Sets the bytes of every part to those of its messages.
    pub(crate) fn weigh_parts(&mut self) {
        self.parts.iter_mut().for_each(|part| part.bytes = 0);
        for (_, node) in &self.nodes {
            if let Act::Send { bytes, .. } = node.act {
                self.parts[node.part as usize].bytes += bytes;
            }
        }
    }

    /// Lets nodes made from now on belong to a part that has begun, by its number.
    pub(crate) fn resume_part(&mut self, number: u32) {
        debug_assert!((number as usize) < self.parts.len(), "a part that has begun");
        self.present = number;
    }

    /// Adds a node that requires nothing yet, in the present part.
    ///
    /// # Errors
    /// More nodes than identities hold.
    pub fn node(&mut self, rank: u32, act: Act) -> Result<NodeId, WorkError> {
        let part = self.present;
        self.add(rank, Node { act, cpu: 0, nic: 0, part, line: 0 })
    }

    /// Adds a node as it is.
    ///
    /// # Errors
    /// More nodes than identities hold.
    pub fn add(&mut self, rank: u32, node: Node) -> Result<NodeId, WorkError> {
        let id = self.nodes.len() as u32;
        if id >= u32::MAX / 4 {
            return Err(WorkError::new(&*self.file, "more than 2^30 nodes", "ask for fewer steps or ranks"));
        }
        debug_assert!(rank < self.ranks, "a rank of the graph");
        self.nodes.push((rank, node));
        self.needs.push(0);
        self.awaited.push(false);
        Ok(id)
    }

    /// Adds a message with a tag of its own, which no other receive takes; returns its send and its receive.
    ///
    /// # Errors
    /// More nodes than identities hold.
    pub fn message(&mut self, from: u32, to: u32, bytes: u64) -> Result<(NodeId, NodeId), WorkError> {
        let tag = self.next_tag;
        self.next_tag += 1;
        let send = self.node(from, Act::Send { to, bytes, tag })?;
        let recv = self.node(to, Act::Recv { from: Some(from), bytes, tag: Some(tag) })?;
        self.pairs.push((send, recv));
        Ok((send, recv))
    }

    /// Lets `after` start when `before` has ended.
    pub fn requires(&mut self, after: NodeId, before: NodeId) {
        self.ends.push((before, after));
        self.needs[after as usize] += 1;
        self.awaited[before as usize] |= self.nodes[before as usize].0 == self.nodes[after as usize].0;
    }

    /// Lets `after` start when `before` has started.
    pub fn irequires(&mut self, after: NodeId, before: NodeId) {
        self.starts.push((before, after));
        self.needs[after as usize] += 1;
    }

    /// Number of nodes so far.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Lets the nodes from `first` on that wait for nothing wait for the gate of their rank. Returns, for each of
    /// `ranks`, those of them that no other of the same rank waits for.
    pub(crate) fn gate_and_ends(
        &mut self,
        first: NodeId,
        ranks: &[u32],
        gate: impl Fn(u32) -> Option<NodeId>,
    ) -> Vec<Vec<NodeId>> {
        let mut ends: HashMap<u32, Vec<NodeId>> = HashMap::new();
        for node in first..self.count() {
            let rank = self.nodes[node as usize].0;
            if let Some(gate) = gate(rank).filter(|_| self.needs[node as usize] == 0) {
                self.requires(node, gate);
            }
            if !self.awaited[node as usize] {
                ends.entry(rank).or_default().push(node);
            }
        }
        ranks.iter().map(|rank| ends.remove(rank).unwrap_or_default()).collect()
    }

    /// Begins a step: each rank computes for `compute_ps` when all its nodes so far have ended, and what follows waits
    /// for that.
    ///
    /// # Errors
    /// More nodes than identities hold.
    pub fn begin_step(&mut self, compute_ps: u64) -> Result<(), WorkError> {
        let until = self.nodes.len() as u32;
        if until == 0 && compute_ps == 0 {
            return Ok(());
        }
        self.close_step();
        let step = self.parts.last().map_or(0, |part| part.step + 1);
        self.begin_part(Part { step, name: "compute".to_owned(), bytes: 0, ranks: self.ranks, bus: None });
        let gates: Vec<u32> = (0..self.ranks)
            .map(|rank| self.node(rank, Act::Calc { ps: compute_ps }))
            .collect::<Result<_, _>>()?;
        for node in self.gates_first..until {
            if !self.awaited[node as usize] {
                self.requires(gates[self.nodes[node as usize].0 as usize], node);
            }
        }
        self.gates_first = until;
        self.gates = gates;
        Ok(())
    }

    /// Lets the nodes of the present step that wait for nothing wait for the gate of their rank.
    fn close_step(&mut self) {
        let first = self.gates_first + self.gates.len() as u32;
        for node in first..self.nodes.len() as u32 {
            let gate = self.gates.get(self.nodes[node as usize].0 as usize).copied();
            if let Some(gate) = gate.filter(|_| self.needs[node as usize] == 0) {
                self.requires(node, gate);
            }
        }
    }

    /// Completes the graph.
    #[must_use]
    pub fn finish(mut self) -> Graph {
        self.close_step();
        let mut first = vec![0u32; self.ranks as usize + 1];
        for &(rank, _) in &self.nodes {
            first[rank as usize + 1] += 1;
        }
        for rank in 0..self.ranks as usize {
            first[rank + 1] += first[rank];
        }
        let mut next = first.clone();
        let number: Vec<u32> = self
            .nodes
            .iter()
            .map(|&(rank, _)| {
                next[rank as usize] += 1;
                next[rank as usize] - 1
            })
            .collect();
        let mut nodes: Vec<Node> = self.nodes.iter().map(|&(_, node)| node).collect();
        let mut needs = vec![0; self.nodes.len()];
        for ((&(_, node), &new), &count) in self.nodes.iter().zip(&number).zip(&self.needs) {
            nodes[new as usize] = node;
            needs[new as usize] = count;
        }
        // A graph of many ranks has tens of millions of nodes: what is of no more use goes before more is made.
        drop((self.nodes, self.needs, self.awaited, next));
        for (before, after) in self.ends.iter_mut().chain(&mut self.starts) {
            (*before, *after) = (number[*before as usize], number[*after as usize]);
        }
        let mut partners = if self.pairs.is_empty() { Vec::new() } else { vec![NONE; nodes.len()] };
        for (send, recv) in std::mem::take(&mut self.pairs) {
            let (send, recv) = (number[send as usize], number[recv as usize]);
            partners[send as usize] = recv;
            partners[recv as usize] = send;
        }
        if self.parts.is_empty() {
            let name = self.file.clone();
            self.parts.push(Part { step: 0, name, bytes: 0, ranks: self.ranks, bus: None });
        }
        Graph {
            after_end: Lists::of(nodes.len(), self.ends.iter().copied()),
            after_start: Lists::of(nodes.len(), self.starts.iter().copied()),
            first,
            nodes,
            needs,
            partners,
            parts: self.parts,
            file: self.file,
            control_tag: None,
            warnings: self.warnings,
            requests: self.requests.iter().map(|request| request.renumbered(&number)).collect(),
        }
    }
}
