//! Toeplitz, the hash of receive-side scaling (Microsoft, "RSS hashing types" and "Verifying the RSS hash").
//!
//! Each set bit of the input XORs in the 32 key bits that start at its position: linear over GF(2).

use crate::picks::mix::finalise;
use crate::{FiveTuple, protocol};
use std::boxed::Box;

/// Number of bytes of a key: room for two IPv6 addresses, two ports and one window of 32 bits.
pub const KEY_LEN: usize = 40;
/// Number of bytes of the longest input: two IPv6 addresses and two ports.
pub const INPUT_MAX: usize = 36;

/// Secret key.
pub type Key = [u8; KEY_LEN];

/// Key of Microsoft's verification suite, and the default of many drivers.
pub const MICROSOFT_KEY: Key = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
    0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
    0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Key of a seed. Toeplitz has no seed, and an XORed one would change no path, so the seed makes another key: each word
/// of Microsoft's XORed with Murmur3's finaliser of the seed times an odd number. Seed 0 is Microsoft's.
#[must_use]
pub fn key_of(seed: u32) -> Key {
    let mut key = MICROSOFT_KEY;
    for (word, odd) in key.as_chunks_mut::<4>().0.iter_mut().zip((1..).step_by(2)) {
        *word = (u32::from_be_bytes(*word) ^ finalise(seed.wrapping_mul(odd))).to_be_bytes();
    }
    key
}

/// Input of the hash: source address, destination address and, for TCP, UDP and SCTP, source port and destination port:
/// 8, 12, 32 or 36 bytes, written to the front of `buffer`.
#[inline(always)]
pub fn input<'a>(tuple: &FiveTuple, buffer: &'a mut [u8; 37]) -> &'a [u8] {
    let packed = tuple.packed(buffer);
    let ports = matches!(tuple.protocol, protocol::TCP | protocol::UDP | protocol::SCTP);
    &packed[..packed.len() - if ports { 1 } else { 5 }]
}

/// Hash of `input`, of which the first [`INPUT_MAX`] bytes count, bit by bit: for a few inputs.
#[must_use]
pub fn toeplitz(key: &Key, input: &[u8]) -> u32 {
    let mut hash = 0;
    for (at, &byte) in input.iter().take(INPUT_MAX).enumerate() {
        for bit in 0..8 {
            if byte & (0x80 >> bit) != 0 {
                hash ^= window(key, at, bit);
            }
        }
    }
    hash
}

/// Bits of `key` in a window of 32, from bit `bit` of byte `at` on.
fn window(key: &Key, at: usize, bit: u32) -> u32 {
    let mut bytes = [0; 8];
    bytes[..5].copy_from_slice(&key[at..at + 5]);
    (u64::from_be_bytes(bytes) << bit >> 32) as u32
}

/// Table of the hash of every value of every input byte, 36 KiB: for many inputs under one key.
pub struct Table(Box<[[u32; 256]; INPUT_MAX]>);

impl Table {
    /// Makes the table of `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        let mut rows = Box::new([[0; 256]; INPUT_MAX]);
        for (at, row) in rows.iter_mut().enumerate() {
            for value in 1..256_usize {
                // Linear: the lowest set bit adds its window to the hash of the others.
                let lowest = value.trailing_zeros();
                row[value] = row[value & (value - 1)] ^ window(key, at, 7 - lowest);
            }
        }
        Self(rows)
    }

    /// Hash of `input`, equal to [`toeplitz`].
    #[inline]
    #[must_use]
    pub fn hash(&self, input: &[u8]) -> u32 {
        self.0.iter().zip(input).fold(0, |hash, (row, &byte)| hash ^ row[usize::from(byte)])
    }
}
