//! Pacer of a host: whose turn it is to be granted credit, so that all senders together fill its link and no more
//! (`uet-htsim` at 40ccb05, `sim/uec.cpp`, `UecPullPacer`). It knows receivers by name only.

use crate::transport::protocol::Queue;
use std::collections::VecDeque;

/// Turn of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Its sender wants more.
    Demand(u32),
    /// Nobody wants more: it is given credit in advance.
    Advance(u32),
}

/// Receivers of one host by their connections, in the order of their turns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    in_line: VecDeque<u32>,
    satisfied: VecDeque<u32>,
    /// Whether the time of the next turn is set.
    runs: bool,
}

impl Pacer {
    /// A sender wants more. Says whether the next turn is now.
    pub(crate) fn line_up(&mut self, connection: u32) -> bool {
        self.in_line.push_back(connection);
        !std::mem::replace(&mut self.runs, true)
    }

    /// The next turn. If there is none, the pacer stops until [`Self::line_up`].
    pub(crate) fn next(&mut self) -> Option<Turn> {
        let wanted = self.in_line.pop_front().map(Turn::Demand);
        let turn = wanted.or_else(|| self.satisfied.pop_front().map(Turn::Advance));
        self.runs = turn.is_some();
        turn
    }

    /// The receiver whose turn comes so many turns after the next, if nobody lines up before.
    pub(crate) fn coming(&self, after: usize) -> Option<u32> {
        self.in_line.iter().chain(&self.satisfied).nth(after).copied()
    }

    /// Puts the receiver that had the turn where it belongs now.
    pub(crate) fn put(&mut self, connection: u32, queue: Queue) {
        match queue {
            Queue::Demand => self.in_line.push_back(connection),
            Queue::Advance => self.satisfied.push_back(connection),
            Queue::Neither => {}
        }
    }
}

#[cfg(test)]
mod tests;
