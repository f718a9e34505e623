//! Packets in one block of memory, addressed by number, with a list of free places.

use crate::Packet;

/// All packets of the fabric.
#[derive(Default)]
pub(crate) struct Slab {
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Slab {
    /// Stores a packet. Allocates only beyond the largest number of packets there ever was.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = packet;
            return place;
        }
        if self.packets.len() == self.packets.capacity() {
            self.grow();
        }
        self.packets.push(packet);
        self.packets.len() as u32 - 1
    }

    /// Grows by an eighth: doubling would spend up to 128 bytes a packet.
    #[cold]
    fn grow(&mut self) {
        self.packets.reserve_exact((self.packets.len() / 8).max(1024));
        // The list of free places can then never grow while packets are freed.
        self.free.reserve_exact(self.packets.capacity() - self.free.len());
    }

    /// Frees a place.
    #[inline(always)]
    pub(crate) fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The packet at a place.
    #[inline(always)]
    pub(crate) fn get(&mut self, place: u32) -> &mut Packet {
        &mut self.packets[place as usize]
    }

    /// Places ever used at once.
    pub(crate) fn peak(&self) -> usize {
        self.packets.len()
    }

    /// Fetches a packet's cache line ahead of its use.
    #[inline(always)]
    pub(crate) fn prefetch(&self, place: u32) {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = place;
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = self.packets.as_ptr().wrapping_add(place as usize);
            // SAFETY: SSE is part of x86-64, and a prefetch reads nothing: any address will do.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
        }
    }

    /// Packets there are.
    pub(crate) fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
