//! One entry of a list, each as likely: ECMP without weights.

use super::{Packet, Scheme};
use crate::Env;

/// Equal choice among the entries of a list.
pub struct Uniform;

/// The entry of `hash` in a list of `len`: the high half of the product, even for any length.
#[inline(always)]
#[must_use]
pub fn index(hash: u32, len: usize) -> usize {
    ((u64::from(hash) * len as u64) >> 32) as usize
}

impl Scheme for Uniform {
    const NAME: &'static str = "uniform";
    const NEEDS: u32 = 0;
    /// Living members.
    type Plan = [u16];
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &[u16], _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        plan.get(index(packet.hash(), plan.len())).copied().unwrap_or(0)
    }
}
