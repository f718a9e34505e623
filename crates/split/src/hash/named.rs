//! Hashes by name.

use super::{crc, jenkins, murmur3, open_vswitch, pearson, toeplitz, wyhash32, xor_fold, xxh3};
use crate::{FiveTuple, PlanError};
use core::fmt;
use core::str::FromStr;
use std::format;
use std::vec::Vec;

/// Factor of 8-bit hashes ([`Hash::factor`]): beyond the length of any table.
pub const FACTOR_8: u32 = 16_777_729;
/// Factor of 16-bit hashes ([`Hash::factor`]). A table of as many entries would have all keys on its first.
pub const FACTOR_16: u32 = 65_519;

/// Packet hash, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hash {
    /// XXH3: [`xxh3::xxh3`].
    #[default]
    Xxh3,
    /// CRC-8: [`crc::crc8`].
    Crc8,
    /// CRC-16: [`crc::crc16`].
    Crc16,
    /// CRC-32: [`crc::crc32`].
    Crc32,
    /// CRC-32C: [`crc::crc32c`].
    Crc32c,
    /// XOR of bytes: [`xor_fold::xor8`].
    Xor8,
    /// XOR of 16-bit words: [`xor_fold::xor16`].
    Xor16,
    /// XOR of 32-bit words: [`xor_fold::xor32`].
    Xor32,
    /// Pearson's hash of 8 bits: [`pearson::pearson8`].
    Pearson8,
    /// Pearson's hash of 32 bits: [`pearson::pearson32`].
    Pearson32,
    /// Jenkins' one-at-a-time: [`jenkins::one_at_a_time`].
    OneAtATime,
    /// Jenkins' lookup3: [`jenkins::lookup3`].
    Lookup3,
    /// Murmur3: [`murmur3::murmur3`].
    Murmur3,
    /// Wyhash32: [`wyhash32::wyhash32`].
    Wyhash32,
    /// Toeplitz: [`toeplitz::toeplitz`] over [`toeplitz::input`].
    Toeplitz,
    /// Basis of Open vSwitch's scoring: [`open_vswitch::selection_basis`].
    OvsSelection,
    /// Algorithm L4 of Open vSwitch's dp_hash: [`open_vswitch::dp_hash_l4`].
    OvsL4,
    /// Algorithm SYM_L4 of Open vSwitch's dp_hash: [`open_vswitch::dp_hash_sym_l4`].
    OvsSymL4,
}

/// Calls `$call!(function, widening)` with the function of a hash that reads any bytes; `$others` are the arms of those
/// that do not, or that read them in a way of their own.
macro_rules! by_bytes {
    ($hash:expr, $call:ident, { $($others:tt)* }) => {
        match $hash {
            Self::Xxh3 => $call!(xxh3::xxh3),
            Self::Crc8 => $call!(crc::crc8, widen8),
            Self::Crc16 => $call!(crc::crc16, widen16),
            Self::Crc32 => $call!(crc::crc32),
            Self::Crc32c => $call!(crc::crc32c),
            Self::Xor8 => $call!(xor_fold::xor8, widen8),
            Self::Xor16 => $call!(xor_fold::xor16, widen16),
            Self::Xor32 => $call!(xor_fold::xor32),
            Self::Pearson8 => $call!(pearson::pearson8, widen8),
            Self::Pearson32 => $call!(pearson::pearson32),
            Self::OneAtATime => $call!(jenkins::one_at_a_time),
            Self::Lookup3 => $call!(jenkins::lookup3),
            Self::Murmur3 => $call!(murmur3::murmur3),
            Self::Wyhash32 => $call!(wyhash32::wyhash32),
            $($others)*
        }
    };
}

impl Hash {
    /// All hashes, in the order in which tables show them.
    pub const ALL: &'static [Self] = &[
        Self::Xxh3,
        Self::Crc8,
        Self::Crc16,
        Self::Crc32,
        Self::Crc32c,
        Self::Xor8,
        Self::Xor16,
        Self::Xor32,
        Self::Pearson8,
        Self::Pearson32,
        Self::OneAtATime,
        Self::Lookup3,
        Self::Murmur3,
        Self::Wyhash32,
        Self::Toeplitz,
        Self::OvsSelection,
        Self::OvsL4,
        Self::OvsSymL4,
    ];

    /// Name of the hash, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Xxh3 => "xxh3",
            Self::Crc8 => "crc8",
            Self::Crc16 => "crc16",
            Self::Crc32 => "crc32",
            Self::Crc32c => "crc32c",
            Self::Xor8 => "xor8",
            Self::Xor16 => "xor16",
            Self::Xor32 => "xor32",
            Self::Pearson8 => "pearson8",
            Self::Pearson32 => "pearson32",
            Self::OneAtATime => "one-at-a-time",
            Self::Lookup3 => "lookup3",
            Self::Murmur3 => "murmur3",
            Self::Wyhash32 => "wyhash32",
            Self::Toeplitz => "toeplitz",
            Self::OvsSelection => "ovs-hash",
            Self::OvsL4 => "ovs-l4",
            Self::OvsSymL4 => "ovs-sym-l4",
        }
    }

    /// Number of bits of the function's result: at most 2^bits flows can be distinguished.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Crc8 | Self::Xor8 | Self::Pearson8 => 8,
            Self::Crc16 | Self::Xor16 => 16,
            Self::Xxh3 => 64,
            _ => 32,
        }
    }

    /// Whether the function is affine over GF(2): then the XOR of two keys depends on the XOR of their inputs alone,
    /// the scores of two paths move together, and techniques that score each path need a non-linear step of their own.
    #[must_use]
    pub fn linear(self) -> bool {
        match self {
            Self::Crc8
            | Self::Crc16
            | Self::Crc32
            | Self::Crc32c
            | Self::Xor8
            | Self::Xor16
            | Self::Xor32
            | Self::Toeplitz => true,
            Self::Xxh3
            | Self::Pearson8
            | Self::Pearson32
            | Self::OneAtATime
            | Self::Lookup3
            | Self::Murmur3
            | Self::Wyhash32
            | Self::OvsSelection
            | Self::OvsL4
            | Self::OvsSymL4 => false,
        }
    }

    /// Factor from a result of the function to its key.
    ///
    /// Picks read the high bits of a key, its low bits, or its remainder by the length of a table, and each must see
    /// all results of a narrow function evenly. Times a factor near 2^32 / 2^bits, results keep their order at equal
    /// distances; times a prime, each has a remainder of its own by every table length up to 2^bits that is no multiple
    /// of it. [`FACTOR_8`] and [`FACTOR_16`] are primes whose multiples also fall evenly on a min-move table.
    #[must_use]
    pub fn factor(self) -> u32 {
        match self.bits() {
            8 => FACTOR_8,
            16 => FACTOR_16,
            _ => 1,
        }
    }

    /// Result of the function, computed back from the key.
    #[must_use]
    pub fn result(self, key: u64) -> u64 {
        key / u64::from(self.factor())
    }

    /// Key of `tuple`: the result, zero-extended, times [`Self::factor`].
    #[must_use]
    pub fn key(self, tuple: &FiveTuple, seed: u32) -> u64 {
        if self == Self::Toeplitz {
            // One tuple does not pay for the table that `keys` builds.
            return toeplitz::toeplitz(&toeplitz::key_of(seed), toeplitz::input(tuple, &mut [0; 37])).into();
        }
        let mut key = [0];
        self.keys(core::slice::from_ref(tuple), seed, &mut key);
        key[0]
    }

    /// Computes the keys of `tuples`, each as [`Self::key`] does.
    ///
    /// # Panics
    /// Panics if `out` is not as long as `tuples`.
    pub fn keys(self, tuples: &[FiveTuple], seed: u32, out: &mut [u64]) {
        assert_eq!(tuples.len(), out.len(), "one key per tuple");
        // A macro, not a closure: each hash is compiled into its own loop, once for each of the two constant lengths.
        macro_rules! each {
            ($tuple:ident => $key:expr) => {
                for (tuple, out) in tuples.iter().zip(out) {
                    *out = if tuple.version == 6 {
                        let $tuple = FiveTuple { version: 6, ..*tuple };
                        u64::from($key)
                    } else {
                        let $tuple = FiveTuple { version: 4, ..*tuple };
                        u64::from($key)
                    };
                }
            };
        }
        macro_rules! packed {
            ($hash:path $(, $widen:path)?) => {
                each!(tuple => $($widen)?($hash(tuple.packed(&mut [0; 37]), seed)))
            };
        }
        by_bytes!(self, packed, {
            Self::Toeplitz => {
                let table = toeplitz::Table::new(&toeplitz::key_of(seed));
                each!(tuple => table.hash(toeplitz::input(&tuple, &mut [0; 37])));
            }
            Self::OvsSelection => each!(tuple => open_vswitch::selection_basis(&tuple, seed.into())),
            Self::OvsL4 => each!(tuple => open_vswitch::dp_hash_l4(&tuple, seed)),
            Self::OvsSymL4 => each!(tuple => open_vswitch::dp_hash_sym_l4(&tuple, seed)),
        });
    }

    /// Key of `bytes`, header fields of anyone's choice; `None` for Open vSwitch's functions, which read whole tuples. Of
    /// Toeplitz the first [`toeplitz::INPUT_MAX`] bytes count. It equals [`Self::key`] for the bytes that
    /// [`FiveTuple::packed`] gives or, for Toeplitz, [`toeplitz::input`].
    #[must_use]
    pub fn key_of_bytes(self, bytes: &[u8], seed: u32) -> Option<u64> {
        macro_rules! of_bytes {
            ($hash:path $(, $widen:path)?) => { u64::from($($widen)?($hash(bytes, seed))) };
        }
        Some(by_bytes!(self, of_bytes, {
            Self::Toeplitz => toeplitz::toeplitz(&toeplitz::key_of(seed), bytes).into(),
            Self::OvsSelection | Self::OvsL4 | Self::OvsSymL4 => return None,
        }))
    }
}

fn widen8(result: u8) -> u32 {
    u32::from(result) * FACTOR_8
}

fn widen16(result: u16) -> u32 {
    u32::from(result) * FACTOR_16
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Hash {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        Self::ALL.iter().find(|hash| hash.name() == name).copied().ok_or_else(|| {
            let names = Self::ALL.iter().map(|hash| hash.name()).collect::<Vec<_>>();
            PlanError::new(format!("hash: `{name}` is unknown"), format!("use one of {}", names.join(", ")))
        })
    }
}
