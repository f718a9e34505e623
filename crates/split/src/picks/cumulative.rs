//! Inversion of the cumulative distribution: each member owns one interval of the 32-bit hashes.

use super::{Packet, Pick};
use crate::Env;

/// Largest number of bounds for which counting all of them is faster than a search.
const COUNTED_MAX: usize = 16;

/// Ends of the members' intervals, in order of the members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds<const N: usize> {
    /// First member with an interval; those before it have none.
    pub first: u16,
    /// Greatest hash of each member from `first` on. A member without hashes repeats the bound before it; entries from
    /// the last member on are `u32::MAX`.
    pub last: [u32; N],
}

/// Pick from cumulative bounds of up to `N` members, a power of two: up to 16 bounds are all counted, more are halved
/// log2 N times.
pub struct Cumulative<const N: usize>;

impl<const N: usize> Pick for Cumulative<N> {
    const NAME: &'static str = "cumulative";
    const NEEDS: u32 = 0;
    type Plan = Bounds<N>;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &Bounds<N>, _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        const { assert!(N.is_power_of_two() && N <= 1 << 15, "the search halves, and members are u16") }
        let hash = packet.hash();
        let mut below = 0;
        if N <= COUNTED_MAX {
            for &last in &plan.last {
                below += u32::from(last < hash);
            }
        } else {
            // The last bound is u32::MAX, which no hash exceeds: the answer is below N and needs log2 N bits.
            let mut half = N / 2;
            while half > 0 {
                let probe = (below as usize + half - 1) & (N - 1);
                below += if plan.last[probe] < hash { half as u32 } else { 0 };
                half /= 2;
            }
        }
        plan.first.wrapping_add(below as u16)
    }
}
