//! XOR fold: the words of the input XORed together. Addresses that swap roles cancel out; the weakest hash in use.
//!
//! The seed is the initial value, folded to the width of the result.

/// XOR of the big-endian 32-bit words, the last one padded with zero bytes.
#[inline(always)]
#[must_use]
pub fn xor32(bytes: &[u8], seed: u32) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().fold(seed ^ u32::from_be_bytes(last), |hash, word| hash ^ u32::from_be_bytes(*word))
}

/// XOR of the big-endian 16-bit words, the last one padded with a zero byte.
#[inline(always)]
#[must_use]
pub fn xor16(bytes: &[u8], seed: u32) -> u16 {
    fold16(xor32(bytes, seed))
}

/// XOR of the bytes.
#[inline(always)]
#[must_use]
pub fn xor8(bytes: &[u8], seed: u32) -> u8 {
    fold8(xor32(bytes, seed))
}

/// The two halves of a word XORed together.
#[inline(always)]
#[must_use]
pub fn fold16(word: u32) -> u16 {
    (word ^ (word >> 16)) as u16
}

/// The four bytes of a word XORed together.
#[inline(always)]
#[must_use]
pub fn fold8(word: u32) -> u8 {
    let half = fold16(word);
    (half ^ (half >> 8)) as u8
}
