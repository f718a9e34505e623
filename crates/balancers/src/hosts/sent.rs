//! Packets of a connection that are under way, with the values that they carry.

use std::collections::VecDeque;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its first byte.
    seq: u64,
    /// When it left last.
    at_ns: u64,
    /// The value it carried; none if its value is not to blame, should it be sent again.
    value: Option<u16>,
}

/// Packets that are not acknowledged, in the order of their bytes.
#[derive(Debug, Default)]
pub(crate) struct Sent(VecDeque<Entry>);

impl Sent {
    /// A packet leaves. If it left before, returns when, and the value that is to blame for its loss.
    pub(crate) fn leave(&mut self, seq: u64, value: u16, now_ns: u64) -> Option<(u16, u64)> {
        let entry = Entry { seq, at_ns: now_ns, value: Some(value) };
        let at = self.0.partition_point(|entry| entry.seq < seq);
        match self.0.get_mut(at) {
            Some(known) if known.seq == seq => {
                let before = std::mem::replace(known, entry);
                before.value.map(|value| (value, before.at_ns))
            }
            _ => {
                self.0.insert(at, entry);
                None
            }
        }
    }

    /// Value that a packet which left is to blame for, should it be lost, and when it left last.
    pub(crate) fn blamed(&self, seq: u64) -> Option<(u16, u64)> {
        let entry = self.0.get(self.0.partition_point(|entry| entry.seq < seq))?;
        entry.value.filter(|_| entry.seq == seq).map(|value| (value, entry.at_ns))
    }

    /// All bytes before this one arrived.
    pub(crate) fn acknowledge(&mut self, before: u64) {
        while self.0.front().is_some_and(|entry| entry.seq < before) {
            self.0.pop_front();
        }
    }

    /// A packet is sent again for a reason that its path is not to blame for.
    pub(crate) fn excuse(&mut self, seq: u64) {
        let at = self.0.partition_point(|entry| entry.seq < seq);
        if let Some(entry) = self.0.get_mut(at).filter(|entry| entry.seq == seq) {
            entry.value = None;
        }
    }

    /// All packets behind this one are sent again, whether they arrived or not.
    pub(crate) fn excuse_behind(&mut self, seq: u64) {
        let at = self.0.partition_point(|entry| entry.seq <= seq);
        self.0.range_mut(at..).for_each(|entry| entry.value = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five packets of 10 bytes, each with its number as value and as time.
    fn five() -> Sent {
        let mut sent = Sent::default();
        for number in 0..5 {
            assert_eq!(sent.leave(10 * number, number as u16, number), None);
        }
        sent
    }

    #[test]
    fn what_leaves_again_tells_its_value_unless_that_is_excused() {
        let mut sent = five();
        sent.excuse(20);
        assert_eq!(
            [0, 10, 15, 20, 50].map(|seq| sent.blamed(seq)),
            [Some((0, 0)), Some((1, 1)), None, None, None]
        );
        assert_eq!(sent.leave(10, 7, 9), Some((1, 1)));
        assert_eq!(sent.leave(10, 8, 10), Some((7, 9)));
        assert_eq!(sent.leave(20, 8, 10), None);
        assert_eq!(sent.leave(20, 9, 11), Some((8, 10)));
        sent.excuse_behind(30);
        assert_eq!(sent.leave(30, 0, 12), Some((3, 3)));
        assert_eq!(sent.leave(40, 0, 12), None);
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut sent = five();
        sent.acknowledge(30);
        assert_eq!(sent.0.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [30, 40]);
        sent.acknowledge(50);
        assert!(sent.0.is_empty());
    }
}
