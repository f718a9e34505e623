//! A port whose link crosses from one part of the fabric to another: the part of its node queues and times the packets, the
//! part at the other end has them in the same port's ring of its own and lets them arrive.

use super::EgressPort;
use super::ring::Accepted;
use crate::slab::PacketId;

impl EgressPort {
    /// Sender's side: takes the next packet off the link if it reached the other end before `now_ps`.
    #[inline]
    pub(crate) fn take_arrived(&mut self, now_ps: u64) -> Option<PacketId> {
        (self.head != self.tail && self.ring.at(self.head).arrive_ps < now_ps).then(|| self.arrive().0)
    }

    /// Time at which the packet that was accepted last arrives.
    pub(crate) fn newest_arrival_ps(&self) -> u64 {
        self.ring.at(self.tail.wrapping_sub(1)).arrive_ps
    }

    /// Packets on their way and when they arrive, the next one first.
    pub(crate) fn coming_arrivals(&self) -> impl Iterator<Item = (PacketId, u64)> + '_ {
        (0..self.tail.wrapping_sub(self.head)).map(|after| {
            let accepted = self.ring.at(self.head.wrapping_add(after));
            (accepted.packet, accepted.arrive_ps)
        })
    }

    /// Receiver's side: a packet follows that arrives at a time. Says whether it is alone on the link.
    #[inline]
    pub(crate) fn follow(&mut self, arrive_ps: u64, packet: PacketId, frame_bytes: u16) -> bool {
        let alone = self.head == self.tail;
        self.make_room();
        *self.ring.at_mut(self.tail) = Accepted { arrive_ps, packet, frame_bytes, lag_bytes: 0 };
        self.tail = self.tail.wrapping_add(1);
        // Nothing waits here and nothing is sent from here: the sender's side counts that.
        self.serving = self.tail;
        self.first_sent = self.first_sent.wrapping_add(1);
        alone
    }

    /// Makes room for a packet, where there was none: what is fetched ahead of an event is there.
    pub(crate) fn make_room(&mut self) {
        if self.ring.is_full(self.head, self.tail) {
            self.ring.grow(self.head, self.tail);
        }
    }

    /// Receiver's side: takes back the packet that followed last. Says whether another is left.
    pub(crate) fn take_back(&mut self) -> (PacketId, bool) {
        self.tail = self.tail.wrapping_sub(1);
        self.serving = self.tail;
        self.first_sent = self.first_sent.wrapping_sub(1);
        (self.ring.at(self.tail).packet, self.head != self.tail)
    }
}
