//! Counters of the two halves of a connection.

use crate::{Packet, marks};

/// Counters of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct SenderCounters {
    /// Payload bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts, of SYN too.
    pub timeouts: u32,
    /// Times that a third duplicate acknowledgement in a row arrived, whatever the sender takes for a loss.
    pub triple_duplicates: u32,
    /// RNR NAKs after which it waited.
    pub not_ready: u32,
}

impl SenderCounters {
    /// Counts what another counted as well.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sent_bytes += other.sent_bytes;
        self.sent_packets += other.sent_packets;
        self.retransmitted_packets += other.retransmitted_packets;
        self.timeouts += other.timeouts;
        self.triple_duplicates += other.triple_duplicates;
        self.not_ready += other.not_ready;
    }
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct ReceiverCounters {
    /// Payload bytes that arrived, duplicates included.
    pub delivered_bytes: u64,
    /// Segments that arrived, duplicates included.
    pub delivered_packets: u64,
    /// Segments that the network delivered behind a later one, retransmissions aside.
    pub reordered_packets: u64,
    /// Segments that arrived with a congestion mark.
    pub marked_packets: u64,
    /// Which of [`Packet::path`] modulo 256 were seen, a bit each.
    pub path_set: [u64; 4],
}

impl ReceiverCounters {
    /// Distinct paths, at most 256.
    #[must_use]
    pub(crate) fn paths(&self) -> u16 {
        self.path_set.iter().map(|word| word.count_ones() as u16).sum()
    }

    /// Counts what another counted as well.
    pub(crate) fn add(&mut self, other: &Self) {
        self.delivered_bytes += other.delivered_bytes;
        self.delivered_packets += other.delivered_packets;
        self.reordered_packets += other.reordered_packets;
        self.marked_packets += other.marked_packets;
        for (mine, others) in self.path_set.iter_mut().zip(other.path_set) {
            *mine |= others;
        }
    }

    /// A segment or datagram from the network.
    #[inline(always)]
    pub(super) fn count(&mut self, packet: &Packet) {
        self.delivered_bytes += u64::from(packet.payload_bytes);
        self.delivered_packets += 1;
        let path = usize::from(packet.path & 255);
        self.path_set[path / 64] |= 1 << (path % 64);
        self.marked_packets += u64::from(packet.marks & marks::EXPERIENCED != 0);
    }
}
