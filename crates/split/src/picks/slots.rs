//! Table of 2^k slots, indexed by the low bits of the hash: one load per packet.

use super::{Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Pick from a table of `N` slots, a power of two, each naming a member in a `P` (`u8` or `u16`).
pub struct Slots<P, const N: usize>(PhantomData<P>);

impl<P: Copy + Into<u16>, const N: usize> Pick for Slots<P, N> {
    const NAME: &'static str = "slots";
    const NEEDS: u32 = 0;
    /// Member of each slot.
    type Plan = [P; N];
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &[P; N], _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        const { assert!(N.is_power_of_two(), "the index is a mask") }
        plan[packet.hash() as usize & (N - 1)].into()
    }
}
