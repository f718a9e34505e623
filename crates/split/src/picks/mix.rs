//! Second hash of score-based picks: one value per (flow, member).
//!
//! It must not be linear over GF(2). CRC, Toeplitz and XOR of (flow, member) pass a chi-square test one member at a
//! time, yet their values for different members differ by a constant, and scoring over them is 52 to 109 % off.

/// Odd constant that spreads member numbers over 32 bits (2^32 divided by the golden ratio).
const SPREAD: u32 = 0x9e37_79b9;

/// Finaliser of Murmur3-32: every input bit affects every output bit.
#[inline(always)]
#[must_use]
pub fn finalise(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// Murmur3-32's scrambling of one word before it enters the hash.
#[inline(always)]
#[must_use]
pub fn scramble(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

/// Murmur3-32's step: adds one word to the hash.
#[inline(always)]
#[must_use]
pub fn absorb(hash: u32, word: u32) -> u32 {
    (hash ^ scramble(word)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// Part of the hash that depends on the member alone, computed once per plan.
#[inline(always)]
#[must_use]
pub fn salt(member: u16) -> u32 {
    u32::from(member).wrapping_mul(SPREAD)
}

/// Uniform 32-bit value for a flow's `hash` and a member's [`salt`].
#[inline(always)]
#[must_use]
pub fn value(hash: u32, salt: u32) -> u32 {
    finalise(hash ^ salt)
}

/// Open vSwitch's `hash_int(bucket_id, basis)` in builds without the CRC instruction (Debian's): two steps of
/// Murmur3 over the words `bucket_id` and `basis`.
pub mod open_vswitch {
    use super::{absorb, finalise};

    /// Part of the hash that depends on the bucket alone.
    #[inline(always)]
    #[must_use]
    pub fn salt(bucket_id: u32) -> u32 {
        absorb(bucket_id, 0)
    }

    /// `hash_int(bucket_id, basis)` from the bucket's [`salt`] and the basis.
    #[inline(always)]
    #[must_use]
    pub fn value(basis: u32, salt: u32) -> u32 {
        finalise(absorb(salt, basis) ^ 8)
    }
}
