//! Grants of a receiver to one sender (RCCC), as `uet-htsim` has them (commit 40ccb05, `sim/uec.cpp`: `handlePullTarget`,
//! `UecSink::pull`).

use super::credit::QUANTUM_BYTES;
use crate::transport::protocol::Queue;

/// Quanta that a grant of nothing takes in the time of a [`super::Pacer`] (`UecPullPacer::doNextEvent`: 1024 bytes).
const EMPTY_QUANTA: u64 = 4;

/// What a turn gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    /// Quanta that the turn takes.
    pub(crate) quanta: u64,
    /// Where the receiver goes.
    pub(crate) queue: Queue,
}

/// Grants to one sender, in bytes since the flow began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Grants {
    /// Sum that the sender wants.
    demanded: u64,
    /// Sum so far.
    granted: u64,
    /// The receiver is in line.
    in_line: bool,
    /// It is among those that are given credit in advance.
    satisfied: bool,
    /// It is to be put in line.
    calls: bool,
}

impl Grants {
    /// Sum of grants.
    pub(super) fn sum(&self) -> u64 {
        self.granted
    }

    /// The sender wants this sum.
    pub(super) fn demand(&mut self, sum: u64) {
        if sum > self.demanded {
            self.demanded = sum;
            self.call();
        }
    }

    /// The sender is to hear from the pacer, even if there is nothing more to grant: a packet was trimmed or a grant lost.
    pub(super) fn call(&mut self) {
        self.calls |= !self.in_line;
    }

    /// Whether the receiver is to be put in line. To be asked after each packet, and to be followed.
    pub(super) fn lines_up(&mut self) -> bool {
        self.in_line |= self.calls;
        std::mem::take(&mut self.calls)
    }

    /// Its turn among those whose senders want more: grants what is wanted, up to `most` bytes.
    pub(super) fn grant(&mut self, most: u64) -> Granted {
        let wanted = self.demanded.saturating_sub(self.granted);
        let bytes = wanted.min(most);
        self.granted += bytes;
        self.in_line = wanted > bytes;
        let queue = match (self.in_line, self.satisfied) {
            (true, _) => Queue::Demand,
            (false, true) => Queue::Neither,
            (false, false) => Queue::Advance,
        };
        self.satisfied |= !self.in_line;
        let quanta = bytes.div_ceil(QUANTUM_BYTES);
        Granted { quanta: if quanta == 0 { EMPTY_QUANTA } else { quanta }, queue }
    }

    /// Its turn among those whose senders have what they want: grants `most` bytes in advance. At `bound` bytes beyond what
    /// is wanted it is left alone.
    pub(super) fn grant_ahead(&mut self, most: u64, bound: u64) -> Granted {
        self.granted += most;
        let ahead = self.granted.saturating_sub(self.demanded);
        self.satisfied = ahead < bound / QUANTUM_BYTES * QUANTUM_BYTES;
        let queue = if self.satisfied { Queue::Advance } else { Queue::Neither };
        Granted { quanta: most / QUANTUM_BYTES, queue }
    }
}

#[cfg(test)]
mod tests;
