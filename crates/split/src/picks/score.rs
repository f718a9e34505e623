//! Scoring: every member draws a value, multiplied by its weight; the highest product wins.
//!
//! With plain weights this is highest-random-weight hashing as Open vSwitch does it, whose shares are *not* the weights
//! (VALO Eq. 6). With gravities for weights the shares are exact (VALO Eq. 16).

use super::{List, Packet, Pick, mix};
use crate::Env;
use core::hint::select_unpredictable;
use core::marker::PhantomData;

/// Number of bits of a weight: a product of a 32-bit value and a 31-bit weight compares as a signed 64-bit integer,
/// which is the comparison that AVX2 has.
pub const WEIGHT_BITS: u32 = 31;

/// Living member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Entry {
    /// Salt of the member in the second hash.
    pub salt: u32,
    /// Weight of the member, 1 to 2^31 - 1.
    pub weight: u32,
    /// Number of the member in the group.
    pub member: u16,
}

/// Score of one member, zero or more.
#[inline(always)]
#[must_use]
pub fn score(hash: u32, entry: &Entry) -> i64 {
    i64::from(mix::value(hash, entry.salt)) * i64::from(entry.weight)
}

/// Pick by scores of 32-bit values and 31-bit weights over a list `L`; the first of equal scores wins.
pub struct Score<L: ?Sized = [Entry]>(PhantomData<L>);

impl<L: List<Entry> + ?Sized> Pick for Score<L> {
    const NAME: &'static str = "score";
    const NEEDS: u32 = 0;
    /// Living members only.
    type Plan = L;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &L, _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        let mut best = -1;
        let mut winner = 0;
        plan.each(|entry| {
            let score = score(packet.hash(), entry);
            if cfg!(target_arch = "bpf") {
                // That machine has nothing but branches: one, not two.
                if score > best {
                    best = score;
                    winner = entry.member;
                }
            } else {
                // No branch: which member leads is a coin toss that no predictor learns.
                winner = select_unpredictable(score > best, entry.member, winner);
                best = best.max(score);
            }
        });
        winner
    }
}
