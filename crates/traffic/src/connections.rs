//! Streaming table of connections: counts packets into how many, how large, how long.

mod index;
mod row;

use crate::{Headers, PacketRecord};
use anabranch_split::FiveTuple;
use index::{Index, Search};
use row::{Row, Rows};
use xxhash_rust::xxh3::xxh3_64;

/// Unit in which connections are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Both directions of a 5-tuple are one connection, under the 5-tuple of its first packet (the initiator's).
    #[default]
    Conversation,
    /// Every directed 5-tuple is a connection of its own.
    Each,
    /// As [`Self::Each`], and packets of a 5-tuple with other headers are another one: what a switch may send elsewhere.
    EachHeaders,
}

/// Packets whose connections are looked up before the first of them is counted. Most of that time is waiting for memory, for
/// the index and then for the row: each is asked for on behalf of all these packets before any of them needs it.
const LOOKED_UP: usize = 64;

/// Connections in the order of their first packets. Memory grows with connections only.
#[derive(Debug)]
pub struct Connections {
    direction: Direction,
    /// Never iterated: its order would change with the hash.
    index: Index,
    rows: Rows,
    first_ns: Vec<u64>,
    /// Number of conversations of which both directions were seen.
    two_way: usize,
    /// Number of rows whose 5-tuple has an earlier row, of other headers.
    repeated: usize,
}

/// Hash of one end: address and port.
#[inline]
fn end_hash(address: [u8; 16], port: [u8; 2]) -> u64 {
    let mut end = [0; 18];
    end[..16].copy_from_slice(&address);
    end[16..].copy_from_slice(&port);
    xxh3_64(&end)
}

/// All bits in which two 5-tuples differ, combined by or. Free of branches: the direction of a packet is a coin toss
/// that no branch predictor learns.
#[inline]
fn difference(a: &FiveTuple, b: &FiveTuple) -> u128 {
    let address = |bytes: [u8; 16]| u128::from_ne_bytes(bytes);
    let rest = |t: &FiveTuple| {
        let [[a, b], [c, d]] = [t.source_port, t.destination_port];
        u64::from_ne_bytes([a, b, c, d, t.protocol, t.version, 0, 0])
    };
    (address(a.source) ^ address(b.source))
        | (address(a.destination) ^ address(b.destination))
        | u128::from(rest(a) ^ rest(b))
}

impl Direction {
    /// Hash of a 5-tuple. Under [`Direction::Conversation`] it is the same from both ends, so that one probe finds
    /// either. The sum needs a non-linear hash under it: with a linear one, 1 -> 4 and 2 -> 3 would collide.
    #[inline]
    fn hash(self, tuple: &FiveTuple) -> u64 {
        let destination = end_hash(tuple.destination, tuple.destination_port);
        let destination = match self {
            Self::Conversation => destination,
            // Headers are left out, so that one search yields all rows of a 5-tuple.
            Self::Each | Self::EachHeaders => destination.rotate_left(1),
        };
        // The protocol goes to the top bits, which the index compares.
        end_hash(tuple.source, tuple.source_port)
            .wrapping_add(destination)
            .wrapping_add(u64::from(tuple.protocol) << 57)
    }
}

impl Connections {
    /// Makes an empty table.
    #[must_use]
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            index: Index::new(),
            rows: Rows::default(),
            first_ns: Vec::new(),
            two_way: 0,
            repeated: 0,
        }
    }

    /// Counts one packet, and returns the index of its connection.
    ///
    /// # Panics
    /// Panics at the 2^32nd connection, which would need 400 GB.
    pub fn observe(&mut self, packet: &PacketRecord) -> u32 {
        let hash = self.direction.hash(&packet.tuple);
        match self.find(self.index.search(hash), packet) {
            Some(row) => self.count(row, packet),
            None => self.insert(hash, packet),
        }
    }

    /// Counts packets in their order, and appends the index of each one's connection to `indexes`.
    ///
    /// # Panics
    /// As [`Self::observe`].
    pub fn observe_all(&mut self, packets: &[PacketRecord], indexes: &mut Vec<u32>) {
        let mut hashes = [0; LOOKED_UP];
        let mut likely = [None; LOOKED_UP];
        for packets in packets.chunks(LOOKED_UP) {
            for (hash, packet) in hashes.iter_mut().zip(packets) {
                *hash = self.direction.hash(&packet.tuple);
                self.index.prefetch(*hash);
            }
            for (likely, &hash) in likely.iter_mut().zip(&hashes[..packets.len()]) {
                *likely = self.index.next(&mut self.index.search(hash));
                if let Some(row) = *likely {
                    self.rows.prefetch(row);
                }
            }
            for ((likely, &hash), packet) in likely.iter().zip(&hashes).zip(packets) {
                indexes.push(match likely {
                    Some(row) if self.is_of(*row, packet) => self.count(*row, packet),
                    // Another connection has the same tag, or a packet before this one was its connection's first.
                    _ => match self.find(self.index.search(hash), packet) {
                        Some(row) => self.count(row, packet),
                        None => self.insert(hash, packet),
                    },
                });
            }
        }
    }

    /// Whether a packet belongs to the connection in a row.
    #[inline]
    fn is_of(&self, row: u32, packet: &PacketRecord) -> bool {
        let reversed = match self.direction {
            Direction::Conversation => packet.tuple.reversed(),
            Direction::Each | Direction::EachHeaders => packet.tuple,
        };
        let known = self.rows.get(row);
        let same =
            (difference(&known.tuple, &packet.tuple) == 0) | (difference(&known.tuple, &reversed) == 0);
        same & (self.direction != Direction::EachHeaders || known.headers == packet.headers)
    }

    /// Row of a packet's connection among those that a search yields.
    #[inline]
    fn find(&self, mut search: Search, packet: &PacketRecord) -> Option<u32> {
        loop {
            let row = self.index.next(&mut search)?;
            if self.is_of(row, packet) {
                return Some(row);
            }
        }
    }

    /// Whether there is a row of a directed 5-tuple, whatever its headers.
    fn has(&self, tuple: &FiveTuple) -> bool {
        let mut search = self.index.search(self.direction.hash(tuple));
        std::iter::from_fn(|| self.index.next(&mut search))
            .any(|row| difference(&self.rows.get(row).tuple, tuple) == 0)
    }

    /// Counts a packet of the connection in a row, and returns the row.
    #[inline]
    fn count(&mut self, row: u32, packet: &PacketRecord) -> u32 {
        let known = self.rows.get_mut(row);
        known.packets += 1;
        known.bytes += packet.bytes;
        // A capture that merges several queues may run back by microseconds.
        known.last_ns = known.last_ns.max(packet.time_ns);
        let answers = difference(&known.tuple, &packet.tuple) != 0;
        self.two_way += usize::from(answers & !known.answered);
        known.answered |= answers;
        row
    }

    fn insert(&mut self, hash: u64, packet: &PacketRecord) -> u32 {
        let &PacketRecord { time_ns, bytes, tuple, headers } = packet;
        if self.direction == Direction::EachHeaders && self.has(&tuple) {
            self.repeated += 1;
        } else if self.direction != Direction::Conversation {
            self.two_way += usize::from(self.has(&tuple.reversed()));
        }
        self.rows.push(Row { tuple, answered: false, headers, packets: 1, bytes, last_ns: time_ns });
        self.first_ns.push(time_ns);
        self.index.push(hash)
    }

    /// Unit in which connections are counted.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Number of connections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no packet was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The 5-tuple of each connection's first packet.
    pub fn tuples(&self) -> impl ExactSizeIterator<Item = &FiveTuple> {
        self.tuples_from(0)
    }

    /// As [`Self::tuples`], without those of the first connections.
    pub(crate) fn tuples_from(&self, first: usize) -> impl ExactSizeIterator<Item = &FiveTuple> {
        self.rows.iter_from(first).map(|row| &row.tuple)
    }

    /// Headers of each connection's packets; under other units than [`Direction::EachHeaders`], of the first packet.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = Headers> {
        self.rows.iter_from(0).map(|row| row.headers)
    }

    /// Number of packets of each connection.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = u64> {
        self.rows.iter_from(0).map(|row| row.packets)
    }

    /// Number of bytes on the wire of each connection.
    pub fn bytes(&self) -> impl ExactSizeIterator<Item = u64> {
        self.rows.iter_from(0).map(|row| row.bytes)
    }

    /// Time of each connection's first packet in the order seen, in nanoseconds since the Unix epoch.
    #[must_use]
    pub fn first_ns(&self) -> &[u64] {
        &self.first_ns
    }

    /// Time of the latest packet of each connection, in nanoseconds since the Unix epoch.
    pub fn last_ns(&self) -> impl ExactSizeIterator<Item = u64> {
        self.rows.iter_from(0).map(|row| row.last_ns)
    }

    /// Number of distinct directed 5-tuples seen, in any unit of counting.
    #[must_use]
    pub fn five_tuples(&self) -> usize {
        match self.direction {
            Direction::Conversation => self.len() + self.two_way,
            Direction::Each | Direction::EachHeaders => self.len() - self.repeated,
        }
    }

    /// Number of distinct conversations seen, in any unit of counting.
    #[must_use]
    pub fn conversations(&self) -> usize {
        match self.direction {
            Direction::Conversation => self.len(),
            Direction::Each | Direction::EachHeaders => self.five_tuples() - self.two_way,
        }
    }

    /// Memory of the table in bytes, spare capacity included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.index.memory_bytes() + self.rows.memory_bytes() + self.first_ns.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_split::protocol::{TCP, UDP};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet, HashMap};

    fn packet(tuple: FiveTuple, bytes: u64, time_ns: u64) -> PacketRecord {
        PacketRecord { time_ns, bytes, tuple, headers: Headers::default() }
    }

    #[test]
    fn other_headers_make_another_connection_of_the_same_tuple() {
        let tuple = FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], UDP, 1, 2);
        let plain = packet(tuple, 100, 0);
        let fragment = PacketRecord { headers: Headers::LATER_FRAGMENT, ..plain };
        let back = packet(tuple.reversed(), 7, 3);
        let packets = [plain, fragment, fragment, back, plain];
        let counted = |direction| {
            let (mut table, mut indexes) = (Connections::new(direction), Vec::new());
            table.observe_all(&packets, &mut indexes);
            let headers: Vec<_> = table.headers().collect();
            (
                indexes,
                headers,
                table.packets().collect::<Vec<_>>(),
                table.five_tuples(),
                table.conversations(),
            )
        };
        let (none, later) = (Headers::default(), Headers::LATER_FRAGMENT);
        assert_eq!(
            counted(Direction::EachHeaders),
            (vec![0, 1, 1, 2, 0], vec![none, later, none], vec![2, 2, 1], 2, 1)
        );
        assert_eq!(counted(Direction::Each), (vec![0, 0, 0, 1, 0], vec![none; 2], vec![4, 1], 2, 1));
        assert_eq!(counted(Direction::Conversation), (vec![0; 5], vec![none], vec![5], 2, 1));
    }

    #[test]
    fn the_first_packet_names_the_conversation() {
        let ask = FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], TCP, 40000, 80);
        let mut table = Connections::new(Direction::Conversation);
        assert_eq!(table.observe(&packet(ask, 60, 5)), 0);
        assert_eq!(table.conversations(), table.five_tuples());
        assert_eq!(table.observe(&packet(ask.reversed(), 1500, 9)), 0);
        assert_eq!(table.observe(&packet(FiveTuple { protocol: UDP, ..ask }, 100, 7)), 1);
        assert_eq!(table.observe(&packet(ask, 40, 8)), 0);
        assert_eq!(table.tuples().next(), Some(&ask));
        assert!(table.packets().eq([3, 1]) && table.bytes().eq([1600, 100]));
        assert!(table.first_ns() == [5, 7] && table.last_ns().eq([9, 7]));
        assert_eq!((table.len(), table.five_tuples(), table.conversations()), (2, 3, 2));
    }

    #[test]
    fn a_tuple_that_is_its_own_reverse_counts_once() {
        let same = FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 1], UDP, 53, 53);
        for direction in [Direction::Conversation, Direction::Each] {
            let mut table = Connections::new(direction);
            table.observe(&packet(same, 1, 0));
            table.observe(&packet(same, 1, 0));
            assert_eq!((table.len(), table.five_tuples(), table.conversations()), (1, 1, 1));
        }
    }

    /// Two connections whose hashes have the same tag.
    fn same_tag(direction: Direction) -> [FiveTuple; 2] {
        let mut known = HashMap::new();
        for number in 0..u32::MAX {
            let [a, b, p, q] = number.to_be_bytes();
            let tuple = FiveTuple::v4([10, 0, a, b], [10, 1, 0, 1], TCP, u16::from_be_bytes([p, q]), 80);
            if let Some(before) = known.insert(direction.hash(&tuple) >> 32, tuple) {
                return [before, tuple];
            }
        }
        unreachable!("more connections than tags")
    }

    /// Whoever looks many packets up at once finds the row of the other connection first.
    #[test]
    fn connections_of_the_same_tag_are_counted_apart() {
        for direction in [Direction::Conversation, Direction::Each] {
            let [one, other] = same_tag(direction);
            let mut table = Connections::new(direction);
            let mut indexes = Vec::new();
            for tuples in [[one, other], [other, one], [other, other]] {
                table.observe_all(&tuples.map(|tuple| packet(tuple, 100, 0)), &mut indexes);
            }
            assert_eq!(indexes, [0, 1, 1, 0, 1, 1]);
            assert!(table.packets().eq([2, 4]));
        }
    }

    /// Rows stand in several blocks.
    #[test]
    fn many_connections_have_each_their_row() {
        let tuple = |number: u16| FiveTuple::v4([10, 0, 0, 1], [10, 0, 0, 2], TCP, number, 80);
        let mut table = Connections::new(Direction::Conversation);
        for round in 1..=2 {
            for number in 0..10_000 {
                let bytes = u64::from(number) + round;
                assert_eq!(table.observe(&packet(tuple(number), bytes, round)), u32::from(number));
            }
        }
        assert_eq!(table.len(), 10_000);
        assert!(table.tuples().copied().eq((0..10_000).map(tuple)));
        assert!(table.packets().eq((0..10_000).map(|_| 2)));
        assert!(table.bytes().eq((0..10_000).map(|number| 2 * number + 3)));
    }

    /// Few values per field, so that reversals and repetitions are common.
    fn tuples() -> impl Strategy<Value = Vec<(FiveTuple, u64)>> {
        let tuple = (0..3u8, 0..3u8, 0..3u16, 0..3u16, 0..2usize, any::<bool>()).prop_map(
            |(a, b, p, q, protocol, six)| {
                let protocol = [TCP, UDP][protocol];
                if six {
                    let wide = |last| core::array::from_fn(|i| if i == 15 { last } else { 0x20 });
                    FiveTuple::v6(wide(a), wide(b), protocol, p, q)
                } else {
                    FiveTuple::v4([10, 0, 0, a], [10, 0, 0, b], protocol, p, q)
                }
            },
        );
        proptest::collection::vec((tuple, 1..2000u64), 0..400)
    }

    proptest! {
        #[test]
        fn counts_are_those_of_sorted_maps(packets in tuples()) {
            let mut directed = BTreeMap::<FiveTuple, (u64, u64)>::new();
            let mut paired = BTreeSet::new();
            let (mut each, mut both) = (Connections::new(Direction::Each), Connections::new(Direction::Conversation));
            let records: Vec<PacketRecord> =
                (0..).zip(&packets).map(|(time, &(tuple, bytes))| packet(tuple, bytes, time)).collect();
            let (mut in_each, mut in_both) = (Vec::new(), Vec::new());
            each.observe_all(&records, &mut in_each);
            both.observe_all(&records, &mut in_both);
            let (of_each, of_both): (Vec<_>, Vec<_>) = (each.tuples().collect(), both.tuples().collect());
            for (&(tuple, bytes), (e, b)) in packets.iter().zip(in_each.into_iter().zip(in_both)) {
                prop_assert_eq!(*of_each[e as usize], tuple);
                let initiator = *of_both[b as usize];
                prop_assert!(initiator == tuple || initiator == tuple.reversed());
                let entry = directed.entry(tuple).or_default();
                *entry = (entry.0 + 1, entry.1 + bytes);
                paired.insert(tuple.min(tuple.reversed()));
            }
            for table in [&each, &both] {
                prop_assert_eq!(table.five_tuples(), directed.len());
                prop_assert_eq!(table.conversations(), paired.len());
                prop_assert!(table.first_ns().is_sorted());
            }
            for (tuple, counted) in each.tuples().zip(each.packets().zip(each.bytes())) {
                prop_assert_eq!(counted, directed[tuple]);
            }
            for (tuple, counted) in both.tuples().zip(both.packets().zip(both.bytes())) {
                let there = directed[tuple];
                let back = directed.get(&tuple.reversed()).filter(|_| tuple.reversed() != *tuple);
                let back = back.copied().unwrap_or_default();
                prop_assert_eq!(counted, (there.0 + back.0, there.1 + back.1));
            }
        }
    }
}
