//! Execution of a graph: dependencies counted down, messages matched, processors serial. It knows no network and no
//! clock of its own: whoever runs it says when computing has ended and when messages are delivered.

use crate::graph::NONE;
use crate::mailbox::Mailbox;
use crate::{Act, Graph, NodeId};
use std::collections::{HashMap, VecDeque};

/// Time of what has not happened.
pub const NEVER_PS: u64 = u64::MAX;

/// Task of the surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Carry the message of this send to another rank; call [`Execution::delivered`] when its last byte is there.
    Carry(NodeId),
    /// Call [`Execution::elapsed`] after so many picoseconds, at least one.
    Time(NodeId, u64),
}

/// Start and end of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeTimes {
    /// When it started, in picoseconds.
    pub start_ps: u64,
    /// When it ended, in picoseconds.
    pub end_ps: u64,
}

impl NodeTimes {
    /// When the last of some nodes ended, in picoseconds, by the times of all. None if one has not ended, or if there are
    /// none.
    #[must_use]
    pub fn last_end_ps(nodes: &[NodeId], times: &[Self]) -> Option<u64> {
        nodes.iter().map(|&node| times[node as usize].end_ps).max().filter(|&end_ps| end_ps != NEVER_PS)
    }
}

/// State of an execution.
#[derive(Debug)]
pub struct Execution<G: AsRef<Graph>> {
    graph: G,
    missing: Vec<u32>,
    mailboxes: Vec<Mailbox>,
    /// Receives of messages that were accepted and have not been delivered, by their send.
    accepted: HashMap<NodeId, NodeId>,
    /// Processors of each rank begin here.
    first_processor: Vec<u32>,
    /// Node that each processor computes, and those that wait for it.
    processors: Vec<(NodeId, VecDeque<NodeId>)>,
    times: Vec<NodeTimes>,
    /// Node whose start or end let this one start, or end if it is a receive.
    cause: Vec<NodeId>,
    /// Node whose start or end let this one start.
    start_cause: Vec<NodeId>,
    left: u64,
    /// Whether each rank is executed here, where ranks are executed apart.
    here: Option<Vec<bool>>,
    /// Nodes that may start now, each with what let it.
    ready: VecDeque<(NodeId, NodeId)>,
}

impl<G: AsRef<Graph>> Execution<G> {
    /// An execution in which nothing has happened yet.
    #[must_use]
    pub fn new(held: G) -> Self {
        let graph = held.as_ref();
        let count = graph.nodes().len();
        let mut first_processor = vec![0];
        for rank in 0..graph.ranks() {
            let cpus =
                graph.nodes_of(rank).map(|node| u32::from(graph.node(node).cpu) + 1).max().unwrap_or(1);
            first_processor.push(first_processor[rank as usize] + cpus);
        }
        let processors = first_processor.last().copied().unwrap_or(0) as usize;
        Self {
            missing: graph.needs().to_vec(),
            mailboxes: (0..graph.ranks()).map(|_| Mailbox::default()).collect(),
            accepted: HashMap::new(),
            first_processor,
            processors: (0..processors).map(|_| (NONE, VecDeque::new())).collect(),
            times: vec![NodeTimes { start_ps: NEVER_PS, end_ps: NEVER_PS }; count],
            cause: vec![NONE; count],
            start_cause: vec![NONE; count],
            left: count as u64,
            here: None,
            ready: VecDeque::new(),
            graph: held,
        }
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        self.graph.as_ref()
    }

    /// Starts all nodes that require nothing, rank by rank, of the ranks that `here` names: of a graph whose ranks are
    /// executed apart, each execution has its own, and hears of messages that are delivered to others if something of its
    /// own waits for that.
    pub fn begin(&mut self, here: impl Fn(u32) -> bool, now_ps: u64, effects: &mut Vec<Effect>) {
        let graph = self.graph.as_ref();
        let ranks: Vec<bool> = (0..graph.ranks()).map(here).collect();
        let own = (0..graph.ranks()).filter(|&rank| ranks[rank as usize]);
        let nodes = own.flat_map(|rank| graph.nodes_of(rank));
        self.ready =
            nodes.filter(|&node| self.missing[node as usize] == 0).map(|node| (node, NONE)).collect();
        self.here = ranks.contains(&false).then_some(ranks);
        self.go_on(now_ps, effects);
    }

    /// The time of a node is over.
    pub fn elapsed(&mut self, node: NodeId, now_ps: u64, effects: &mut Vec<Effect>) {
        if matches!(self.graph().node(node).act, Act::Calc { .. }) {
            let processor = self.processor_of(node);
            self.processors[processor].0 = NONE;
            if let Some(next) = self.processors[processor].1.pop_front() {
                self.processors[processor].0 = next;
                self.cause[next as usize] = node;
                self.start_cause[next as usize] = node;
                self.compute(next, now_ps, effects);
            }
        }
        self.end(node, now_ps);
        self.go_on(now_ps, effects);
    }

    /// The last byte of a send's message is at its rank.
    pub fn delivered(&mut self, send: NodeId, now_ps: u64, effects: &mut Vec<Effect>) {
        self.arrive(send, now_ps);
        self.go_on(now_ps, effects);
    }

    /// The same at a rank of another execution, which has the receive.
    pub fn delivered_elsewhere(&mut self, send: NodeId, now_ps: u64, effects: &mut Vec<Effect>) {
        self.end(send, now_ps);
        self.go_on(now_ps, effects);
    }

    /// Whether a receive has been posted for a message that begins to arrive: one that no message before it takes. It
    /// takes it then.
    pub fn accept(&mut self, send: NodeId) -> bool {
        let graph = self.graph.as_ref();
        let Act::Send { to, tag, .. } = graph.node(send).act else { return false };
        if let Some(recv) = graph.partner(send) {
            return self.is_waiting(recv);
        }
        if self.accepted.contains_key(&send) {
            return true;
        }
        let label = (graph.rank_of(send), tag, graph.step_of(send));
        let recv = self.mailboxes[to as usize].take(label);
        self.accepted.extend(recv.map(|recv| (send, recv)));
        recv.is_some()
    }

    /// Number of nodes that have not ended.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Start and end of every node.
    #[must_use]
    pub fn times(&self) -> &[NodeTimes] {
        &self.times
    }

    /// Node that let this one start, or end if it is a receive: the last that it waited for. None for a node that
    /// waited for nothing.
    #[must_use]
    pub fn cause(&self, node: NodeId) -> Option<NodeId> {
        Some(self.cause[node as usize]).filter(|&cause| cause != NONE)
    }

    /// Node that let this one start; of a receive it may be another than the one that let it end. None for a node that
    /// waited for nothing.
    #[must_use]
    pub fn start_cause(&self, node: NodeId) -> Option<NodeId> {
        Some(self.start_cause[node as usize]).filter(|&cause| cause != NONE)
    }

    /// A receive that waits in vain and a message that nobody has received, of the first rank that has either.
    pub(crate) fn stuck(&self) -> (Option<NodeId>, Option<NodeId>) {
        let of_rank = |(rank, mailbox): (u32, &Mailbox)| {
            let (recv, send) = mailbox.left();
            let mut nodes = self.graph().nodes_of(rank);
            let with_partner =
                nodes.find(|&node| self.graph().partner(node).is_some() && self.is_waiting(node));
            (recv.into_iter().chain(with_partner).min(), send)
        };
        let found = |left: &(Option<NodeId>, Option<NodeId>)| left.0.is_some() || left.1.is_some();
        (0..).zip(&self.mailboxes).map(of_rank).find(found).unwrap_or((None, None))
    }

    /// Whether a node has started and not ended.
    fn is_waiting(&self, node: NodeId) -> bool {
        let times = self.times[node as usize];
        times.start_ps != NEVER_PS && times.end_ps == NEVER_PS
    }

    fn processor_of(&self, node: NodeId) -> usize {
        let graph = self.graph();
        self.first_processor[graph.rank_of(node) as usize] as usize + usize::from(graph.node(node).cpu)
    }

    /// Starts what is ready until nothing is.
    fn go_on(&mut self, now_ps: u64, effects: &mut Vec<Effect>) {
        while let Some((node, cause)) = self.ready.pop_front() {
            self.cause[node as usize] = cause;
            self.start_cause[node as usize] = cause;
            match self.graph().node(node).act {
                Act::Calc { .. } => {
                    let processor = self.processor_of(node);
                    if self.processors[processor].0 == NONE {
                        self.processors[processor].0 = node;
                        self.compute(node, now_ps, effects);
                    } else {
                        self.processors[processor].1.push_back(node);
                    }
                }
                Act::Wait { ps } => {
                    self.start(node, now_ps);
                    if ps == 0 {
                        self.end(node, now_ps);
                    } else {
                        effects.push(Effect::Time(node, ps));
                    }
                }
                Act::Send { to, .. } => {
                    self.start(node, now_ps);
                    if to == self.graph().rank_of(node) {
                        self.arrive(node, now_ps);
                    } else {
                        effects.push(Effect::Carry(node));
                    }
                }
                Act::Recv { from, tag, .. } => {
                    self.start(node, now_ps);
                    let has_come = match self.graph().partner(node) {
                        Some(send) => self.times[send as usize].end_ps != NEVER_PS,
                        None => {
                            let rank = self.graph().rank_of(node) as usize;
                            let step = self.graph().step_of(node);
                            self.mailboxes[rank].post((from, tag, step), node).is_some()
                        }
                    };
                    if has_come {
                        self.end(node, now_ps);
                    }
                }
            }
        }
    }

    /// A processor takes up a node.
    fn compute(&mut self, node: NodeId, now_ps: u64, effects: &mut Vec<Effect>) {
        self.start(node, now_ps);
        match self.graph().node(node).act {
            Act::Calc { ps } if ps > 0 => effects.push(Effect::Time(node, ps)),
            _ => {
                let processor = self.processor_of(node);
                self.processors[processor].0 = NONE;
                self.end(node, now_ps);
                if let Some(next) = self.processors[processor].1.pop_front() {
                    self.ready.push_front((next, node));
                }
            }
        }
    }

    fn arrive(&mut self, send: NodeId, now_ps: u64) {
        let graph = self.graph.as_ref();
        let Act::Send { to, tag, .. } = graph.node(send).act else { return };
        let recv = match graph.partner(send) {
            Some(recv) => Some(recv).filter(|&recv| self.is_waiting(recv)),
            None => {
                let label = (graph.rank_of(send), tag, graph.step_of(send));
                let accepted = self.accepted.remove(&send);
                accepted.or_else(|| self.mailboxes[to as usize].arrive(label, send))
            }
        };
        self.end(send, now_ps);
        if let Some(recv) = recv {
            self.cause[recv as usize] = send;
            self.end(recv, now_ps);
        }
    }

    fn start(&mut self, node: NodeId, now_ps: u64) {
        self.times[node as usize].start_ps = now_ps;
        for index in 0..self.graph().after_start(node).len() {
            self.release(self.graph().after_start(node)[index], node);
        }
    }

    fn end(&mut self, node: NodeId, now_ps: u64) {
        self.times[node as usize].end_ps = now_ps;
        self.left -= 1;
        for index in 0..self.graph().after_end(node).len() {
            self.release(self.graph().after_end(node)[index], node);
        }
    }

    fn release(&mut self, node: NodeId, cause: NodeId) {
        if let Some(here) = &self.here
            && !here[self.graph().rank_of(node) as usize]
        {
            return;
        }
        let missing = &mut self.missing[node as usize];
        *missing -= 1;
        if *missing == 0 {
            self.ready.push_back((node, cause));
        }
    }
}
