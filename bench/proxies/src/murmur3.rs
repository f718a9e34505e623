//! MurmurHash3, x64, 128 bits (Austin Appleby, public domain): Katran's and Cilium's hash of a backend.

const FIRST: u64 = 0x87c3_7b91_1142_53d5;
const SECOND: u64 = 0x4cf5_ad43_2745_937f;

/// Both halves of the hash of `bytes`.
pub(crate) fn murmur3(bytes: &[u8], seed: u32) -> (u64, u64) {
    let (mut low, mut high) = (u64::from(seed), u64::from(seed));
    let mut blocks = bytes.chunks_exact(16);
    for block in &mut blocks {
        low ^= first(word(&block[..8]));
        low = low.rotate_left(27).wrapping_add(high).wrapping_mul(5).wrapping_add(0x52dc_e729);
        high ^= second(word(&block[8..]));
        high = high.rotate_left(31).wrapping_add(low).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let tail = blocks.remainder();
    high ^= second(word(tail.get(8..).unwrap_or_default()));
    low ^= first(word(&tail[..tail.len().min(8)]));
    low ^= bytes.len() as u64;
    high ^= bytes.len() as u64;
    low = low.wrapping_add(high);
    high = high.wrapping_add(low);
    (low, high) = (finished(low), finished(high));
    low = low.wrapping_add(high);
    (low, high.wrapping_add(low))
}

/// Little-endian number of up to eight bytes.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn first(word: u64) -> u64 {
    word.wrapping_mul(FIRST).rotate_left(31).wrapping_mul(SECOND)
}

fn second(word: u64) -> u64 {
    word.wrapping_mul(SECOND).rotate_left(33).wrapping_mul(FIRST)
}

fn finished(mut word: u64) -> u64 {
    word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ word >> 33
}

#[cfg(test)]
mod tests {
    use super::murmur3;

    /// Vectors that implementations of the function publish.
    #[test]
    fn hashes_are_those_of_the_reference() {
        assert_eq!(murmur3(b"", 0), (0, 0));
        assert_eq!(murmur3(b"hello", 0), (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19));
        let fox = b"The quick brown fox jumps over the lazy dog";
        assert_eq!(murmur3(fox, 0), (0xe34b_bc7b_bc07_1b6c, 0x7a43_3ca9_c49a_9347));
    }
}
