//! Parts of techniques that remember flows: showing a batch to a scheme, and the meaning of a change of
//! members.

use super::{Batch, Step};
use crate::picks::{self, Packet, Pick};
use crate::{Env, Members, capability};
use std::format;
use std::string::ToString;

/// A place whose clock is the arrival time of the packet at hand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    pub(super) now_ns: u64,
}

impl Env for Clock {
    const GIVES: u32 = capability::CLOCK;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
}

/// Packets between fetching a flow's slot and reading it.
const AHEAD: usize = 16;

/// Picks for every packet of `batch`, in order; `fetch` is shown flows some packets ahead.
#[inline(always)]
pub(super) fn pick_each<S: Pick>(
    plan: &S::Plan,
    state: &mut S::State,
    clock: &mut Clock,
    batch: &Batch<'_>,
    out: &mut [u16],
    fetch: impl Fn(&S::State, u64),
) {
    for (i, (&flow, member)) in batch.flows.iter().zip(out).enumerate() {
        if let Some(&later) = batch.flows.get(i + AHEAD) {
            fetch(state, later);
        }
        if let Some(&time_ns) = batch.times_ns.get(i) {
            clock.now_ns = time_ns;
        }
        let bytes = batch.bytes.get(i).copied().unwrap_or(1);
        *member =
            picks::pick::<S, Clock>(plan, state, &mut Packet { flow, bytes, ..Packet::default() }, clock);
    }
}

/// Tells `state` of the members that were up in `before` and are not in `now`.
pub(super) fn purge_dead<S: Pick>(
    plan: &S::Plan,
    state: &mut S::State,
    clock: &mut Clock,
    before: &Members,
    now: &Members,
) {
    for (i, _) in before.up().iter().enumerate().filter(|&(_, &up)| up) {
        if !now.up().get(i).copied().unwrap_or(false) {
            S::port_changed(plan, state, i as u16, false, clock);
        }
    }
}

/// Whether a flow is remembered, and where.
pub(super) fn remembered(member: Option<u16>) -> Step {
    let value = match member {
        Some(member) => format!("remembered on path {}", u32::from(member) + 1),
        None => "new".to_string(),
    };
    Step { what: "flow".to_string(), value }
}
