//! Hash and exceptions: a hash decides, except for a few flows that are moved to keep every path near its quota.
//!
//! The deviation is the binomial one of an ideal hash. Over 40 thousand flows on 4 paths, a bound of a quarter of it
//! leaves 0.2 of the hash's error and stores 0.8 % of the flows if the number of flows is known beforehand (the
//! horizon), 1.4 % if the bound must grow with it.
//!
//! Only moved flows have their paths stored. [`Arrivals`] distinguishes a flow's first packet from the others: the rule
//! must run once per flow, and a flow without an exception leaves no other trace.

use super::byte_deficit::largest_deficit;
use super::{Flows, Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Pick by the hash of `H`, unless that path is more than `tau` standard deviations over its quota.
pub struct Exceptions<H, Q, M, A, C>(PhantomData<(H, Q, M, A, C)>);

/// Recogniser of first packets: a TCP SYN, a connection tracker, or a filter of the flows seen.
pub trait Arrivals {
    /// Whether this is the first packet of `flow`; from then on it is not.
    fn is_first(&mut self, flow: u64) -> bool;
}

/// Plan of the hash, and the bound on its deviation.
#[derive(Clone, Debug)]
pub struct Plan<P, Q> {
    /// Plan of the hash pick.
    pub hash: P,
    /// Share of each member in units of 2^-32; the sum is exactly 2^32.
    pub quotas: Q,
    /// Bound `tau^2` in units of 2^-16.
    pub tau_squared: u32,
    /// Number of flows whose deviation is allowed from the start; beyond that many, it grows with their number.
    pub horizon: u64,
}

/// Exceptions, and the flows that each path got under this plan.
#[derive(Clone, Debug, Default)]
pub struct State<M, A, C> {
    /// Flows on another path than the hash's.
    pub flows: M,
    /// Recogniser of first packets.
    pub arrivals: A,
    /// Number of flows, one count per member.
    pub counts: C,
    /// Sum of the counts.
    pub total: u64,
}

/// Whether `count` of `total` flows is more than `tau` deviations of `spread` flows over the quota:
/// `(count - total q)^2 > tau^2 spread q (1 - q)`, in integers.
#[inline(always)]
#[must_use]
pub fn is_over(quota: u64, count: u64, total: u64, spread: u64, tau_squared: u32) -> bool {
    let excess = (u128::from(count) << 32) as i128 - (u128::from(quota) * u128::from(total)) as i128;
    // Both sides in units of 2^-32: 128 bits hold them for any 2^40 flows.
    let square = (excess >> 16) * (excess >> 16);
    let variance = (u128::from(quota) * u128::from((1u64 << 32).saturating_sub(quota))) >> 32;
    let bound = (variance * u128::from(spread) * u128::from(tau_squared)) >> 16;
    excess > 0 && square > bound as i128
}

impl<H, Q, M, A, C> Pick for Exceptions<H, Q, M, A, C>
where
    H: Pick<State = (), Plan: Sized>,
    Q: AsRef<[u64]>,
    M: Flows<Note = ()>,
    A: Arrivals,
    C: AsMut<[u64]>,
{
    const NAME: &'static str = "exceptions";
    const NEEDS: u32 = H::NEEDS;
    type Plan = Plan<H::Plan, Q>;
    type State = State<M, A, C>;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &Self::Plan, state: &mut State<M, A, C>, packet: &mut Packet, env: &mut E) -> u16 {
        if let Some((member, ())) = state.flows.get(packet.flow) {
            return member;
        }
        let hashed = H::pick(&plan.hash, &mut (), packet, env);
        if !state.arrivals.is_first(packet.flow) {
            return hashed;
        }
        let (quotas, counts) = (plan.quotas.as_ref(), state.counts.as_mut());
        state.total += 1;
        let spread = plan.horizon.max(state.total);
        let at = usize::from(hashed);
        let member = match (quotas.get(at), counts.get(at)) {
            (Some(&quota), Some(&count)) if is_over(quota, count, state.total, spread, plan.tau_squared) => {
                largest_deficit(quotas, counts, state.total)
            }
            _ => hashed,
        };
        if let Some(count) = counts.get_mut(usize::from(member)) {
            *count += 1;
        }
        if member != hashed {
            state.flows.upsert(packet.flow, |_| (member, ()));
        }
        member
    }

    fn port_changed<E: Env>(_: &Self::Plan, state: &mut State<M, A, C>, member: u16, up: bool, _env: &mut E) {
        if !up {
            state.flows.purge(member);
        }
    }
}
