//! LogGOPS (Hoefler, Schneider, Lumsdaine, "LogGOPSim", LSAP 2010): end times of ranks from latency L, overhead o, gap g,
//! gap per byte G, overhead per byte O and rendezvous threshold S, event by event as LogGOPSim 76451de computes them.
//!
//! What is peculiar to that program is kept, so that numbers can be compared: a node's dependents start no earlier than
//! their own processor is free, which on another processor may be before the node has ended; a receive costs nothing when
//! it is posted; a message occupies the processor of its *sender's* number at the receiver.

use crate::mailbox::Mailbox;
use crate::{Act, Graph, NodeId, WorkError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Parameters. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGops {
    /// Latency of the network.
    pub latency_ns: u64,
    /// Processor's time for a message.
    pub overhead_ns: u64,
    /// Network card's time for a message.
    pub gap_ns: u64,
    /// Network card's time for each byte after the first.
    pub gap_ns_per_byte: u64,
    /// Processor's time for each byte after the first.
    pub overhead_ns_per_byte: u64,
    /// Largest message, in bytes, that does not wait for its receive.
    pub eager_bytes: u64,
}

/// Event of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A node is to start.
    Node(NodeId),
    /// The message of a send is at its rank.
    Message(NodeId),
}

/// Times at which resources are free, by rank and number.
struct Free {
    per_rank: usize,
    at_ns: Vec<u64>,
}

impl Free {
    fn new(ranks: u32, per_rank: usize) -> Self {
        Self { per_rank, at_ns: vec![0; ranks as usize * per_rank] }
    }

    fn of(&mut self, rank: u32, number: u8) -> &mut u64 {
        &mut self.at_ns[rank as usize * self.per_rank + usize::from(number)]
    }
}

struct Machine<'a> {
    graph: &'a Graph,
    model: LogGops,
    missing: Vec<u32>,
    mailboxes: Vec<Mailbox>,
    processors: Free,
    sending: Free,
    receiving: Free,
    /// Events by time, then in the order in which they were first made.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    made: u64,
    /// Nodes that became ready, in the order in which they did.
    ready: Vec<NodeId>,
}

/// Runs a graph that [`Graph::check`] has passed. Returns when each rank's last processor is free, in nanoseconds.
///
/// # Errors
/// Times beyond 2^64 ns, and a graph that stops under this model.
pub fn end_times_ns(graph: &Graph, model: LogGops) -> Result<Vec<u64>, WorkError> {
    let most = |number: fn(&crate::Node) -> u8| graph.nodes().iter().map(number).max().unwrap_or(0);
    let cpus = usize::from(most(|node| node.cpu)) + 1;
    let nics = usize::from(most(|node| node.nic)) + 1;
    let ranks = graph.ranks();
    let mut machine = Machine {
        graph,
        model,
        missing: graph.needs().to_vec(),
        mailboxes: (0..ranks).map(|_| Mailbox::default()).collect(),
        processors: Free::new(ranks, cpus),
        sending: Free::new(ranks, nics),
        receiving: Free::new(ranks, nics),
        events: BinaryHeap::new(),
        made: 0,
        ready: Vec::new(),
    };
    machine.check()?;
    machine.ready =
        (0..graph.nodes().len() as u32).filter(|&node| graph.needs()[node as usize] == 0).collect();
    machine.free_ready();
    while let Some(Reverse((now_ns, number, event))) = machine.events.pop() {
        match event {
            Event::Node(node) => machine.node(node, now_ns, number),
            Event::Message(send) => machine.message(send, now_ns, number),
        }
        machine.free_ready();
    }
    if let Some(node) = machine.mailboxes.iter().find_map(|mailbox| mailbox.left().0) {
        let problem =
            "this receive waits forever under LogGOPS: messages larger than S wait for their receive";
        return Err(WorkError::new(graph.position(node), problem, "raise S, or post receives before sends"));
    }
    let ends = machine.processors.at_ns.chunks(cpus).map(|free| free.iter().copied().max().unwrap_or(0));
    Ok(ends.collect())
}

impl Machine<'_> {
    /// Refuses parameters with which a time could pass the end of its type.
    fn check(&self) -> Result<(), WorkError> {
        let LogGops { latency_ns, overhead_ns, gap_ns, gap_ns_per_byte, overhead_ns_per_byte, .. } =
            self.model;
        let fixed = u128::from(latency_ns) + 2 * u128::from(overhead_ns) + 2 * u128::from(gap_ns);
        let each = 2 * (u128::from(gap_ns_per_byte) + u128::from(overhead_ns_per_byte));
        let time = |node: &crate::Node| match node.act {
            Act::Send { bytes, .. } | Act::Recv { bytes, .. } => fixed + each * u128::from(bytes),
            Act::Calc { ps } | Act::Wait { ps } => u128::from(ps / 1000),
        };
        let sum: u128 = self.graph.nodes().iter().map(time).sum();
        if sum < u128::from(u64::MAX) {
            return Ok(());
        }
        let problem = "times under these parameters pass 2^64 ns";
        Err(WorkError::new(self.graph.position(0), problem, "give smaller parameters or sizes"))
    }

    fn push(&mut self, at_ns: u64, event: Event) {
        self.events.push(Reverse((at_ns, self.made, event)));
        self.made += 1;
    }

    /// Puts what became ready into the queue: rank by rank, sends before receives before computing.
    fn free_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        let kind = |node: NodeId| match self.graph.node(node).act {
            Act::Send { .. } => 1,
            Act::Recv { .. } => 2,
            Act::Calc { .. } | Act::Wait { .. } => 3,
        };
        ready.sort_by_key(|&node| (self.graph.rank_of(node), kind(node)));
        for node in ready.drain(..) {
            let rank = self.graph.rank_of(node);
            let of = self.graph.node(node);
            let mut at_ns = *self.processors.of(rank, of.cpu);
            if matches!(of.act, Act::Send { .. }) {
                at_ns = at_ns.max(*self.sending.of(rank, of.nic));
            }
            self.push(at_ns, Event::Node(node));
        }
        self.ready = ready;
    }

    fn started(&mut self, node: NodeId) {
        for &after in self.graph.after_start(node) {
            self.release(after);
        }
    }

    fn ended(&mut self, node: NodeId) {
        for &after in self.graph.after_end(node) {
            self.release(after);
        }
    }

    fn release(&mut self, node: NodeId) {
        self.missing[node as usize] -= 1;
        if self.missing[node as usize] == 0 {
            self.ready.push(node);
        }
    }

    /// A node starts, or waits until what it needs is free; then it keeps its `number` among events.
    fn node(&mut self, node: NodeId, now_ns: u64, number: u64) {
        let (rank, of) = (self.graph.rank_of(node), *self.graph.node(node));
        let model = self.model;
        match of.act {
            Act::Calc { ps } => {
                let free = self.processors.of(rank, of.cpu);
                if *free > now_ns {
                    let at_ns = *free;
                    return self.events.push(Reverse((at_ns, number, Event::Node(node))));
                }
                *free = now_ns + ps / 1000;
                self.started(node);
                self.ended(node);
            }
            // What is no GOAL: time that passes beside the processor is taken as over at once.
            Act::Wait { .. } => {
                self.started(node);
                self.ended(node);
            }
            Act::Send { bytes, .. } => {
                let free = (*self.processors.of(rank, of.cpu)).max(*self.sending.of(rank, of.nic));
                if free > now_ns {
                    return self.events.push(Reverse((free, number, Event::Node(node))));
                }
                *self.processors.of(rank, of.cpu) =
                    now_ns + model.overhead_ns + (bytes - 1) * model.overhead_ns_per_byte;
                *self.sending.of(rank, of.nic) = now_ns + model.gap_ns + (bytes - 1) * model.gap_ns_per_byte;
                self.started(node);
                self.push(now_ns + model.overhead_ns + model.latency_ns, Event::Message(node));
                if bytes <= model.eager_bytes {
                    self.ended(node);
                }
            }
            Act::Recv { from, bytes, tag } => {
                self.started(node);
                let step = self.graph.step_of(node);
                if let Some(send) = self.mailboxes[rank as usize].post((from, tag, step), node) {
                    // For a message that came before its receive, that program looks at the receive's size.
                    if bytes > model.eager_bytes {
                        self.meet(send, now_ns);
                    }
                    self.ended(node);
                }
            }
        }
    }

    fn message(&mut self, send: NodeId, now_ns: u64, number: u64) {
        let of = *self.graph.node(send);
        let Act::Send { to, bytes, tag } = of.act else { return };
        let model = self.model;
        let free = (*self.processors.of(to, of.cpu)).max(*self.receiving.of(to, of.nic));
        if free > now_ns {
            return self.events.push(Reverse((free, number, Event::Message(send))));
        }
        let per_byte = model.overhead_ns_per_byte.max(model.gap_ns_per_byte);
        *self.processors.of(to, of.cpu) = now_ns + model.overhead_ns + (bytes - 1) * per_byte;
        *self.receiving.of(to, of.nic) = now_ns + model.gap_ns + (bytes - 1) * model.gap_ns_per_byte;
        let label = (self.graph.rank_of(send), tag, self.graph.step_of(send));
        if let Some(recv) = self.mailboxes[to as usize].arrive(label, send) {
            if bytes > model.eager_bytes {
                self.meet(send, now_ns);
            }
            self.ended(recv);
        }
    }

    /// A large message has met its receive: its send ends, and its rank goes on from now.
    fn meet(&mut self, send: NodeId, now_ns: u64) {
        let (rank, of) = (self.graph.rank_of(send), *self.graph.node(send));
        let processor = self.processors.of(rank, of.cpu);
        *processor = (*processor).max(now_ns);
        let card = self.sending.of(rank, of.nic);
        *card = (*card).max(now_ns);
        self.ended(send);
    }
}
