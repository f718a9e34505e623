//! Checks of a graph: no circle, no receive without a message, no message without a receive.

use crate::execution::{Effect, Execution};
use crate::{Act, Graph, NodeId, WorkError};
use std::collections::{BTreeMap, VecDeque};

impl Graph {
    /// Refuses a graph that cannot come to its end.
    ///
    /// # Errors
    /// The first node at fault, with its place and a hint.
    pub fn check(&self) -> Result<(), WorkError> {
        self.check_ranks()?;
        let (execution, _) = self.executed(|_| false);
        if execution.left() == 0 && execution.stuck() == (None, None) {
            return Ok(());
        }
        self.check_circles()?;
        self.check_matches()?;
        Err(self.unended(&execution))
    }

    /// Peers are ranks of the graph, messages have bytes.
    fn check_ranks(&self) -> Result<(), WorkError> {
        for (index, node) in (0..).zip(self.nodes()) {
            let (what, peer, bytes) = match node.act {
                Act::Send { to, bytes, .. } => ("sends to", Some(to), Some(bytes)),
                Act::Recv { from, bytes, .. } => ("receives from", from, Some(bytes)),
                Act::Calc { .. } | Act::Wait { .. } => continue,
            };
            if let Some(peer) = peer.filter(|&peer| peer >= self.ranks()) {
                return Err(WorkError::new(
                    self.position(index),
                    format!("rank {} {what} rank {peer} of {} ranks", self.rank_of(index), self.ranks()),
                    format!("name ranks from 0 to {}", self.ranks() - 1),
                ));
            }
            if bytes == Some(0) {
                let hint = "give it at least one byte";
                return Err(WorkError::new(self.position(index), "a message of 0 bytes", hint));
            }
        }
        Ok(())
    }

    /// Dependencies have no circle (Kahn 1962).
    fn check_circles(&self) -> Result<(), WorkError> {
        let count = self.nodes().len() as u32;
        let mut missing = self.needs().to_vec();
        let mut open: Vec<NodeId> = (0..count).filter(|&node| missing[node as usize] == 0).collect();
        let mut done = 0;
        while let Some(node) = open.pop() {
            done += 1;
            for &after in self.after_end(node).iter().chain(self.after_start(node)) {
                missing[after as usize] -= 1;
                if missing[after as usize] == 0 {
                    open.push(after);
                }
            }
        }
        if done == count {
            return Ok(());
        }
        let place = self.position(self.on_circle(&missing));
        Err(WorkError::new(
            place,
            "this node requires itself, by way of others",
            "break the circle of dependencies",
        ))
    }

    /// A node on a circle: going backwards from any node that never becomes ready, one comes twice.
    fn on_circle(&self, missing: &[u32]) -> NodeId {
        let mut before = vec![None; missing.len()];
        for node in (0..missing.len() as u32).filter(|&node| missing[node as usize] > 0) {
            for &after in self.after_end(node).iter().chain(self.after_start(node)) {
                before[after as usize] = Some(node);
            }
        }
        let mut seen = vec![false; missing.len()];
        let mut node = (0..missing.len() as u32).find(|&node| missing[node as usize] > 0).unwrap_or(0);
        while !std::mem::replace(&mut seen[node as usize], true) {
            node = before[node as usize].unwrap_or(node);
        }
        node
    }

    /// Refuses messages without a receive and receives without a message at ranks without wildcards.
    fn check_matches(&self) -> Result<(), WorkError> {
        let mut wild = vec![false; self.ranks() as usize];
        for rank in 0..self.ranks() {
            wild[rank as usize] = self.nodes_of(rank).any(|node| self.is_wildcard(node));
        }
        // By receiver, sender, tag and step: receives less sends, and the last of either.
        let mut balance: BTreeMap<_, (i64, NodeId, NodeId)> = BTreeMap::new();
        for rank in 0..self.ranks() {
            for index in self.nodes_of(rank).filter(|&index| self.partner(index).is_none()) {
                let step = self.step_of(index);
                match self.node(index).act {
                    Act::Send { to, tag, .. } if !wild[to as usize] => {
                        let entry = balance.entry((to, rank, tag, step)).or_default();
                        entry.0 -= 1;
                        entry.1 = index;
                    }
                    Act::Recv { from: Some(from), tag: Some(tag), .. } if !wild[rank as usize] => {
                        let entry = balance.entry((rank, from, tag, step)).or_default();
                        entry.0 += 1;
                        entry.2 = index;
                    }
                    _ => {}
                }
            }
        }
        let Some((&(to, from, tag, _), &(balance, send, recv))) =
            balance.iter().find(|(_, entry)| entry.0 != 0)
        else {
            return Ok(());
        };
        if balance > 0 {
            return Err(self.in_vain(recv, from, to, tag));
        }
        Err(WorkError::new(
            self.position(send),
            format!("rank {to} never receives this message of rank {from} with tag {tag}"),
            format!("add `recv` from {from} with tag {tag} to rank {to}, or leave the send out"),
        ))
    }

    fn in_vain(&self, recv: NodeId, from: u32, to: u32, tag: u32) -> WorkError {
        WorkError::new(
            self.position(recv),
            format!("rank {to} waits for a message of rank {from} with tag {tag}, which nobody sends"),
            format!("add `send` to {to} with tag {tag} to rank {from}, or leave the receive out"),
        )
    }

    /// Error of an execution that has not come to its end though dependencies have no circle and messages match.
    fn unended(&self, execution: &Execution<&Self>) -> WorkError {
        match execution.stuck() {
            (None, Some(send)) => {
                let hint = "add a `recv` with its source and tag, or leave the send out";
                WorkError::new(self.position(send), "nobody receives this message", hint)
            }
            (recv, _) => {
                debug_assert!(recv.is_some(), "without circles and waiting receives, all has ended");
                WorkError::new(
                    self.position(recv.unwrap_or(0)),
                    "this receive waits forever: no message that it could take is sent before it",
                    "check sources, tags and dependencies of both ranks",
                )
            }
        }
    }

    /// Refuses a graph that has passed [`Self::check`] if it cannot end where messages for which `waits` says so are carried
    /// only once their receive has begun. `rule` names that in the error.
    ///
    /// # Errors
    /// The first message that waits forever, with its place and a hint.
    pub fn check_posted(&self, waits: impl Fn(NodeId) -> bool, rule: &str) -> Result<(), WorkError> {
        let Some(&send) = self.executed(waits).1.iter().min() else { return Ok(()) };
        Err(WorkError::new(
            self.position(send),
            format!("this message waits forever {rule}: its receive begins only when it has been delivered"),
            "let the receive begin before, as real programs have to, or let messages go at once",
        ))
    }

    /// The graph executed without time, and the messages that still wait for their receive. What was made possible last
    /// comes first, so that a graph of a thousand ranks is gone through along its chains and not all over memory; but where
    /// a receive takes messages of any source or tag, the first that was sent comes first.
    fn executed(&self, waits: impl Fn(NodeId) -> bool) -> (Execution<&Self>, Vec<NodeId>) {
        let in_order = (0..self.nodes().len() as u32).any(|node| self.is_wildcard(node));
        let mut execution = Execution::new(self);
        let (mut effects, mut new, mut waiting) = (VecDeque::new(), Vec::new(), Vec::new());
        execution.begin(|_| true, 0, &mut new);
        loop {
            effects.extend(new.drain(..));
            let effect = if in_order { effects.pop_front() } else { effects.pop_back() };
            let Some(effect) = effect else {
                let before = waiting.len();
                waiting.retain(|&send| {
                    let accepted = execution.accept(send);
                    new.extend(accepted.then_some(Effect::Carry(send)));
                    !accepted
                });
                if waiting.len() == before {
                    return (execution, waiting);
                }
                continue;
            };
            match effect {
                Effect::Carry(send) if waits(send) && !execution.accept(send) => waiting.push(send),
                Effect::Carry(send) => execution.delivered(send, 0, &mut new),
                Effect::Time(node, _) => execution.elapsed(node, 0, &mut new),
            }
        }
    }
}

impl AsRef<Graph> for Graph {
    fn as_ref(&self) -> &Graph {
        self
    }
}
