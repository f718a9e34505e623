//! Cyclic redundancy checks as switches compute them (P4's `crc32` and `crc16`; SSE 4.2 has CRC-32C).
//!
//! The seed is XORed into the initial register, so for CRC-32 it is zlib's running value: `crc32(bytes, seed)`.
//! CRCs are affine over GF(2): another seed only XORs another constant into the result.

use super::xor_fold::{fold8, fold16};
use crc::{CRC_8_SMBUS, CRC_16_ARC, CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc};

static CRC8: Crc<u8> = Crc::<u8>::new(&CRC_8_SMBUS);
static CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);
static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// CRC-8/SMBUS: polynomial 0x07. The seed's four bytes are XORed together.
#[must_use]
pub fn crc8(bytes: &[u8], seed: u32) -> u8 {
    let mut digest = CRC8.digest_with_initial(CRC_8_SMBUS.init ^ fold8(seed));
    digest.update(bytes);
    digest.finalize()
}

/// CRC-16/ARC: polynomial 0x8005, reflected. The seed's two halves are XORed together.
#[must_use]
pub fn crc16(bytes: &[u8], seed: u32) -> u16 {
    // The crate reflects the initial value of a reflected algorithm; the seed is given in register order.
    let mut digest = CRC16.digest_with_initial(CRC_16_ARC.init ^ fold16(seed).reverse_bits());
    digest.update(bytes);
    digest.finalize()
}

/// CRC-32 of IEEE 802.3 (CRC-32/ISO-HDLC): polynomial 0x04C11DB7, reflected.
#[must_use]
pub fn crc32(bytes: &[u8], seed: u32) -> u32 {
    reflected32(&CRC32, bytes, seed)
}

/// CRC-32C (RFC 3720, Castagnoli): polynomial 0x1EDC6F41, reflected.
#[must_use]
pub fn crc32c(bytes: &[u8], seed: u32) -> u32 {
    reflected32(&CRC32C, bytes, seed)
}

#[inline]
fn reflected32(crc: &'static Crc<u32>, bytes: &[u8], seed: u32) -> u32 {
    let mut digest = crc.digest_with_initial(crc.algorithm.init ^ seed.reverse_bits());
    digest.update(bytes);
    digest.finalize()
}
