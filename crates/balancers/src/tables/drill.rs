//! DRILL(d, m): picks the shortest of d queues drawn at random and the m shortest remembered (Ghorbani et al., SIGCOMM
//! 2017).
//!
//! If all queues are sampled, none is remembered, and a decision is made once per flowcell, it is Luopan's Local
//! Sampling (TPDS 2019, section 4.1).
//!
//! The remembered queues are compared first and replaced only by a strictly shorter one, as in public implementations;
//! queues count the packet in service. DRILL's quivers, which split flows over symmetric components of an asymmetric
//! fabric first, are weights of the members here: samples are drawn in proportion to them.

use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;

/// Pick of the least backlog of some members, at most `MEMORY` of them remembered; entries in `C`.
pub struct Drill<C, const MEMORY: usize>(PhantomData<C>);

/// Members to sample, and the number of samples.
#[derive(Clone, Debug)]
pub struct Plan<C> {
    /// Living members, each as often as its weight says.
    pub entries: C,
    /// Number of fresh samples a decision (d). If there are no more entries than that, all of them are compared in
    /// order, from a random one on.
    pub samples: u16,
    /// Number of queues remembered (m), at most `MEMORY`.
    pub memory: u16,
}

/// Members remembered.
#[derive(Clone, Copy, Debug)]
pub struct State<const MEMORY: usize> {
    best: [u16; MEMORY],
    len: u16,
}

impl<const MEMORY: usize> Default for State<MEMORY> {
    fn default() -> Self {
        Self { best: [0; MEMORY], len: 0 }
    }
}

impl<C: AsRef<[u16]>, const MEMORY: usize> Pick for Drill<C, MEMORY> {
    const NAME: &'static str = "drill";
    const NEEDS: u32 = capability::BACKLOG | capability::RANDOM;
    type Plan = Plan<C>;
    type State = State<MEMORY>;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<C>, state: &mut State<MEMORY>, _packet: &mut Packet, env: &mut E) -> u16 {
        let entries = plan.entries.as_ref();
        let count = entries.len() as u32;
        if count == 0 {
            return 0;
        }
        let mut shortest = (u32::MAX, 0u16);
        for &member in state.best.iter().take(usize::from(state.len)) {
            if env.up(member) {
                let backlog = env.backlog_bytes(member);
                if backlog < shortest.0 {
                    shortest = (backlog, member);
                }
            }
        }
        let all = u32::from(plan.samples) >= count;
        let first = random_below(env, count);
        for sample in 0..if all { count } else { plan.samples.into() } {
            let index = if all {
                (first + sample) % count
            } else if sample == 0 {
                first
            } else {
                random_below(env, count)
            };
            let Some(&member) = entries.get(index as usize) else { continue };
            let backlog = env.backlog_bytes(member);
            if backlog < shortest.0 || (shortest.0 == u32::MAX && sample == 0) {
                shortest = (backlog, member);
            }
        }
        remember(plan.memory, state, shortest.1);
        shortest.1
    }

    fn port_changed<E: Env>(
        _plan: &Plan<C>,
        state: &mut State<MEMORY>,
        _member: u16,
        _up: bool,
        _env: &mut E,
    ) {
        state.len = 0;
    }
}

/// Puts `member` first among those remembered; the oldest drops out.
#[inline(always)]
fn remember<const MEMORY: usize>(memory: u16, state: &mut State<MEMORY>, member: u16) {
    let room = usize::from(memory).min(MEMORY);
    if room == 0 {
        return;
    }
    let known = state.best.iter().take(usize::from(state.len)).position(|&old| old == member);
    let last = known.unwrap_or(usize::from(state.len).min(room - 1));
    if let Some(shifted) = state.best.get_mut(..=last) {
        shifted.rotate_right(1);
        if let Some(first) = shifted.first_mut() {
            *first = member;
        }
    }
    state.len = state.len.max(last as u16 + 1);
}
