//! Second hash of score-based picks: one value per (flow, member).
//!
//! It must not be linear over GF(2). CRC, Toeplitz and XOR of (flow, member) pass a chi-square test one member at a
//! time, yet their values for different members differ by a constant, and scoring over them is 52 to 109 % off.

/// Odd constant that spreads small numbers over 32 bits (2^32 divided by the golden ratio).
const SPREAD: u32 = 0x9e37_79b9;

/// Finaliser of Murmur3-32: every input bit affects every output bit.
#[inline(always)]
#[must_use]
pub fn finalise(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// Murmur3-32's scrambling of one word before it enters the hash.
#[inline(always)]
#[must_use]
pub fn scramble(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

/// Murmur3-32's step: adds one word to the hash.
#[inline(always)]
#[must_use]
pub fn absorb(hash: u32, word: u32) -> u32 {
    (hash ^ scramble(word)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// Part of the hash that depends on the member alone, computed once per plan.
#[inline(always)]
#[must_use]
pub fn salt(member: u16) -> u32 {
    u32::from(member).wrapping_mul(SPREAD)
}

/// Uniform 32-bit value for a flow's `hash` and a member's [`salt`].
#[inline(always)]
#[must_use]
pub fn value(hash: u32, salt: u32) -> u32 {
    finalise(hash ^ salt)
}

/// The next state of a stream of random numbers, and the number of that state: a Weyl sequence, finalised (Steele, Lea and
/// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Each number comes once in 2^32; streams that
/// begin at other states are parts of the same circle.
#[inline(always)]
#[must_use]
pub fn draw(state: u32) -> (u32, u32) {
    let next = state.wrapping_add(SPREAD);
    (next, finalise(next))
}

/// Open vSwitch's `hash_int(bucket_id, basis)` in builds without the CRC instruction (Debian's): two steps of
/// Murmur3 over the words `bucket_id` and `basis`.
pub mod open_vswitch {
    use super::{absorb, finalise};

    /// Part of the hash that depends on the bucket alone.
    #[inline(always)]
    #[must_use]
    pub fn salt(bucket_id: u32) -> u32 {
        absorb(bucket_id, 0)
    }

    /// `hash_int(bucket_id, basis)` from the bucket's [`salt`] and the basis.
    #[inline(always)]
    #[must_use]
    pub fn value(basis: u32, salt: u32) -> u32 {
        finalise(absorb(salt, basis) ^ 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: u32 = 12;
    const DRAWS: u32 = 1 << 22;

    /// Standard deviations that the counts of draws are from what chance gives equal cells.
    fn deviation(cells: usize, drawn: impl Iterator<Item = usize>) -> f64 {
        let mut counts = std::vec![0u32; cells];
        drawn.for_each(|cell| counts[cell] += 1);
        let (expected, freedom) = (f64::from(DRAWS) / cells as f64, cells as f64 - 1.0);
        let squares = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected);
        (squares.sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
    }

    fn stream(mut state: u32) -> impl Iterator<Item = u32> {
        std::iter::repeat_with(move || {
            let number;
            (state, number) = draw(state);
            number
        })
    }

    /// By one number, by two that follow each other, and by those of two streams whose states are neighbours.
    #[test]
    fn slots_are_drawn_alike_and_independently() {
        let slot = |number: u32| (number & ((1 << BITS) - 1)) as usize;
        let half = |number: u32| slot(number) >> (BITS / 2);
        for state in [0, 1, 7, 0x8000_0000, u32::MAX] {
            let drawn = || stream(state).take(DRAWS as usize);
            let alone = deviation(1 << BITS, drawn().map(slot));
            let pairs =
                drawn().zip(stream(state).skip(1)).map(|(one, next)| half(one) << (BITS / 2) | half(next));
            let following = deviation(1 << BITS, pairs);
            let beside = drawn()
                .zip(stream(state.wrapping_add(1)))
                .map(|(one, other)| half(one) << (BITS / 2) | half(other));
            let neighbours = deviation(1 << BITS, beside);
            for (what, sigmas) in [("alone", alone), ("following", following), ("neighbours", neighbours)] {
                assert!(sigmas.abs() < 6.0, "{what} from {state}: {sigmas}");
            }
        }
    }
}
