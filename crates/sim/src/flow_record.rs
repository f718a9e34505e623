//! Record of a flow, whose numbers stand here once: file, table, frame and reference page are made of this list.

use crate::Framing;
use crate::transport::{ReceiverCounters, SenderCounters};

/// Fate of a packet that a host sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It reached its host.
    Delivered,
    /// There was no room for it, RED struck it, or a meter refused it.
    Dropped,
    /// A failure took it.
    Lost,
}

/// A count of [`FlowRecord`].
#[derive(Clone, Copy, Debug)]
pub struct FlowCount {
    /// Name, ending in its unit: the field's, and the column's.
    pub name: &'static str,
    /// Meaning, in a sentence.
    pub meaning: &'static str,
    /// The count of a record.
    pub of: fn(&FlowRecord) -> u64,
}

/// Declares [`FlowRecord`] by its counts, each with the meaning that it has in the table of flows.
macro_rules! flow_record {
    ($($(#[doc = $meaning:literal])+ $count:ident: $type:ident,)+) => {
        /// One flow, in the order of the flow list. Two cache lines.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        #[repr(align(64))]
        pub struct FlowRecord {
            /// When it began, in picoseconds; `u64::MAX` if it never did.
            pub start_ps: u64,
            /// From its start to the arrival of its last byte, in order, at the receiver's application, in picoseconds;
            /// `u64::MAX` if unfinished.
            pub fct_ps: u64,
            $($(#[doc = $meaning])+ pub $count: $type,)+
        }

        impl FlowRecord {
            /// Its counts, in the order of the table of flows.
            pub const COUNTS: &[FlowCount] = &[$(FlowCount {
                name: stringify!($count),
                meaning: concat!($($meaning),+).trim_ascii_start(),
                of: |record| record.$count.into(),
            }),+];

            /// Numbers of a record.
            pub const WORDS: usize = 2 + Self::COUNTS.len();

            /// Its numbers, in the order of the list.
            #[must_use]
            pub fn words(&self) -> [u64; Self::WORDS] {
                [self.start_ps, self.fct_ps, $(self.$count.into()),+]
            }

            /// The record of these numbers, as [`Self::words`] has them.
            #[must_use]
            pub fn of_words([start_ps, fct_ps, $($count),+]: [u64; Self::WORDS]) -> Self {
                Self { start_ps, fct_ps, $($count: $count as $type),+ }
            }
        }
    };
}

flow_record! {
    /// Payload sent, retransmissions included.
    sent_bytes: u64,
    /// Segments sent, retransmissions included.
    sent_packets: u64,
    /// Payload that reached the receiving host, duplicates included.
    delivered_bytes: u64,
    /// Segments that reached the receiving host, duplicates included. What was sent was delivered, dropped or lost, or is
    /// left in the fabric at the end.
    delivered_packets: u64,
    /// Payload that the receiving application had, in order, when the flow or the simulation ended, from `record.omit` on.
    received_bytes: u64,
    /// Payload refused for want of room, or by a meter.
    dropped_bytes: u64,
    /// Segments refused for want of room, or by a meter.
    dropped_packets: u64,
    /// Payload lost to failures: a dead port, a lossy link, a blackhole, no path.
    lost_bytes: u64,
    /// Segments lost to failures: a dead port, a lossy link, a blackhole, no path.
    lost_packets: u64,
    /// Segments sent again.
    retransmitted_packets: u64,
    /// Segments that arrived, for the first time, after one with a higher number.
    reordered_packets: u64,
    /// Retransmission timeouts.
    timeouts: u32,
    /// Times that a third duplicate acknowledgement in a row arrived at the sender, whatever it takes for a loss.
    triple_duplicates: u32,
    /// Segments that arrived with a congestion mark.
    marked_packets: u64,
    /// Distinct paths its segments took.
    paths: u16,
    /// Whether it was replayed: 1 if it took as long as another message like it did, and no packet of it was sent; its other
    /// counts are those of the last of its stream, or of a message that lost nothing.
    replayed: u16,
}

const _: () = assert!(size_of::<FlowRecord>() == 128);

impl FlowRecord {
    /// Record of a flow that has not begun.
    pub(crate) fn blank() -> Self {
        Self { start_ps: u64::MAX, fct_ps: u64::MAX, ..Self::default() }
    }

    /// Counts what became of a segment that its connection does not count, or no more.
    pub(crate) fn count_end(&mut self, payload_bytes: u16, fate: Fate) {
        let (bytes, packets) = match fate {
            Fate::Delivered => (&mut self.delivered_bytes, &mut self.delivered_packets),
            Fate::Dropped => (&mut self.dropped_bytes, &mut self.dropped_packets),
            Fate::Lost => (&mut self.lost_bytes, &mut self.lost_packets),
        };
        *bytes += u64::from(payload_bytes);
        *packets += 1;
    }

    /// Adds what another record has of segments that no connection counts.
    pub(crate) fn add_ends(&mut self, other: &Self) {
        self.delivered_bytes += other.delivered_bytes;
        self.delivered_packets += other.delivered_packets;
        self.dropped_bytes += other.dropped_bytes;
        self.dropped_packets += other.dropped_packets;
        self.lost_bytes += other.lost_bytes;
        self.lost_packets += other.lost_packets;
    }

    /// Takes over the counts of a message of the same size that was carried; of one that lost nothing if there is none.
    pub(crate) fn repeat(&mut self, counters: Option<Self>, bytes: u64, framing: Framing) {
        let packets = bytes.div_ceil(u64::from(framing.payload_bytes_max)).max(1);
        let whole = Self {
            sent_bytes: bytes,
            sent_packets: packets,
            delivered_bytes: bytes,
            delivered_packets: packets,
            received_bytes: bytes,
            ..Self::default()
        };
        let (start_ps, fct_ps) = (self.start_ps, self.fct_ps);
        *self = Self { start_ps, fct_ps, replayed: 1, ..counters.unwrap_or(whole) };
    }

    /// Segments of which it is not known yet what becomes.
    pub(crate) fn left_packets(&self) -> u64 {
        self.sent_packets - self.delivered_packets - self.dropped_packets - self.lost_packets
    }

    /// Takes over what both halves counted.
    pub(crate) fn count(&mut self, sent: &SenderCounters, received: &ReceiverCounters) {
        self.delivered_bytes = received.delivered_bytes;
        self.delivered_packets = received.delivered_packets;
        self.sent_bytes = sent.sent_bytes;
        self.sent_packets = sent.sent_packets;
        self.retransmitted_packets = sent.retransmitted_packets;
        self.timeouts = sent.timeouts;
        self.triple_duplicates = sent.triple_duplicates;
        self.reordered_packets = received.reordered_packets;
        self.marked_packets = received.marked_packets;
        self.paths = received.paths();
    }
}
