//! Logarithmic rendezvous: the least `-log2(U_i) / w_i` wins, which makes every share exactly `w_i / W` and moves
//! exactly the minimum when one weight changes (Thaler & Ravishankar 1998 with the weights of Ceph's straw2).
//!
//! Integers only. The logarithm is a table of 2^11 cells with linear interpolation: within 5e-8 of the true value, and
//! within 1.3e-4 *relative* towards `U = 1`, where a path of one millionth of the weight is decided.

use super::{List, Packet, Pick, mix};
use crate::Env;
use core::hint::select_unpredictable;
use core::marker::PhantomData;

/// Number of binary digits of a fraction in the table and in [`neg_log2`].
const FRACTION_BITS: u32 = 31;
const CELL_BITS: u32 = 11;
const CELLS: usize = 1 << CELL_BITS;
/// Number of digits of the normalised hash below its leading one and its cell.
const REST_BITS: u32 = 31 - CELL_BITS;

/// Bytes of the table of logarithms, which all groups share.
pub const TABLE_BYTES: usize = size_of::<[u32; CELLS + 1]>();

/// Table of `log2(1 + i / 2048)` in units of 2^-31, rounded; the last entry is one.
static LOG2: [u32; CELLS + 1] = log2_table();

const fn log2_table() -> [u32; CELLS + 1] {
    let mut table = [0; CELLS + 1];
    let mut i = 0;
    while i <= CELLS {
        table[i] = log2_fraction(CELLS as u64 + i as u64);
        i += 1;
    }
    table
}

/// Computes `log2(numerator / 2^11)` for a quotient in [1, 2], digit by digit: squaring doubles the logarithm, so each
/// square's integer part is the next digit.
const fn log2_fraction(numerator: u64) -> u32 {
    if numerator == 2 * CELLS as u64 {
        return 1 << FRACTION_BITS;
    }
    const ONE: u128 = 1 << 63;
    let mut x = (numerator as u128) << (63 - CELL_BITS);
    let mut digits = 0u32;
    let mut i = 0;
    // One digit more than kept, to round.
    while i <= FRACTION_BITS {
        x = (x * x) >> 63;
        digits <<= 1;
        if x >= 2 * ONE {
            x >>= 1;
            digits |= 1;
        }
        i += 1;
    }
    (digits >> 1) + (digits & 1)
}

/// Computes `-log2((hash + 1/2) / 2^32)` in units of 2^-31, at most 33 * 2^31.
#[inline(always)]
#[must_use]
pub fn neg_log2(hash: u32) -> u64 {
    let odd = (u64::from(hash) << 1) | 1;
    let zeros = odd.leading_zeros() - 31;
    // Leading one at bit 32; the bits below it are the fraction of the mantissa.
    let mantissa = odd << zeros;
    let cell = (mantissa >> (REST_BITS + 1)) as usize & (CELLS - 1);
    let rest = mantissa & ((1 << (REST_BITS + 1)) - 1);
    let low = u64::from(LOG2[cell]);
    let high = u64::from(LOG2[cell + 1]);
    let log = low + (((high - low) * rest + (1 << REST_BITS)) >> (REST_BITS + 1));
    ((u64::from(zeros) + 1) << FRACTION_BITS) - log
}

/// Living member.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Entry {
    /// Salt of the member in the second hash.
    pub salt: u32,
    /// Mantissa of `1 / w`, 2^26 to 2^27 - 1.
    pub reciprocal: u32,
    /// Number of binary orders that `1 / w` lies below the lightest member's.
    pub shift: u32,
    /// Single-precision `1 / w`, relative to the lightest member's: for the filter of [`super::lanes`].
    pub approximate: f32,
    /// Number of the member in the group.
    pub member: u16,
}

/// Score of one member: the time of its first arrival in a race of Poisson processes with rates `w_i`.
#[inline(always)]
#[must_use]
pub fn score(hash: u32, entry: &Entry) -> u64 {
    (neg_log2(mix::value(hash, entry.salt)) * u64::from(entry.reciprocal)) >> (entry.shift & 63)
}

/// Pick by logarithmic rendezvous over a list `L`; the first of equal scores wins.
pub struct Rendezvous<L: ?Sized = [Entry]>(PhantomData<L>);

impl<L: List<Entry> + ?Sized> Pick for Rendezvous<L> {
    const NAME: &'static str = "rendezvous";
    const NEEDS: u32 = 0;
    /// Living members only.
    type Plan = L;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &L, _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        let mut best = u64::MAX;
        let mut winner = 0;
        plan.each(|entry| {
            let score = score(packet.hash(), entry);
            if cfg!(target_arch = "bpf") {
                // That machine has nothing but branches: one, not two.
                if score < best {
                    best = score;
                    winner = entry.member;
                }
            } else {
                // No branch: which member leads is a coin toss that no predictor learns.
                winner = select_unpredictable(score < best, entry.member, winner);
                best = best.min(score);
            }
        });
        winner
    }
}
