//! WFQ as a splitter: a new flow takes the path with the least service per weight, and keeps it.

use super::{Flows, Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Pick of the smallest `sent_i / w_i`, ties to the lowest index (VALO sec. 6).
pub struct Wfq<W, M, C>(PhantomData<(W, M, C)>);

/// Weights, and the unit of counting.
#[derive(Clone, Debug)]
pub struct Plan<W> {
    /// One weight per member; members with a weight of zero are never picked.
    pub weights: W,
    /// Whether every packet is counted instead of the first of each flow.
    pub every_packet: bool,
}

/// Flows with their paths, and the service of each path.
#[derive(Clone, Debug, Default)]
pub struct State<M, C> {
    /// Path of each flow.
    pub flows: M,
    /// Number of connections or packets sent, one count per member.
    pub sent: C,
}

/// Finds the member with the least `sent / weight`.
#[inline]
#[must_use]
pub fn least_served(weights: &[u64], sent: &[u64]) -> u16 {
    let mut best = (0u16, 0u64, 0u64);
    for (member, (&weight, &count)) in (0..).zip(weights.iter().zip(sent)) {
        let fewer = u128::from(count) * u128::from(best.2) < u128::from(best.1) * u128::from(weight);
        if weight > 0 && (best.2 == 0 || fewer) {
            best = (member, count, weight);
        }
    }
    best.0
}

impl<W, M, C> Pick for Wfq<W, M, C>
where
    W: AsRef<[u64]>,
    M: Flows<Note = ()>,
    C: AsMut<[u64]>,
{
    const NAME: &'static str = "wfq";
    const NEEDS: u32 = 0;
    type Plan = Plan<W>;
    type State = State<M, C>;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<W>, state: &mut State<M, C>, packet: &mut Packet, _env: &mut E) -> u16 {
        let sent = state.sent.as_mut();
        let mut counts = plan.every_packet;
        let member = state.flows.upsert(packet.flow, |known| {
            known.unwrap_or_else(|| {
                counts = true;
                (least_served(plan.weights.as_ref(), sent), ())
            })
        });
        if counts && let Some(count) = sent.get_mut(usize::from(member)) {
            *count += 1;
        }
        member
    }

    fn port_changed<E: Env>(_: &Plan<W>, state: &mut State<M, C>, member: u16, up: bool, _env: &mut E) {
        if !up {
            state.flows.purge(member);
        }
    }
}
