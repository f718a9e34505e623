//! Bytes of a packet from one header on, and whether they are all that was on the wire.

use super::Unreadable;

#[derive(Clone, Copy)]
pub(super) struct Octets<'a> {
    bytes: &'a [u8],
    /// Whether the snap length cut nothing off the packet or datagram of these bytes.
    whole: bool,
}

impl<'a> Octets<'a> {
    pub(super) fn new(bytes: &'a [u8], original_bytes: u64) -> Self {
        Self { bytes, whole: bytes.len() as u64 >= original_bytes }
    }

    /// Splits off the first `N` bytes, a header.
    #[inline]
    pub(super) fn split<const N: usize>(self) -> Result<(&'a [u8; N], Self), Unreadable> {
        match self.bytes.split_first_chunk::<N>() {
            Some((head, bytes)) => Ok((head, Self { bytes, ..self })),
            None => Err(self.short()),
        }
    }

    /// Skips `n` bytes.
    #[inline]
    pub(super) fn skip(self, n: usize) -> Result<Self, Unreadable> {
        match self.bytes.get(n..) {
            Some(bytes) => Ok(Self { bytes, ..self }),
            None => Err(self.short()),
        }
    }

    /// Limits the bytes to the `n` that a length field grants: behind them is padding or a checksum.
    #[inline]
    pub(super) fn clip(self, n: usize) -> Self {
        match self.bytes.get(..n) {
            Some(bytes) => Self { bytes, whole: true },
            None => self,
        }
    }

    pub(super) fn first(self) -> Result<u8, Unreadable> {
        self.bytes.first().copied().ok_or_else(|| self.short())
    }

    /// Reason why bytes are missing: the snap length cut them, or the packet never had them.
    fn short(self) -> Unreadable {
        if self.whole { Unreadable::Malformed } else { Unreadable::Truncated }
    }
}
