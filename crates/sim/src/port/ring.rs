//! The ring in which the packets of a link stand.

use crate::slab::PacketId;
use anabranch_split::prefetch::prefetch;

/// Packets that a port has room for from its second on, before it needs more.
const ROOM: usize = 16;

/// A packet that was accepted: on the wire, in service or waiting.
#[derive(Clone, Copy)]
pub(super) struct Accepted {
    pub(super) arrive_ps: u64,
    pub(super) packet: PacketId,
    pub(super) frame_bytes: u16,
    /// Bytes' times between the end of its transmission and its entering the link; at hosts only.
    pub(super) lag_bytes: u16,
}

/// A slot that no packet has had.
const EMPTY: Accepted = Accepted { arrive_ps: 0, packet: PacketId::NONE, frame_bytes: 0, lag_bytes: 0 };

/// Slots, a power of two of them, which counts name that wrap.
pub(super) struct Ring(Box<[Accepted]>);

impl Ring {
    /// No room: most ports of a large fabric see no packet for long.
    pub(super) fn new() -> Self {
        Self(Box::default())
    }

    /// Whether there has been a packet.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        !self.0.is_empty()
    }

    #[inline(always)]
    fn slot(&self, count: u32) -> usize {
        count as usize & self.0.len().wrapping_sub(1)
    }

    /// The packet of a count, or what is left of one, if there has ever been room for any.
    #[inline(always)]
    pub(super) fn at(&self, count: u32) -> Accepted {
        debug_assert!(self.has_room(), "a ring with room");
        // SAFETY: there is room, hence a slot for each count that is masked by a power of two less one.
        unsafe { *self.0.get_unchecked(self.slot(count)) }
    }

    #[inline(always)]
    pub(super) fn at_mut(&mut self, count: u32) -> &mut Accepted {
        debug_assert!(self.has_room(), "a ring with room");
        let slot = self.slot(count);
        // SAFETY: there is room, as above.
        unsafe { self.0.get_unchecked_mut(slot) }
    }

    /// Whether the packets from `head` to `tail` take all slots.
    #[inline(always)]
    pub(super) fn is_full(&self, head: u32, tail: u32) -> bool {
        tail.wrapping_sub(head) as usize == self.0.len()
    }

    /// Makes room for as many packets again as there are from `head` to `tail`; for one if there are none.
    #[cold]
    pub(super) fn grow(&mut self, head: u32, tail: u32) {
        let room = if self.has_room() { (2 * self.0.len()).max(ROOM) } else { 1 };
        let mut grown = Self(vec![EMPTY; room].into());
        let mut count = head;
        while count != tail {
            *grown.at_mut(count) = self.at(count);
            count = count.wrapping_add(1);
        }
        *self = grown;
    }

    /// Fetches a slot.
    #[inline(always)]
    pub(super) fn prefetch(&self, count: u32) {
        prefetch(self.0.as_ptr().wrapping_add(self.slot(count)));
    }
}
