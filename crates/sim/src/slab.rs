//! Packets in one block of memory, addressed by typed numbers, with a list of those that are free.

use crate::Packet;
use anabranch_split::prefetch::prefetch;

/// Name of a packet in the fabric: its slot among all packets. It is given again once the packet has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PacketId(pub(crate) u32);

impl PacketId {
    /// No packet.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// Slot of the packet.
    #[inline(always)]
    pub(crate) const fn slot(self) -> usize {
        self.0 as usize
    }

    /// Number of the packet, which no other packet in the fabric has at the same time.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// All packets of the fabric.
#[derive(Default)]
pub(crate) struct Slab {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Slab {
    /// Stores a packet. Allocates only beyond the largest number of packets there ever was.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        let id = match self.free.pop() {
            Some(id) => id,
            None => self.another(),
        };
        *self.get(id) = packet;
        id
    }

    /// A slot that no packet has used yet. Room grows by an eighth: doubling would spend up to 128 bytes a packet.
    #[cold]
    fn another(&mut self) -> PacketId {
        if self.packets.len() == self.packets.capacity() {
            self.packets.reserve_exact((self.packets.len() / 8).max(1024));
            // The list of free slots can then never grow while packets are freed.
            self.free.reserve_exact(self.packets.capacity() - self.free.len());
        }
        self.packets.push(Packet::default());
        PacketId(self.packets.len() as u32 - 1)
    }

    /// Frees the slot of a packet that has ended.
    #[inline(always)]
    pub(crate) fn free(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// The packet of this name.
    #[inline(always)]
    pub(crate) fn get(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id.slot()]
    }

    /// Most packets there ever were at once.
    pub(crate) fn peak(&self) -> usize {
        self.packets.len()
    }

    /// Fetches a packet's cache line ahead of its use.
    #[inline(always)]
    pub(crate) fn prefetch(&self, id: PacketId) {
        prefetch(self.packets.as_ptr().wrapping_add(id.slot()));
    }

    /// Packets there are.
    pub(crate) fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
