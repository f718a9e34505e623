//! Open vSwitch's own hashes (lib/hash.h and lib/flow.c of 3.1), in builds without a CRC-32C instruction, such as
//! Debian's: Murmur3's word step, with another last step.
//!
//! Words are read as on a little-endian machine. Pinned to a running switch by `vectors/ovs`.

use crate::picks::mix;
use crate::{FiveTuple, protocol};

/// Adds one 32-bit word to the hash.
#[inline(always)]
#[must_use]
pub fn hash_add(hash: u32, word: u32) -> u32 {
    mix::absorb(hash, word)
}

/// Ends a hash; `last` is the input's length in bytes, or the value that the caller uses instead.
#[inline(always)]
#[must_use]
pub fn hash_finish(hash: u32, last: u32) -> u32 {
    mix::finalise(hash ^ last)
}

/// Hash of `bytes`, starting from `basis`; unlike in Murmur3, the padded last word is mixed like the others.
#[inline(always)]
#[must_use]
pub fn hash_bytes(bytes: &[u8], basis: u32) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(basis, |hash, word| hash_add(hash, u32::from_le_bytes(*word)));
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        hash = hash_add(hash, u32::from_le_bytes(last));
    }
    hash_finish(hash, bytes.len() as u32)
}

/// Hash of an integer; the scorer of select groups hashes bucket ids with it.
#[inline(always)]
#[must_use]
pub fn hash_int(x: u32, basis: u32) -> u32 {
    mix::open_vswitch::value(basis, mix::open_vswitch::salt(x))
}

/// Hash of a 64-bit integer.
#[inline(always)]
#[must_use]
pub fn hash_uint64(x: u64) -> u32 {
    hash_finish(hash_add(hash_add(0, x as u32), (x >> 32) as u32), 8)
}

/// Basis from which `selection_method=hash` scores buckets when its `fields` are the whole 5-tuple: each field chained
/// in the order of `enum mf_field_id` (addresses, protocol, ports); a packet without ports skips them. `parameter` is
/// `selection_method_param`.
#[inline(always)]
#[must_use]
pub fn selection_basis(tuple: &FiveTuple, parameter: u64) -> u32 {
    let mut basis = selection_basis_of_later_fragment(tuple, parameter);
    if has_ports(tuple) {
        basis = hash_bytes(&tuple.source_port, basis);
        basis = hash_bytes(&tuple.destination_port, basis);
    }
    basis
}

/// As [`selection_basis`], of a later fragment: whatever its protocol, it has no ports.
#[inline(always)]
#[must_use]
pub fn selection_basis_of_later_fragment(tuple: &FiveTuple, parameter: u64) -> u32 {
    let n = tuple.address_len();
    let mut basis = hash_uint64(parameter);
    basis = hash_bytes(&tuple.source[..n], basis);
    basis = hash_bytes(&tuple.destination[..n], basis);
    hash_bytes(&[tuple.protocol], basis)
}

/// Packet hash that the userspace datapath uses for a packet's RSS hash if the port supplies none (`flow_hash_5tuple`).
/// It takes ICMP's type and code instead of ports; here they are the tuple's ports.
#[inline(always)]
#[must_use]
pub fn flow_hash_5tuple(tuple: &FiveTuple, basis: u32) -> u32 {
    let n = tuple.address_len();
    let mut hash = add_words(basis, &tuple.source[..n]);
    hash = add_words(hash, &tuple.destination[..n]);
    hash = hash_add(hash, u32::from(tuple.protocol));
    if has_ports(tuple) || matches!(tuple.protocol, protocol::ICMP | protocol::ICMPV6) {
        let [[a, b], [c, d]] = [tuple.source_port, tuple.destination_port];
        hash = hash_add(hash, u32::from_le_bytes([a, b, c, d]));
    }
    // The constant that lib/flow.c passes for the length.
    hash_finish(hash, 42)
}

/// Algorithm L4 of `dp_hash` in the userspace datapath: `selection_method=dp_hash`, whose parameter's low half is
/// `basis`.
#[inline(always)]
#[must_use]
pub fn dp_hash_l4(tuple: &FiveTuple, basis: u32) -> u32 {
    hash_int(flow_hash_5tuple(tuple, 0), basis)
}

/// Algorithm SYM_L4 of `dp_hash` (`flow_hash_symmetric_l3l4`), the default of select groups, with basis 0 there: both
/// directions of a connection hash alike, and UDP ports are left out.
#[inline(always)]
#[must_use]
pub fn dp_hash_sym_l4(tuple: &FiveTuple, basis: u32) -> u32 {
    let n = tuple.address_len();
    let addresses: [u8; 16] = core::array::from_fn(|i| tuple.source[i] ^ tuple.destination[i]);
    let mut hash = add_words(basis, &addresses[..n]);
    hash = hash_add(hash, u32::from(tuple.protocol));
    if matches!(tuple.protocol, protocol::TCP | protocol::SCTP) {
        let ports = u16::from_le_bytes(tuple.source_port) ^ u16::from_le_bytes(tuple.destination_port);
        hash = hash_add(hash, u32::from(ports));
    }
    hash_finish(hash, basis)
}

#[inline(always)]
fn add_words(hash: u32, bytes: &[u8]) -> u32 {
    bytes.as_chunks::<4>().0.iter().fold(hash, |hash, word| hash_add(hash, u32::from_le_bytes(*word)))
}

#[inline(always)]
fn has_ports(tuple: &FiveTuple) -> bool {
    matches!(tuple.protocol, protocol::TCP | protocol::UDP | protocol::SCTP)
}
