//! Units of a flow that stay together, flowlets or flowcells: the first packet of each is picked for, the others
//! follow.
//!
//! LetFlow (Vanini et al., NSDI 2017, section 3.1) is flowlets with random picks, a flowcell at random is a baseline of
//! Luopan (TPDS 2019, section 2), and any other scheme may pick as well.

use super::byte_deficit::Boundary;
use super::{Flows, Packet, Pick};
use crate::{Env, capability};
use core::marker::PhantomData;

/// Pick that sends each unit of boundary `B` where `S` sends its first packet, remembered in `M`.
pub struct Units<B, S, M>(PhantomData<(B, S, M)>);

/// Boundary of units, and the plan of the scheme that picks for them.
#[derive(Clone, Debug)]
pub struct Plan<B, P> {
    /// Boundary of units.
    pub boundary: B,
    /// Plan of the scheme that picks for units.
    pub picker: P,
}

/// Units in progress, and the state of the scheme that picks for them.
#[derive(Clone, Debug, Default)]
pub struct State<M, T> {
    /// Member and note of each flow.
    pub flows: M,
    /// State of the scheme that picks for units.
    pub picker: T,
}

/// Number of table entries that are searched for ended units with each new unit.
const SWEPT_PER_UNIT: usize = 8;

/// Picks like [`Units`], in an environment that keeps the parts of plan and state separately. The scheme `S` is given
/// random bits for a hash, so that the units of a flow are independent.
#[inline(always)]
pub fn pick<B: Boundary, S: Pick, M: Flows<Note = B::Note>, E: Env>(
    boundary: &B,
    plan: &S::Plan,
    flows: &mut M,
    state: &mut S::State,
    packet: &mut Packet,
    env: &mut E,
) -> u16 {
    let now_ns = env.now_ns();
    let mut began = false;
    let member = flows.upsert(packet.flow, |known| {
        if let Some((member, note)) = known
            && env.up(member)
            && let Some(note) = boundary.go_on(note, packet, now_ns)
        {
            return (member, note);
        }
        began = true;
        let note = B::begin(packet, now_ns);
        let mut first = Packet { flow: env.random_u32().into(), ..*packet };
        let member = S::pick(plan, state, &mut first, env);
        packet.tag = first.tag;
        (member, note)
    });
    if B::NEEDS & capability::CLOCK != 0 && began {
        flows.sweep(SWEPT_PER_UNIT, |_, &note| boundary.is_over(note, now_ns), |_| ());
    }
    member
}

impl<B: Boundary, S: Pick<State: Sized, Plan: Sized>, M: Flows<Note = B::Note>> Pick for Units<B, S, M> {
    const NAME: &'static str = "units";
    const NEEDS: u32 = B::NEEDS | S::NEEDS | capability::RANDOM;
    type Plan = Plan<B, S::Plan>;
    type State = State<M, S::State>;
    type Feedback = S::Feedback;

    #[inline(always)]
    fn pick<E: Env>(
        plan: &Plan<B, S::Plan>,
        state: &mut State<M, S::State>,
        packet: &mut Packet,
        env: &mut E,
    ) -> u16 {
        let State { flows, picker } = state;
        pick::<B, S, M, E>(&plan.boundary, &plan.picker, flows, picker, packet, env)
    }

    fn learn<E: Env>(
        plan: &Plan<B, S::Plan>,
        state: &mut State<M, S::State>,
        feedback: &S::Feedback,
        env: &mut E,
    ) {
        S::learn(&plan.picker, &mut state.picker, feedback, env);
    }

    fn tick<E: Env>(plan: &Plan<B, S::Plan>, state: &mut State<M, S::State>, env: &mut E) {
        let now_ns = env.now_ns();
        state.flows.sweep(usize::MAX, |_, &note| plan.boundary.is_over(note, now_ns), |_| ());
        S::tick(&plan.picker, &mut state.picker, env);
    }

    fn port_changed<E: Env>(
        plan: &Plan<B, S::Plan>,
        state: &mut State<M, S::State>,
        member: u16,
        up: bool,
        env: &mut E,
    ) {
        if !up {
            state.flows.purge(member);
        }
        S::port_changed(&plan.picker, &mut state.picker, member, up, env);
    }
}
