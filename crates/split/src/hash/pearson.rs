//! Pearson's hash (CACM 33(6), 1990) over the permutation of RFC 3074 section 6.
//!
//! RFC 3074 itself walks the key from its end and starts at the key's length: [`pearson8`] of the reversed key with
//! that seed.

use super::xor_fold::fold8;

/// Mixing table of RFC 3074 section 6.
#[rustfmt::skip]
const PERMUTATION: [u8; 256] = [
    251, 175, 119, 215,  81,  14,  79, 191, 103,  49, 181, 143, 186, 157,   0, 232,
     31,  32,  55,  60, 152,  58,  17, 237, 174,  70, 160, 144, 220,  90,  57, 223,
     59,   3,  18, 140, 111, 166, 203, 196, 134, 243, 124,  95, 222, 179, 197,  65,
    180,  48,  36,  15, 107,  46, 233, 130, 165,  30, 123, 161, 209,  23,  97,  16,
     40,  91, 219,  61, 100,  10, 210, 109, 250, 127,  22, 138,  29, 108, 244,  67,
    207,   9, 178, 204,  74,  98, 126, 249, 167, 116,  34,  77, 193, 200, 121,   5,
     20, 113,  71,  35, 128,  13, 182,  94,  25, 226, 227, 199,  75,  27,  41, 245,
    230, 224,  43, 225, 177,  26, 155, 150, 212, 142, 218, 115, 241,  73,  88, 105,
     39, 114,  62, 255, 192, 201, 145, 214, 168, 158, 221, 148, 154, 122,  12,  84,
     82, 163,  44, 139, 228, 236, 205, 242, 217,  11, 187, 146, 159,  64,  86, 239,
    195,  42, 106, 198, 118, 112, 184, 172,  87,   2, 173, 117, 176, 229, 247, 253,
    137, 185,  99, 164, 102, 147,  45,  66, 231,  52, 141, 211, 194, 206, 246, 238,
     56, 110,  78, 248,  63, 240, 189,  93,  92,  51,  53, 183,  19, 171,  72,  50,
     33, 104, 101,  69,   8, 252,  83, 120,  76, 135,  85,  54, 202, 125, 188, 213,
     96, 235, 136, 208, 162, 129, 190, 132, 156,  38,  47,   1,   7, 254,  24,   4,
    216, 131,  89,  21,  28, 133,  37, 153, 149,  80, 170,  68,   6, 169, 234, 151,
];

/// Hash of 8 bits. The seed's four bytes, XORed together, are the initial value.
#[inline(always)]
#[must_use]
pub fn pearson8(bytes: &[u8], seed: u32) -> u8 {
    bytes.iter().fold(fold8(seed), |hash, &byte| step(hash, byte))
}

/// Hash of 32 bits: Pearson's widening, four hashes of the input with 0 to 3 added to its first byte, the first in the
/// most significant byte. Each starts at its own byte of the seed.
#[inline(always)]
#[must_use]
pub fn pearson32(bytes: &[u8], seed: u32) -> u32 {
    let mut lanes = seed.to_be_bytes();
    if let Some((&first, rest)) = bytes.split_first() {
        for (lane, added) in lanes.iter_mut().zip(0..) {
            *lane = step(*lane, first.wrapping_add(added));
        }
        for &byte in rest {
            lanes = lanes.map(|lane| step(lane, byte));
        }
    }
    u32::from_be_bytes(lanes)
}

#[inline(always)]
fn step(hash: u8, byte: u8) -> u8 {
    PERMUTATION[usize::from(hash ^ byte)]
}
