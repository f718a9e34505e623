//! Deficit: a new flow takes the path that is furthest behind its quota of the flows active now, and keeps it.
//!
//! The rule is the quota method of Balinski and Young (1975, "The quota method of apportionment"), which is earliest
//! deadline first with release times: among the members that the next flow would not take a whole flow over quota, the
//! one whose quota is first to demand it. Without departures every prefix of arrivals is within one flow of every
//! quota. The more obvious rule, largest `q_i (A+1) - a_i`, is not: weights 1, 62, 1, 62, 8 leave it 1.15 flows behind.

use super::{Flows, Packet, Pick};
use crate::Env;
use core::hint::select_unpredictable;
use core::marker::PhantomData;

/// Number of table entries that are searched for idle flows with each new flow.
const SWEPT_PER_ARRIVAL: usize = 4;

/// Pick that keeps exact quotas of the active flows.
pub struct Deficit<P, M, C>(PhantomData<(P, M, C)>);

/// Turns of the members.
#[derive(Clone, Debug)]
pub struct Plan<P> {
    /// Number of flows between two turns of each member, `W / w_i`, in units of 2^-32; `u64::MAX` for a member without
    /// weight.
    pub periods: P,
    /// Time without packets after which a flow has ended, in nanoseconds.
    pub idle_ns: u64,
}

/// Active flows and their number on each path.
#[derive(Clone, Debug, Default)]
pub struct State<M, C> {
    /// Path of each active flow, and the time it was last seen.
    pub flows: M,
    /// Active flows, one count per member.
    pub active: C,
    /// Sum of the counts.
    pub total: u64,
}

/// Time at which a flow was last seen, in environments with a clock; `()` in those without.
pub trait LastSeen: Copy + Default {
    /// Whether time is recorded at all.
    const KEPT: bool;
    /// Records that the flow was seen at `now_ns`.
    fn at(now_ns: u64) -> Self;
    /// Whether the flow has been idle for more than `idle_ns`.
    fn idle(self, now_ns: u64, idle_ns: u64) -> bool;
}

impl LastSeen for () {
    const KEPT: bool = false;

    #[inline(always)]
    fn at(_now_ns: u64) {}

    #[inline(always)]
    fn idle(self, _now_ns: u64, _idle_ns: u64) -> bool {
        false
    }
}

/// Time in ticks of 2^16 ns in four bytes: wraps after 78 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks(u32);

impl Ticks {
    /// Nanoseconds of one tick.
    pub const NS: u64 = 1 << 16;
    /// Longest idle time that can be measured: half of the wrapping time.
    pub const IDLE_NS_MAX: u64 = Self::NS << 31;
}

impl LastSeen for Ticks {
    const KEPT: bool = true;

    #[inline(always)]
    fn at(now_ns: u64) -> Self {
        Self((now_ns / Self::NS) as u32)
    }

    #[inline(always)]
    fn idle(self, now_ns: u64, idle_ns: u64) -> bool {
        let elapsed = Self::at(now_ns).0.wrapping_sub(self.0);
        u64::from(elapsed) > idle_ns.div_ceil(Self::NS)
    }
}

/// Finds the member that is due first, given the number of flows of each and their sum; ties to the lowest index.
#[inline(always)]
#[must_use]
pub fn first_due(periods: &[u64], active: &[u32], total: u64) -> u16 {
    let now = (total + 1) << 32;
    let (mut due, mut earliest) = (0u16, u64::MAX);
    for (member, (&period, &flows)) in (0..).zip(periods.iter().zip(active)) {
        let release = u64::from(flows).saturating_mul(period);
        let deadline = release.saturating_add(period);
        // No branch: whose turn it is looks random to a predictor.
        let first = (release < now) & (deadline < earliest);
        due = select_unpredictable(first, member, due);
        earliest = select_unpredictable(first, deadline, earliest);
    }
    due
}

fn end(active: &mut [u32], total: &mut u64, member: u16) {
    if let Some(flows) = active.get_mut(usize::from(member)) {
        *flows = flows.saturating_sub(1);
        *total = total.saturating_sub(1);
    }
}

impl<P, M, C> Deficit<P, M, C>
where
    M: Flows<Note: LastSeen>,
    C: AsMut<[u32]>,
{
    fn expire(idle_ns: u64, state: &mut State<M, C>, slots: usize, now_ns: u64) {
        let State { flows, active, total } = state;
        let active = active.as_mut();
        flows.sweep(slots, |_, seen| seen.idle(now_ns, idle_ns), |member| end(active, total, member));
    }
}

impl<P, M, C> Pick for Deficit<P, M, C>
where
    P: AsRef<[u64]>,
    M: Flows<Note: LastSeen>,
    C: AsMut<[u32]>,
{
    const NAME: &'static str = "deficit";
    const NEEDS: u32 = 0;
    type Plan = Plan<P>;
    type State = State<M, C>;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<P>, state: &mut State<M, C>, packet: &mut Packet, env: &mut E) -> u16 {
        let now_ns = env.now_ns();
        let State { flows, active, total } = state;
        let active = active.as_mut();
        let mut arrived = false;
        let member = flows.upsert(packet.flow, |known| {
            let seen = M::Note::at(now_ns);
            if let Some((member, before)) = known {
                if !before.idle(now_ns, plan.idle_ns) {
                    return (member, seen);
                }
                end(active, total, member);
            }
            arrived = true;
            let member = first_due(plan.periods.as_ref(), active, *total);
            if let Some(flows) = active.get_mut(usize::from(member)) {
                *flows += 1;
                *total += 1;
            }
            (member, seen)
        });
        if M::Note::KEPT && arrived {
            Self::expire(plan.idle_ns, state, SWEPT_PER_ARRIVAL, now_ns);
        }
        member
    }

    fn tick<E: Env>(plan: &Plan<P>, state: &mut State<M, C>, env: &mut E) {
        Self::expire(plan.idle_ns, state, usize::MAX, env.now_ns());
    }

    fn port_changed<E: Env>(_: &Plan<P>, state: &mut State<M, C>, member: u16, up: bool, _env: &mut E) {
        let State { flows, active, total } = state;
        if !up {
            flows.purge(member);
            if let Some(flows) = active.as_mut().get_mut(usize::from(member)) {
                *total -= u64::from(*flows);
                *flows = 0;
            }
        }
    }
}
