//! MurmurHash3_x86_32 (Austin Appleby, SMHasher).

use crate::picks::mix::{absorb, finalise, scramble};

/// Hash of `bytes` in 32 bits. The seed is the function's own.
#[inline(always)]
#[must_use]
pub fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let hash = words.iter().fold(seed, |hash, word| absorb(hash, u32::from_le_bytes(*word)));
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    finalise(hash ^ scramble(u32::from_le_bytes(last)) ^ bytes.len() as u32)
}
