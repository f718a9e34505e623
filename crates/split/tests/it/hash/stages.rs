//! Properties that switches need of a hash: every bit of a flow and of the seed counts, and stages of different seeds
//! decide independently. The flows are few addresses and ports in a row, as a datacenter has them; the same every time.

use anabranch_split::hash::Hash;
use anabranch_split::{FiveTuple, protocol};

/// Hashes that mix, among them the kernel programs' own; CRCs and XOR folds do not.
const MIXING: [Hash; 4] = [Hash::Xxh3, Hash::Lookup3, Hash::Murmur3, Hash::Wyhash32];
const SEED: u32 = 5;
/// Number of bits of an IPv4 tuple in which flows differ: addresses and ports.
const BITS: usize = 96;

/// Flow `number`, with bit `flipped` inverted if it is given.
fn flow(number: u32, flipped: Option<usize>) -> FiveTuple {
    let [_, _, a, b] = (number >> 10).to_be_bytes();
    let [high, low] = (32_768 + (number & 1023) as u16).to_be_bytes();
    let mut bytes = [10, 0, a, b, 10, 0, b, 1, high, low, 0, 80];
    if let Some(bit) = flipped {
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    let [s0, s1, s2, s3, d0, d1, d2, d3, from0, from1, to0, to1] = bytes;
    let ports = [[from0, from1], [to0, to1]].map(u16::from_be_bytes);
    FiveTuple::v4([s0, s1, s2, s3], [d0, d1, d2, d3], protocol::TCP, ports[0], ports[1])
}

/// Distance of the bit of a key that flips least evenly from flipping half of the time: 0 to 1.
fn bias(flows: u32, flips: impl Fn(u32) -> u64) -> f64 {
    let mut flipped = [0_u32; 32];
    for number in 0..flows {
        let changed = flips(number);
        for (bit, flipped) in flipped.iter_mut().enumerate() {
            *flipped += (changed >> bit & 1) as u32;
        }
    }
    flipped.iter().map(|&n| (f64::from(n) / f64::from(flows) - 0.5).abs() * 2.0).fold(0.0, f64::max)
}

#[test]
fn every_bit_flips_every_bit_of_the_key_half_of_the_time() {
    const FLOWS: u32 = 1 << 13;
    // Six standard deviations of a fair coin.
    let most = 6.0 / f64::from(FLOWS).sqrt();
    for hash in MIXING {
        for bit in 0..BITS {
            let by_flow = bias(FLOWS, |number| {
                hash.key(&flow(number, None), SEED) ^ hash.key(&flow(number, Some(bit)), SEED)
            });
            assert!(by_flow < most, "{hash}: bit {bit} of a flow: bias {by_flow}");
        }
        for bit in 0..32 {
            let by_seed = bias(FLOWS, |number| {
                let flow = flow(number, None);
                hash.key(&flow, SEED) ^ hash.key(&flow, SEED ^ 1 << bit)
            });
            assert!(by_seed < most, "{hash}: bit {bit} of the seed: bias {by_seed}");
        }
    }
}

/// Distance of chi-square from its mean, in standard deviations, for the slots that flows take at two stages in a row.
fn uneven(hash: Hash, seeds: [u32; 2]) -> f64 {
    const FLOWS: u32 = 1 << 18;
    const SLOTS: usize = 64;
    let mut pairs = [0_u32; SLOTS * SLOTS];
    for number in 0..FLOWS {
        let flow = flow(number, None);
        let [first, second] = seeds.map(|seed| hash.key(&flow, seed) as usize % SLOTS);
        pairs[first * SLOTS + second] += 1;
    }
    let expected = f64::from(FLOWS) / pairs.len() as f64;
    let squares: f64 = pairs.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    let freedom = (pairs.len() - 1) as f64;
    (squares - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn stages_of_different_seeds_decide_independently() {
    for hash in MIXING {
        for seeds in [[0, 1], [SEED, SEED ^ 1 << 31], [0x9e37_79b9, 0xffff_ffff]] {
            let uneven = uneven(hash, seeds);
            assert!(uneven < 5.0, "{hash}: seeds {seeds:?}: {uneven} standard deviations");
        }
    }
    // In step: the second stage sees of each slot of the first but one of its own.
    assert!(uneven(Hash::Crc32, [0, 1]) > 1000.0);
}
