//! Timers: wake-ups of connections and load balancers, and starts of flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whom a timer is for. The order decides between timers of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A flow begins: its number.
    Start(u32),
    /// The sending half of a connection (slot and generation, as in [`crate::Packet::connection`]).
    Sender(u32),
    /// The receiving half of a connection.
    Receiver(u32),
    /// The load balancer of the switches: a token of its own.
    SwitchBalancer(u32),
    /// The load balancer of the hosts: a token of its own.
    HostBalancer(u32),
}

/// All timers that were wished for. A wish that moved is left standing; whoever is woken checks his deadlines.
#[derive(Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(u64, Timer)>>);

impl Timers {
    pub(crate) fn push(&mut self, at_ps: u64, timer: Timer) {
        self.0.push(Reverse((at_ps, timer)));
    }

    pub(crate) fn first_ps(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at_ps, _))| *at_ps)
    }

    pub(crate) fn pop(&mut self) -> Option<Timer> {
        self.0.pop().map(|Reverse((_, timer))| timer)
    }
}
