//! Counts of a port by interval, although it counts a packet when it accepts it.

use super::{EgressPort, began_ps};
use crate::PortRecord;

impl EgressPort {
    /// Bytes sent until now; a frame counts when it begins to be sent.
    pub(crate) fn sent_bytes(&mut self, now_ps: u64) -> u64 {
        self.sent_before_bytes + self.sent_bytes - self.take_unsent(now_ps).bytes
    }

    /// Counts a frame that was refused before the line.
    pub(crate) fn note_dropped(&mut self) {
        self.dropped_packets += 1;
    }

    /// Counts frames that were lost before the line.
    pub(crate) fn note_lost(&mut self, packets: u64) {
        self.lost_packets += packets;
    }

    /// Counts a frame that was marked before or after the line.
    pub(crate) fn note_marked(&mut self) {
        self.marked_packets += 1;
    }

    /// Takes out counts made at enqueue that belong to the time after `now_ps`.
    pub(super) fn take_unsent(&mut self, now_ps: u64) -> Unsent {
        self.advance(now_ps);
        let mut unsent = Unsent::default();
        let mut index = self.serving;
        while index != self.tail {
            let accepted = self.ring.at(index);
            let end_ps = self.end_ps(accepted);
            let frame_ps = self.on_wire_ps(accepted.frame_bytes);
            if began_ps(self.retimed, index, end_ps, frame_ps) >= now_ps {
                unsent.bytes += u64::from(accepted.frame_bytes);
                unsent.packets += 1;
            }
            unsent.backlog_byte_ps += u128::from(accepted.frame_bytes) * u128::from(end_ps - now_ps);
            index = index.wrapping_add(1);
        }
        unsent
    }

    /// Ends an interval: its record, and fresh counters. What waits is counted where it is sent.
    pub(crate) fn end_interval(&mut self, port: u32, start_ps: u64, now_ps: u64) -> PortRecord {
        let unsent = self.take_unsent(now_ps);
        let record = PortRecord {
            port,
            start_ps,
            length_ps: now_ps - start_ps,
            sent_bytes: self.sent_bytes - unsent.bytes,
            sent_packets: u64::from(self.tail.wrapping_sub(self.first_sent) - unsent.packets),
            dropped_packets: self.dropped_packets,
            lost_packets: self.lost_packets,
            marked_packets: self.marked_packets,
            backlog_max_bytes: self.backlog_max_bytes,
            backlog_byte_ps: self.backlog_byte_ps - unsent.backlog_byte_ps,
            busy_ps: self.busy_ps - self.free_ps.saturating_sub(now_ps),
            ..PortRecord::default()
        };
        self.sent_before_bytes += record.sent_bytes;
        self.sent_bytes = unsent.bytes;
        self.first_sent = self.tail.wrapping_sub(unsent.packets);
        self.dropped_packets = 0;
        self.lost_packets = 0;
        self.marked_packets = 0;
        self.backlog_max_bytes = self.backlog_bytes;
        self.backlog_byte_ps = unsent.backlog_byte_ps;
        self.busy_ps = self.free_ps.saturating_sub(now_ps);
        self.settle();
        record
    }
}

/// Counted at enqueue, not yet begun.
#[derive(Default)]
pub(super) struct Unsent {
    pub(super) bytes: u64,
    pub(super) packets: u32,
    pub(super) backlog_byte_ps: u128,
}
