//! XXH3, 64 bits (Yann Collet, xxHash 0.8): the default. No collision among a million 5-tuples.

/// Hash of `bytes` in 64 bits. The seed is the function's own, zero-extended.
#[inline(always)]
#[must_use]
pub fn xxh3(bytes: &[u8], seed: u32) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, u64::from(seed))
}
