//! A port as the line behind queues of classes, which give it one frame at a time.

use super::EgressPort;
use crate::queue::NEVER_PS;
use crate::slab::PacketId;
use std::hint::select_unpredictable;

impl EgressPort {
    /// Sends a frame of a port with classes, which gives it one when it has sent the one before.
    #[inline(always)]
    pub(crate) fn transmit<const HOST: bool>(&mut self, now_ps: u64, id: PacketId, frame_bytes: u16) {
        if self.backlog_packets > 0 {
            self.advance(now_ps);
        }
        self.accept::<HOST>(now_ps, id, frame_bytes);
        if self.backlog_bytes > self.backlog_max_bytes {
            self.backlog_max_bytes = self.backlog_bytes;
        }
    }

    /// When the next packet arrives; [`NEVER_PS`] if there is none.
    #[inline(always)]
    pub(crate) fn next_arrival_ps(&self) -> u64 {
        if !self.ring.has_room() {
            return NEVER_PS;
        }
        let next_ps = self.ring.at(self.head).arrive_ps;
        select_unpredictable(self.head != self.tail, next_ps, NEVER_PS)
    }
}
