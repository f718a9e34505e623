//! One entry of a list, all equally likely: ECMP without weights.

use super::{List, Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Pick of an entry of a list `L`, all equally likely.
pub struct Uniform<L: ?Sized = [u16]>(PhantomData<L>);

/// Position of the entry of `hash` in a list of `len`: the high half of the product, even for any length.
#[inline(always)]
#[must_use]
pub fn index(hash: u32, len: usize) -> usize {
    ((u64::from(hash) * len as u64) >> 32) as usize
}

impl<L: List<u16> + ?Sized> Pick for Uniform<L> {
    const NAME: &'static str = "uniform";
    const NEEDS: u32 = 0;
    /// Living members.
    type Plan = L;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &L, _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        plan.get(index(packet.hash(), plan.len())).copied().unwrap_or(0)
    }
}
