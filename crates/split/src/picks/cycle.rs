//! Cycle: every packet takes the next entry of a sequence (packet-level WRR; DBB's shared counters).

use super::{List, Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Pick of the next entry of a list `L` for each packet of any flow.
pub struct Cycle<L: ?Sized = [u16]>(PhantomData<L>);

impl<L: List<u16> + ?Sized> Pick for Cycle<L> {
    const NAME: &'static str = "cycle";
    const NEEDS: u32 = 0;
    /// Member of each turn.
    type Plan = L;
    /// Position of the next turn.
    type State = u32;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &L, state: &mut u32, _packet: &mut Packet, _env: &mut E) -> u16 {
        // A plan that became shorter starts over.
        let turn = if (*state as usize) < plan.len() { *state } else { 0 };
        *state = turn + 1;
        plan.get(turn as usize).copied().unwrap_or(0)
    }
}
