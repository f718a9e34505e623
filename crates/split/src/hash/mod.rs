//! Packet hashes: from a 5-tuple to the key that schemes pick by. One file per function, bit-exact.
//!
//! Every function takes a seed, in the way that its documentation states; seed 0 is the published function. A seed of a
//! CRC or an XOR fold only XORs a constant into the key, so two stages that differ by seed alone still pick in step.
//! wyhash32 exists without the feature `plan` too: programs in the kernel make their keys with it.

#[cfg(feature = "plan")]
pub mod crc;
#[cfg(feature = "plan")]
pub mod jenkins;
#[cfg(feature = "plan")]
pub mod murmur3;
#[cfg(feature = "plan")]
mod named;
#[cfg(feature = "plan")]
pub mod open_vswitch;
#[cfg(feature = "plan")]
pub mod pearson;
#[cfg(feature = "plan")]
pub mod toeplitz;
pub mod wyhash32;
#[cfg(feature = "plan")]
pub mod xor_fold;
#[cfg(feature = "plan")]
pub mod xxh3;

#[cfg(feature = "plan")]
pub use named::{FACTOR_8, FACTOR_16, Hash};
