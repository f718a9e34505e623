//! Matching of messages and receives at one rank: the first that fits, in the order of posting and of arrival.

use std::collections::{BTreeMap, HashMap, VecDeque};

/// Source, tag and step of a message.
pub(crate) type Label = (u32, u32, u32);

/// Receive that waits: source and tag, any if `None`, and step.
pub(crate) type Selector = (Option<u32>, Option<u32>, u32);

fn fits(wanted: Selector, label: Label) -> bool {
    wanted.0.is_none_or(|from| from == label.0)
        && wanted.1.is_none_or(|tag| tag == label.1)
        && wanted.2 == label.2
}

/// Messages that nobody has received, and receives without a message, of one rank. Receives that name source and tag
/// are found without a search; those that do not are looked through.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    /// Number that the next entry gets.
    next: u64,
    /// Posted receives by what they want, each with its number and node.
    exact: HashMap<Label, VecDeque<(u64, u32)>>,
    /// Posted receives of any source or any tag.
    wild: VecDeque<(u64, Selector, u32)>,
    /// Arrived messages by number, each with its send; and their numbers by label.
    arrived: BTreeMap<u64, (Label, u32)>,
    by_label: HashMap<Label, VecDeque<u64>>,
}

impl Mailbox {
    /// A message arrives. Returns the receive that takes it.
    pub(crate) fn arrive(&mut self, label: Label, send: u32) -> Option<u32> {
        let recv = self.take(label);
        if recv.is_none() {
            self.arrived.insert(self.next, (label, send));
            self.by_label.entry(label).or_default().push_back(self.next);
            self.next += 1;
        }
        recv
    }

    /// The receive that takes a message, if one was posted.
    pub(crate) fn take(&mut self, label: Label) -> Option<u32> {
        let exact = self.exact.get(&label).and_then(VecDeque::front).copied();
        let wild = self.wild.iter().position(|&(_, wanted, _)| fits(wanted, label));
        let wild_number = wild.map(|index| self.wild[index].0);
        match (exact, wild) {
            (Some((number, recv)), _) if wild_number.is_none_or(|wild| number < wild) => {
                self.pop_exact(label);
                Some(recv)
            }
            (_, Some(index)) => self.wild.remove(index).map(|(_, _, recv)| recv),
            _ => None,
        }
    }

    /// A receive is posted. Returns the message that it takes, by its send.
    pub(crate) fn post(&mut self, wanted: Selector, recv: u32) -> Option<u32> {
        let named = match wanted {
            (Some(from), Some(tag), step) => Some((from, tag, step)),
            _ => None,
        };
        let number = match named {
            Some(label) => self.by_label.get(&label).and_then(VecDeque::front).copied(),
            None => {
                self.arrived.iter().find(|&(_, &(label, _))| fits(wanted, label)).map(|(&number, _)| number)
            }
        };
        if let Some((label, send)) = number.and_then(|number| self.arrived.remove(&number)) {
            if let Some(numbers) = self.by_label.get_mut(&label) {
                numbers.pop_front();
                if numbers.is_empty() {
                    self.by_label.remove(&label);
                }
            }
            return Some(send);
        }
        match named {
            Some(label) => self.exact.entry(label).or_default().push_back((self.next, recv)),
            None => self.wild.push_back((self.next, wanted, recv)),
        }
        self.next += 1;
        None
    }

    fn pop_exact(&mut self, label: Label) {
        if let Some(receives) = self.exact.get_mut(&label) {
            receives.pop_front();
            if receives.is_empty() {
                self.exact.remove(&label);
            }
        }
    }

    /// A receive that waits, and a message that nobody has received: the first of each.
    pub(crate) fn left(&self) -> (Option<u32>, Option<u32>) {
        let exact = self.exact.values().filter_map(|receives| receives.front().copied());
        let wild = self.wild.front().map(|&(number, _, recv)| (number, recv));
        let receive = exact.chain(wild).min().map(|(_, recv)| recv);
        (receive, self.arrived.values().next().map(|&(_, send)| send))
    }
}
