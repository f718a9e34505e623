//! Lines of a port that a packet will touch, fetched ahead.

use super::EgressPort;
use anabranch_split::prefetch::prefetch;

impl EgressPort {
    /// Fetches what every packet touches, see [`Self`].
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch((&raw const *self).cast::<[u8; 128]>());
    }

    /// Fetches where the next two packets stand.
    #[inline(always)]
    pub(crate) fn prefetch_ring(&self) {
        self.ring.prefetch(self.head);
        self.ring.prefetch(self.head.wrapping_add(1));
    }
}
