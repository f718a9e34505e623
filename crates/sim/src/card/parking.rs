//! Queues that wait for their class of data to go on after a pause.

use super::{Cards, NONE};

/// Queues of one host that wait for a class to go on, in the order of their turns.
#[derive(Clone, Copy)]
pub(super) struct Parked {
    first: u32,
    last: u32,
}

impl Parked {
    const NOBODY: Self = Self { first: NONE, last: NONE };
}

impl Cards {
    /// Takes the queue whose turn is next out of the line until its class of data goes on.
    pub(crate) fn park(&mut self, host: u32, class: usize) {
        if self.parked.is_empty() {
            self.parked = vec![[Parked::NOBODY; 2]; self.cards.len()];
        }
        let card = &mut self.cards[host as usize];
        let slot = card.first;
        card.first = self.queues[slot as usize].next;
        if card.first == NONE {
            card.last = NONE;
        }
        let parked = &mut self.parked[host as usize][class & 1];
        match parked.last {
            NONE => parked.first = slot,
            last => self.queues[last as usize].next = slot,
        }
        parked.last = slot;
        self.queues[slot as usize].next = NONE;
    }

    /// Whether queues wait for a class of data to go on.
    pub(crate) fn has_parked(&self, host: u32, class: usize) -> bool {
        self.parked.get(host as usize).is_some_and(|parked| parked[class & 1].first != NONE)
    }

    /// Lets the queues of a class of data line up again; says whether there were any.
    pub(crate) fn unpark(&mut self, host: u32, class: usize) -> bool {
        if !self.has_parked(host, class) {
            return false;
        }
        let parked = std::mem::replace(&mut self.parked[host as usize][class & 1], Parked::NOBODY);
        let card = &mut self.cards[host as usize];
        match card.last {
            NONE => card.first = parked.first,
            last => self.queues[last as usize].next = parked.first,
        }
        card.last = parked.last;
        true
    }
}
