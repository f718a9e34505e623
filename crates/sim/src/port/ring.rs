//! The ring in which the packets of a link stand.

use crate::slab::PacketId;
use anabranch_split::prefetch::prefetch;

/// Packets that a port has room for from its second on, before it needs more.
const ROOM: usize = 16;

/// A packet that was accepted: on the wire, in service or waiting.
#[derive(Clone, Copy, Default)]
pub(super) struct Accepted {
    pub(super) arrive_ps: u64,
    pub(super) packet: PacketId,
    pub(super) frame_bytes: u16,
    /// Bytes' times between the end of its transmission and its entering the link; at hosts only.
    pub(super) lag_bytes: u16,
}

/// Slots, a power of two of them, which counts name that wrap.
pub(super) struct Ring(Box<[Accepted]>);

impl Ring {
    /// Room for one packet: most ports of a large fabric see none for long.
    pub(super) fn new() -> Self {
        Self(vec![Accepted::default(); 1].into())
    }

    #[inline(always)]
    fn slot(&self, count: u32) -> usize {
        count as usize & (self.0.len() - 1)
    }

    #[inline(always)]
    pub(super) fn at(&self, count: u32) -> Accepted {
        // SAFETY: there is a slot for each count that is masked by a power of two less one.
        unsafe { *self.0.get_unchecked(self.slot(count)) }
    }

    #[inline(always)]
    pub(super) fn at_mut(&mut self, count: u32) -> &mut Accepted {
        let slot = self.slot(count);
        // SAFETY: as above.
        unsafe { self.0.get_unchecked_mut(slot) }
    }

    /// Whether the packets from `head` to `tail` take all slots.
    #[inline(always)]
    pub(super) fn is_full(&self, head: u32, tail: u32) -> bool {
        tail.wrapping_sub(head) as usize == self.0.len()
    }

    /// Makes room for as many packets again as there are from `head` to `tail`.
    #[cold]
    pub(super) fn grow(&mut self, head: u32, tail: u32) {
        let mut grown = Self(vec![Accepted::default(); (2 * self.0.len()).max(ROOM)].into());
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
