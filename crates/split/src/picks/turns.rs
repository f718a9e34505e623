//! Turns: each new flow takes the next entry of a sequence, and keeps it (WRR).

use super::{Flows, Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Weighted round robin over a sequence of members (VALO sec. 2.2.2); the plan decides the order of the sequence.
pub struct Turns<M>(PhantomData<M>);

/// Paths of the flows, and the next turn.
#[derive(Clone, Debug, Default)]
pub struct State<M> {
    /// Path of each flow.
    pub flows: M,
    /// Index of the next entry.
    pub next: usize,
}

impl<M: Flows<Note = ()>> Pick for Turns<M> {
    const NAME: &'static str = "turns";
    const NEEDS: u32 = 0;
    /// Member of each turn.
    type Plan = [u16];
    type State = State<M>;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &[u16], state: &mut State<M>, packet: &mut Packet, _env: &mut E) -> u16 {
        let State { flows, next } = state;
        flows.upsert(packet.flow, |known| {
            known.unwrap_or_else(|| {
                let turn = plan.get(*next).copied().unwrap_or(0);
                *next = if *next + 1 < plan.len() { *next + 1 } else { 0 };
                (turn, ())
            })
        })
    }

    fn port_changed<E: Env>(_: &[u16], state: &mut State<M>, member: u16, up: bool, _env: &mut E) {
        if !up {
            state.flows.purge(member);
        }
    }
}
