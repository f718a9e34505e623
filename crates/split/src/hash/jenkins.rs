//! Bob Jenkins' hashes: one-at-a-time (Dr Dobb's, September 1997) and lookup3 (May 2006).

/// One-at-a-time. The seed is the initial value.
#[inline(always)]
#[must_use]
pub fn one_at_a_time(bytes: &[u8], seed: u32) -> u32 {
    let mut hash = bytes.iter().fold(seed, |hash, &byte| {
        let sum = hash.wrapping_add(u32::from(byte));
        let spread = sum.wrapping_add(sum << 10);
        spread ^ (spread >> 6)
    });
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// lookup3's `hashlittle`. The seed is its `initval`.
#[inline(always)]
#[must_use]
pub fn lookup3(bytes: &[u8], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed);
    let mut state = [start; 3];
    let Some(last_at) = bytes.len().checked_sub(1).map(|n| n / 12 * 12) else {
        return start;
    };
    let (blocks, last) = bytes.split_at(last_at);
    for block in blocks.as_chunks::<12>().0 {
        state = mix(absorb(state, block));
    }
    let mut padded = [0; 12];
    padded[..last.len()].copy_from_slice(last);
    finish(absorb(state, &padded))
}

#[inline(always)]
fn absorb(state: [u32; 3], block: &[u8; 12]) -> [u32; 3] {
    let words = block.as_chunks::<4>().0;
    core::array::from_fn(|i| state[i].wrapping_add(u32::from_le_bytes(words[i])))
}

/// Mixing step of lookup3 (`mix`), for every block but the last.
#[inline(always)]
fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for [first, second, third] in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

/// Last step of lookup3 (`final`), for the last block: the third word is the hash.
#[inline(always)]
fn finish([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
