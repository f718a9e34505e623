//! Quota: the next unit goes to the member that is due first by the quota method, for weights of any size.
//!
//! It is the rule of [`super::deficit`] over all units so far, without departures and without a stored sequence: every
//! prefix is within one of every quota (Balinski and Young, 1975).

use super::deficit::first_due;
use super::{Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Number of units after which counting restarts from zero: each count is then within one of its quota, and no product
/// overflows.
const ROUND: u64 = 1 << 20;

/// Pick with exact shares of the units; periods in `P`, counts in `C`.
pub struct Quota<P, C>(PhantomData<(P, C)>);

/// Units that each member was given in this round.
#[derive(Clone, Debug, Default)]
pub struct State<C> {
    /// Number of units, one count per member.
    pub placed: C,
    /// Sum of the counts.
    pub total: u64,
}

impl<P: AsRef<[u64]>, C: AsMut<[u32]>> Pick for Quota<P, C> {
    const NAME: &'static str = "quota";
    const NEEDS: u32 = 0;
    /// Number of units between two turns of each member: [`super::deficit::Plan::periods`].
    type Plan = P;
    type State = State<C>;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(periods: &P, state: &mut State<C>, _packet: &mut Packet, _env: &mut E) -> u16 {
        let placed = state.placed.as_mut();
        if state.total == ROUND {
            placed.fill(0);
            state.total = 0;
        }
        let member = first_due(periods.as_ref(), placed, state.total);
        if let Some(count) = placed.get_mut(usize::from(member)) {
            *count += 1;
        }
        state.total += 1;
        member
    }
}
