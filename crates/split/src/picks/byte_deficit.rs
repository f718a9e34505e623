//! Byte deficit: a flow, flowcell or flowlet takes the path that is most bytes behind its quota, and keeps it until it
//! ends.

use super::{Flows, Packet, Pick};
use crate::{Env, capability};
use core::marker::PhantomData;

/// Pick of the largest deficit in bytes at every boundary of `B`; bytes are charged as they pass.
pub struct ByteDeficit<B, Q, M, C>(PhantomData<(B, Q, M, C)>);

/// Rule for the end of a unit, whose packets stay together, and the note that the rule needs.
pub trait Boundary {
    /// Bits of [`crate::capability`] that the rule needs.
    const NEEDS: u32;
    /// Note that is remembered of each flow.
    type Note: Copy;
    /// Makes the note of a unit that begins with `packet` at `now_ns`.
    fn begin(packet: &Packet, now_ns: u64) -> Self::Note;
    /// Updates the note after one more packet; returns `None` if that packet begins the next unit.
    fn go_on(&self, note: Self::Note, packet: &Packet, now_ns: u64) -> Option<Self::Note>;
    /// Whether the unit has ended, whatever packet comes next, so that forgetting it changes nothing.
    #[inline(always)]
    fn is_over(&self, _note: Self::Note, _now_ns: u64) -> bool {
        false
    }
}

/// Boundary of whole flows: a flow keeps the path of its first packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct WholeFlow;

impl Boundary for WholeFlow {
    const NEEDS: u32 = 0;
    type Note = ();

    #[inline(always)]
    fn begin(_packet: &Packet, _now_ns: u64) {}

    #[inline(always)]
    fn go_on(&self, (): (), _packet: &Packet, _now_ns: u64) -> Option<()> {
        Some(())
    }
}

/// Quotas, and the boundary of units.
#[derive(Clone, Debug)]
pub struct Plan<B, Q> {
    /// Share of each member in units of 2^-32; the sum is exactly 2^32.
    pub quotas: Q,
    /// Boundary of units.
    pub boundary: B,
}

/// Flows in progress, and the bytes that each path was sent under this plan.
#[derive(Clone, Debug, Default)]
pub struct State<M, C> {
    /// Path and note of each flow.
    pub flows: M,
    /// Bytes sent, one count per member.
    pub sent: C,
    /// Sum of the counts.
    pub total: u64,
}

/// Finds the member with the largest `q_i * total - sent_i`, ties to the lowest index; members without a quota are
/// excluded.
#[inline(always)]
#[must_use]
pub fn largest_deficit(quotas: &[u64], sent: &[u64], total: u64) -> u16 {
    let mut best = (0u16, i128::MIN);
    for (member, (&quota, &count)) in (0..).zip(quotas.iter().zip(sent)) {
        let due = (u128::from(quota) * u128::from(total)) as i128;
        let deficit = due - (i128::from(count) << 32);
        if quota > 0 && deficit > best.1 {
            best = (member, deficit);
        }
    }
    best.0
}

/// Number of table entries that are searched for ended units with each new unit.
const SWEPT_PER_UNIT: usize = 8;

impl<B, Q, M, C> Pick for ByteDeficit<B, Q, M, C>
where
    B: Boundary,
    Q: AsRef<[u64]>,
    M: Flows<Note = B::Note>,
    C: AsMut<[u64]>,
{
    const NAME: &'static str = "byte_deficit";
    const NEEDS: u32 = B::NEEDS;
    type Plan = Plan<B, Q>;
    type State = State<M, C>;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<B, Q>, state: &mut State<M, C>, packet: &mut Packet, env: &mut E) -> u16 {
        let (now_ns, bytes) = (env.now_ns(), packet.bytes);
        let State { flows, sent, total } = state;
        let sent = sent.as_mut();
        *total += u64::from(bytes);
        let mut began = false;
        let member = flows.upsert(packet.flow, |known| {
            if let Some((member, note)) = known
                && let Some(note) = plan.boundary.go_on(note, packet, now_ns)
            {
                return (member, note);
            }
            began = true;
            (largest_deficit(plan.quotas.as_ref(), sent, *total), B::begin(packet, now_ns))
        });
        if let Some(count) = sent.get_mut(usize::from(member)) {
            *count += u64::from(bytes);
        }
        if B::NEEDS & capability::CLOCK != 0 && began {
            flows.sweep(SWEPT_PER_UNIT, |_, &note| plan.boundary.is_over(note, now_ns), |_| ());
        }
        member
    }

    fn tick<E: Env>(plan: &Plan<B, Q>, state: &mut State<M, C>, env: &mut E) {
        let now_ns = env.now_ns();
        state.flows.sweep(usize::MAX, |_, &note| plan.boundary.is_over(note, now_ns), |_| ());
    }

    fn port_changed<E: Env>(_: &Plan<B, Q>, state: &mut State<M, C>, member: u16, up: bool, _env: &mut E) {
        if !up {
            state.flows.purge(member);
        }
    }
}
