//! wyhash32 (Wang Yi, `wyhash32.h` of github.com/wangyi-fudan/wyhash, its little-endian form). It has no rotations and
//! no products above 64 bits, so a program in the kernel computes it in forty instructions where Murmur3 takes eighty.

/// Mixes the state: each half is XORed with a constant, and the result is the halves of their product.
#[inline(always)]
fn mix([low, high]: [u32; 2]) -> [u32; 2] {
    let product = u64::from(low ^ 0x53c5_ca59) * u64::from(high ^ 0x7474_3c1b);
    [product as u32, (product >> 32) as u32]
}

#[inline(always)]
fn absorb([low, high]: [u32; 2], [first, second]: [u32; 2]) -> [u32; 2] {
    mix([low ^ first, high ^ second])
}

#[inline(always)]
fn finalise(state: [u32; 2]) -> u32 {
    let [low, high] = mix(state);
    low ^ high
}

/// Hash of `bytes` in 32 bits. The seed is the function's own.
#[inline(always)]
#[must_use]
pub fn wyhash32(bytes: &[u8], seed: u32) -> u32 {
    let word =
        |bytes: &[u8], at: usize| bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    let length = bytes.len() as u64;
    let mut state = mix([seed ^ (length >> 32) as u32, length as u32]);
    let mut rest = bytes;
    while rest.len() > 8 {
        state = absorb(state, [word(rest, 0), word(rest, 4)]);
        rest = &rest[8..];
    }
    let last = match rest.len() {
        0 => [0, 0],
        length @ 1..4 => [u32::from_be_bytes([0, rest[0], rest[length / 2], rest[length - 1]]), 0],
        // Two words, which overlap where there are less than eight bytes.
        length => [word(rest, 0), word(rest, length - 4)],
    };
    finalise(absorb(state, last))
}

/// Hash of a 5-tuple in pieces as they lie in a packet, read by a little-endian machine: addresses, ports, protocol. It
/// equals [`wyhash32`] of the packed tuple.
#[inline(always)]
#[must_use]
pub fn wyhash32_tuple<const N: usize>(addresses: [[u32; 2]; N], ports: u32, protocol: u8, seed: u32) -> u32 {
    let state = addresses.into_iter().fold(mix([seed, 8 * N as u32 + 5]), absorb);
    finalise(absorb(state, [ports, ports >> 8 | u32::from(protocol) << 24]))
}
