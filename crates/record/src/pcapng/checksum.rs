//! Internet checksum (RFC 1071).

/// Adds 16-bit words in ones' complement to the sum `before`; an odd last byte is padded with zero.
pub(super) fn sum(before: u32, bytes: &[u8]) -> u32 {
    let (words, odd) = bytes.as_chunks::<2>();
    let words = words.iter().map(|&word| u32::from(u16::from_be_bytes(word)));
    let odd = odd.first().map_or(0, |&byte| u32::from(byte) << 8);
    words.fold(before + odd, |sum, word| sum + word)
}

/// Checksum of all words that were added. They must be at most 128 KiB, so that no carry is lost.
pub(super) fn finish(sum: u32) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the example of RFC 1071, section 3.
    #[test]
    fn the_example_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(sum(0, &bytes), 0x2ddf0);
        assert_eq!(finish(sum(0, &bytes)), !0xddf2);
        assert_eq!(sum(sum(0, &bytes[..4]), &bytes[4..]), 0x2ddf0);
        assert_eq!(sum(0, &bytes[..5]), 0x0001 + 0xf203 + 0xf400);
    }

    #[test]
    fn carries_come_back_twice() {
        assert_eq!(finish(0x0001_ffff), !1);
        assert_eq!(finish(0xffff_0001), !1);
        assert_eq!(finish(0xffff), 0);
    }
}
