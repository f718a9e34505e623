//! Second hash of the flow before another scheme picks, so that two decisions on one key are independent.

use super::mix::finalise;
use super::{Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Pick of `S` over the finalised hash.
pub struct Rehash<S>(PhantomData<S>);

impl<S: Pick> Pick for Rehash<S> {
    const NAME: &'static str = "rehash";
    const NEEDS: u32 = S::NEEDS;
    type Plan = S::Plan;
    type State = S::State;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &S::Plan, state: &mut S::State, packet: &mut Packet, env: &mut E) -> u16 {
        let flow = u64::from(finalise(packet.hash()));
        S::pick(plan, state, &mut Packet { flow, ..*packet }, env)
    }
}
