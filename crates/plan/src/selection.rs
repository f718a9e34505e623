//! The hash by which switches choose.

use anabranch_split::picks::mix;

/// Hash by which a switch with this salt selects, for a packet of this entropy: one step and the finaliser of
/// Murmur3-32.
#[inline(always)]
#[must_use]
pub fn selection_hash(entropy: u32, salt: u32) -> u32 {
    mix::finalise(mix::absorb(salt, entropy))
}
