//! MurmurHash3_x86_32 (Austin Appleby, SMHasher).

use crate::scheme::mix::{absorb, finalise, scramble};

/// The 32-bit hash of `bytes`. The seed is its own.
#[inline(always)]
#[must_use]
pub fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let hash = words.iter().fold(seed, |hash, word| absorb(hash, u32::from_le_bytes(*word)));
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    finalise(hash ^ scramble(u32::from_le_bytes(last)) ^ bytes.len() as u32)
}

/// The same of whole words in network order as they lie in memory, and up to three bytes behind them: what a place
/// computes by that has a 5-tuple in pieces.
#[inline(always)]
#[must_use]
pub fn murmur3_words<const N: usize>(words: [u32; N], rest: u32, rest_bytes: u32, seed: u32) -> u32 {
    let hash = words.iter().fold(seed, |hash, &word| absorb(hash, word));
    finalise(hash ^ scramble(rest) ^ (4 * N as u32 + rest_bytes))
}
