//! The list of hashes: names, seeds, widths, linearity, batches.

use anabranch_split::hash::{Hash, crc};
use anabranch_split::{FiveTuple, protocol};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn any_tuple() -> impl Strategy<Value = FiveTuple> {
    let protocols = prop::sample::select(vec![protocol::TCP, protocol::UDP, protocol::SCTP, protocol::ICMP]);
    (any::<[u8; 16]>(), any::<[u8; 16]>(), protocols, any::<[u16; 2]>(), any::<bool>()).prop_map(
        |(s, d, protocol, [from, to], wide)| {
            if wide {
                FiveTuple::v6(s, d, protocol, from, to)
            } else {
                let four = |a: [u8; 16]| [a[0], a[1], a[2], a[3]];
                FiveTuple::v4(four(s), four(d), protocol, from, to)
            }
        },
    )
}

proptest! {
    #[test]
    fn batches_give_the_single_key(tuples in prop::collection::vec(any_tuple(), 0..40), seed: u32) {
        for &hash in Hash::ALL {
            let mut keys = vec![0; tuples.len()];
            hash.keys(&tuples, seed, &mut keys);
            let single: Vec<u64> = tuples.iter().map(|tuple| hash.key(tuple, seed)).collect();
            prop_assert_eq!(&keys, &single, "{}", hash);
        }
    }

    /// Checks that a hash is affine: any three flows of one shape and their XOR have results that XOR to zero.
    #[test]
    fn linear_hashes_are_affine(bytes in any::<[[u8; 12]; 3]>(), seed: u32) {
        let fourth: [u8; 12] = core::array::from_fn(|i| bytes[0][i] ^ bytes[1][i] ^ bytes[2][i]);
        for hash in Hash::ALL.iter().filter(|hash| hash.linear()) {
            let sum = bytes.iter().chain([&fourth]).fold(0, |sum, b| {
                sum ^ hash.result(hash.key(&of_bytes(b), seed))
            });
            prop_assert_eq!(sum, 0, "{}", hash);
        }
    }
}

fn of_bytes(b: &[u8; 12]) -> FiveTuple {
    FiveTuple::v4(
        [b[0], b[1], b[2], b[3]],
        [b[4], b[5], b[6], b[7]],
        protocol::TCP,
        u16::from_be_bytes([b[8], b[9]]),
        u16::from_be_bytes([b[10], b[11]]),
    )
}

/// Flows, 4096 of them, that differ in all fields but protocol.
fn flows() -> Vec<FiveTuple> {
    (0..4096_u32)
        .map(|i| {
            let word = i.wrapping_mul(0x9e37_79b9).to_be_bytes();
            FiveTuple::v4(word, [10, 0, word[2], word[0]], protocol::TCP, i as u16 ^ 0xa5a5, i as u16 * 3)
        })
        .collect()
}

#[test]
fn the_others_are_not_affine() {
    for hash in Hash::ALL.iter().filter(|hash| !hash.linear()) {
        let broken = (0..100_u8).any(|i| {
            let bytes = |a: u8, b: u8| core::array::from_fn(|j| [a, b, i, 7][j % 4]);
            [(0, 0), (1, 0), (0, 1), (1, 1)]
                .iter()
                .fold(0, |sum, &(a, b)| sum ^ hash.result(hash.key(&of_bytes(&bytes(a, b)), 0)))
                != 0
        });
        assert!(broken, "{hash}");
    }
}

#[test]
fn widths_bound_the_keys() {
    for hash in Hash::ALL {
        let keys: Vec<u64> = flows().iter().map(|flow| hash.key(flow, 0)).collect();
        let distinct = keys.iter().collect::<BTreeSet<_>>().len() as f64;
        // 4096 balls into 2^bits bins: the mean of the occupied, and a tenth for chance and for XOR.
        let bins = 2_f64.powi(hash.bits() as i32);
        let expected = bins * -(-4096.0 / bins).exp_m1();
        assert!(distinct <= bins && distinct > 0.9 * expected, "{hash}: {distinct} of {expected}");
        let wide = keys.iter().any(|&key| key >> 32 != 0);
        assert_eq!(wide, hash.bits() == 64, "{hash}");
        // Picks read the high bits or the low bits of the 32: both must vary.
        for shift in [0, 24] {
            let values = keys.iter().map(|key| key >> shift & 0xff).collect::<BTreeSet<_>>().len();
            assert!(values > 200, "{hash}: {values} values of the byte at bit {shift}");
        }
    }
}

#[test]
fn every_byte_of_a_seed_counts() {
    let flow = flows()[1];
    for hash in Hash::ALL {
        for byte in 0..4 {
            let changed =
                (1..=255_u32).any(|value| hash.key(&flow, value << (8 * byte)) != hash.key(&flow, 0));
            assert!(changed, "{hash}: byte {byte}");
        }
    }
}

#[test]
fn names_lead_back() {
    for &hash in Hash::ALL {
        assert_eq!(hash.name().parse(), Ok(hash));
    }
    let error = "md5".parse::<Hash>().unwrap_err().to_string();
    assert!(error.contains("`md5`") && Hash::ALL.iter().all(|hash| error.contains(hash.name())), "{error}");
}

#[test]
#[should_panic(expected = "one key per tuple")]
fn a_short_output_is_refused() {
    Hash::Crc32.keys(&flows(), 0, &mut [0; 3]);
}

#[test]
fn keys_are_of_the_packed_tuple() {
    let v4 = FiveTuple::v4([192, 0, 2, 1], [198, 51, 100, 2], protocol::UDP, 0x1234, 0xabcd);
    let bytes = [192, 0, 2, 1, 198, 51, 100, 2, 0x12, 0x34, 0xab, 0xcd, 17];
    assert_eq!(Hash::Crc32.key(&v4, 0), crc::crc32(&bytes, 0).into());

    let source = core::array::from_fn(|i| i as u8);
    let destination = core::array::from_fn(|i| 16 + i as u8);
    let v6 = FiveTuple::v6(source, destination, 36, 0x2021, 0x2223);
    let bytes: [u8; 37] = core::array::from_fn(|i| i as u8);
    assert_eq!(Hash::Crc32.key(&v6, 0), crc::crc32(&bytes, 0).into());
}
