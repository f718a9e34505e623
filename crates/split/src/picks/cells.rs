//! Rejection cells: a flow probes equal cells at random until one accepts.
//!
//! A member owns cells in proportion to its weight: whole ones, which always accept, and at most one that accepts a
//! fraction of its probes; cells without an owner accept nothing. A flow probes one fixed random sequence of (cell,
//! level) and takes the owner of the first that accepts, so each member gets its accepting area over the total, and a
//! change of one member's area moves only flows into it or out of it. The cost of a flow is bounded: after
//! [`PROBES_MAX`] refusals the last cell's member takes it, which happens to one flow in 10^8 for an accepting area of
//! a quarter.

use super::{Packet, Pick};
use crate::Env;

/// Level of a cell that accepts every probe, except one in 2^47. Its low bits leave room for the owner.
pub const LEVEL_FULL: u64 = (1 << LEVEL_BITS) - 1;
const LEVEL_BITS: u32 = 47;
/// Largest number of probes of one flow.
pub const PROBES_MAX: usize = 64;
/// Number of probes that are always made: a branch per probe costs more than the probe, because it cannot be predicted.
const PROBES_AT_ONCE: usize = 4;

/// One cell: the accepting level in the upper 47 bits, the owner in the lower 16, so that one comparison with a random
/// word reads the level and leaves the owner in the register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell(u64);

impl Cell {
    /// Makes a cell that accepts `level` of [`LEVEL_FULL`] probes for `member`.
    #[must_use]
    pub const fn new(member: u16, level: u64) -> Self {
        Self(level << (64 - LEVEL_BITS) | member as u64)
    }

    #[inline(always)]
    const fn accepts(self, level: u64) -> bool {
        level < self.0
    }

    #[inline(always)]
    const fn member(self) -> u16 {
        self.0 as u16
    }
}

/// Pick from `N` cells, a power of two from 2 to 2^16.
pub struct Cells<const N: usize>;

/// Start of the random words of a flow's probes: the hash, mixed once as in SplitMix64 (Steele, Lea, Flood 2014).
#[inline(always)]
const fn start(hash: u32) -> u64 {
    let x = (hash as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Next word after `word`, from a linear congruential generator (multiplier of Steele and Vigna, "Computationally easy,
/// spectrally good multipliers for congruential pseudorandom number generators", 2022). Its upper bits are random.
#[inline(always)]
const fn next(word: u64) -> u64 {
    word.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1)
}

/// Cell (of 2^`bits`) that a word probes, and the level, in the upper bits.
#[inline(always)]
const fn probe(word: u64, bits: u32) -> (usize, u64) {
    ((word >> (64 - bits)) as usize, word << bits)
}

impl<const N: usize> Pick for Cells<N> {
    const NAME: &'static str = "cells";
    const NEEDS: u32 = 0;
    type Plan = [Cell; N];
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &[Cell; N], _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        const { assert!(N.is_power_of_two() && N > 1 && N <= 1 << 16, "cell and level share 64 bits") }
        let mut word = start(packet.hash());
        let mut seen = [(Cell::default(), 0); PROBES_AT_ONCE];
        for (cell, level) in &mut seen {
            let (index, random) = probe(word, N.trailing_zeros());
            (*cell, *level) = (plan[index & (N - 1)], random);
            word = next(word);
        }
        let mut found = REFUSED;
        for (cell, level) in seen.into_iter().rev() {
            found = if cell.accepts(level) { cell.0 } else { found };
        }
        if found == REFUSED { search(plan, word) } else { found as u16 }
    }
}

/// Value that means no cell: the result of the first probes if none accepts. A value, not a flag, keeps them free of
/// branches.
const REFUSED: u64 = u64::MAX;

/// Makes the remaining probes, from `word` on.
#[cold]
fn search<const N: usize>(plan: &[Cell; N], mut word: u64) -> u16 {
    let mut cell = Cell::default();
    for _ in PROBES_AT_ONCE..PROBES_MAX {
        let (index, level) = probe(word, N.trailing_zeros());
        cell = plan[index & (N - 1)];
        if cell.accepts(level) {
            break;
        }
        word = next(word);
    }
    cell.member()
}

/// Probes of one flow over `cells`, a power of two, up to the one that ends it: the cell, and whether it accepts.
pub fn probes(hash: u32, cells: &[Cell]) -> impl Iterator<Item = (usize, bool)> {
    let mut word = start(hash);
    let mut refused = true;
    (0..PROBES_MAX).map_while(move |_| {
        let (index, level) = probe(word, cells.len().trailing_zeros());
        word = next(word);
        let accepts = cells.get(index)?.accepts(level);
        core::mem::replace(&mut refused, !accepts).then_some((index, accepts))
    })
}
