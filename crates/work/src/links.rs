//! Execution over links without packets: the surroundings say when each message arrives. Enough for closed forms, and
//! for what other programs compute from latency and bandwidth.

use crate::{Act, Effect, Execution, Graph, NodeId, NodeTimes};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A message to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Node that sends it.
    pub send: NodeId,
    /// Rank that sends it.
    pub from: u32,
    /// Rank that receives it.
    pub to: u32,
    /// Size.
    pub bytes: u64,
}

/// Links between ranks.
pub trait Links {
    /// When a message that is sent at `start_ps` is delivered whole. Called by ascending start.
    fn arrival_ps(&mut self, start_ps: u64, message: Message) -> u64;
}

/// Every message takes the same latency and its bytes' time, whatever else is under way: alpha and beta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlphaBeta {
    /// Latency in picoseconds.
    pub alpha_ps: u64,
    /// Picoseconds per byte.
    pub beta_ps: f64,
}

impl Links for AlphaBeta {
    fn arrival_ps(&mut self, start_ps: u64, message: Message) -> u64 {
        start_ps + self.alpha_ps + (message.bytes as f64 * self.beta_ps).round() as u64
    }
}

/// Runs a graph that [`Graph::check`] has passed. Returns start and end of each node.
pub fn run(graph: &Graph, links: &mut impl Links) -> Vec<NodeTimes> {
    let mut execution = Execution::new(graph);
    let mut effects = Vec::new();
    // By time, then in the order of causes.
    let mut events: BinaryHeap<Reverse<(u64, u64, NodeId)>> = BinaryHeap::new();
    let (mut now_ps, mut number) = (0, 0);
    execution.begin(|_| true, 0, &mut effects);
    loop {
        for effect in effects.drain(..) {
            let (at_ps, node) = match effect {
                Effect::Time(node, ps) => (now_ps + ps, node),
                Effect::Carry(node) => match graph.node(node).act {
                    Act::Send { to, bytes, .. } => {
                        let message = Message { send: node, from: graph.rank_of(node), to, bytes };
                        (links.arrival_ps(now_ps, message), node)
                    }
                    _ => continue,
                },
            };
            events.push(Reverse((at_ps, number, node)));
            number += 1;
        }
        let Some(Reverse((at_ps, _, node))) = events.pop() else { break };
        now_ps = at_ps;
        match graph.node(node).act {
            Act::Send { .. } => execution.delivered(node, now_ps, &mut effects),
            _ => execution.elapsed(node, now_ps, &mut effects),
        }
    }
    execution.times().to_vec()
}
