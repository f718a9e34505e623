//! Memory of first fragments, for the later ones that have no ports.

use anabranch_split::FiveTuple;
use std::collections::HashMap;

/// Number of first fragments remembered; the oldest is forgotten. A link of 100 Gbps full of 1,500-byte fragments takes
/// 8 ms to send that many.
const ENTRIES: usize = 65_536;

/// Fields by which RFC 791 and RFC 8200 reassemble a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FragmentKey {
    source: [u8; 16],
    destination: [u8; 16],
    id: u32,
    protocol: u8,
    version: u8,
}

impl FragmentKey {
    /// Makes a key; `tuple.protocol` is IPv4's protocol field, or IPv6's number of the fragment header.
    pub(super) fn new(tuple: &FiveTuple, id: u32) -> Self {
        Self {
            source: tuple.source,
            destination: tuple.destination,
            id,
            protocol: tuple.protocol,
            version: tuple.version,
        }
    }
}

/// Fragmentation fields of an IP header.
#[derive(Clone, Copy)]
pub(super) struct Fragment {
    /// Whether the offset is zero: the fragment contains the transport header.
    pub(super) is_first: bool,
    pub(super) key: FragmentKey,
}

/// Ring of first fragments in order of arrival, and an index into it.
#[derive(Default)]
pub(super) struct FragmentTable {
    ring: Vec<(FragmentKey, FiveTuple)>,
    index: HashMap<FragmentKey, usize>,
    next: usize,
}

impl FragmentTable {
    pub(super) fn insert(&mut self, key: FragmentKey, tuple: FiveTuple) {
        let slot = self.next;
        self.next = (slot + 1) % ENTRIES;
        match self.ring.get_mut(slot) {
            None => self.ring.push((key, tuple)),
            Some(entry) => {
                let (oldest, _) = std::mem::replace(entry, (key, tuple));
                // An id that came twice has a younger place by now, which stays.
                if self.index.get(&oldest) == Some(&slot) {
                    self.index.remove(&oldest);
                }
            }
        }
        self.index.insert(key, slot);
    }

    pub(super) fn get(&self, key: &FragmentKey) -> Option<FiveTuple> {
        self.ring.get(*self.index.get(key)?).map(|&(_, tuple)| tuple)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: u32) -> (FragmentKey, FiveTuple) {
        let tuple = FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], 17, (id % 65_536) as u16, 53);
        (FragmentKey::new(&tuple, id), tuple)
    }

    #[test]
    fn the_oldest_goes_and_a_repeated_id_stays_as_long_as_its_youngest() {
        let mut table = FragmentTable::default();
        let filler = |table: &mut FragmentTable, ids: std::ops::Range<u32>| {
            for id in ids {
                let (key, tuple) = key(id);
                table.insert(key, tuple);
            }
        };
        filler(&mut table, 0..ENTRIES as u32);
        let again = FiveTuple { source_port: [9, 9], ..key(1).1 };
        table.insert(key(1).0, again); // takes the slot of id 0
        assert_eq!(table.get(&key(0).0), None);
        assert_eq!(table.get(&key(1).0), Some(again));
        filler(&mut table, 100_000..100_001); // takes the first slot of id 1
        assert_eq!(table.get(&key(1).0), Some(again));
        assert_eq!(table.get(&key(2).0), Some(key(2).1));
        filler(&mut table, 200_000..200_000 + ENTRIES as u32);
        assert_eq!(table.get(&key(1).0), None);
        assert_eq!((table.ring.len(), table.index.len()), (ENTRIES, ENTRIES));
    }
}
