//! Cycle for each flow: every packet takes the next entry of a sequence, counted by its flow.

use super::{Flows, List, Packet, Pick};
use crate::{Env, capability, random_below};
use core::marker::PhantomData;

/// Pick of the next entry for each packet of a flow; entries in `C`, counters in `M`.
pub struct FlowCycle<C, M>(PhantomData<(C, M)>);

/// Entry at which a counter begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Start {
    /// Random entry: short flows spread over all entries.
    #[default]
    Random,
    /// First entry.
    First,
}

/// Sequence of turns, and the lifetime of counters.
#[derive(Clone, Debug)]
pub struct Plan<C> {
    /// Member of each turn.
    pub turns: C,
    /// Entry at which a new flow begins.
    pub start: Start,
    /// Silence after which a flow is forgotten, in nanoseconds.
    pub idle_ns: u64,
}

/// Counter of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    /// Position of the next turn.
    next: u32,
    seen_ns: u64,
}

/// Number of table entries that are searched for silent flows with each new flow.
const SWEPT_PER_FLOW: usize = 8;

impl<C: List<u16>, M: Flows<Note = Counter>> Pick for FlowCycle<C, M> {
    const NAME: &'static str = "flow-cycle";
    const NEEDS: u32 = capability::CLOCK | capability::RANDOM;
    type Plan = Plan<C>;
    type State = M;
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<C>, flows: &mut M, packet: &mut Packet, env: &mut E) -> u16 {
        let turns = &plan.turns;
        let now_ns = env.now_ns();
        let mut began = false;
        let mut member = 0;
        // The member is not remembered: the next packet has another.
        flows.upsert(packet.flow, |known| {
            // A sequence that became shorter is begun anew.
            let going_on =
                known.map(|(_, counter)| counter.next).filter(|&next| (next as usize) < turns.len());
            let turn = going_on.unwrap_or_else(|| {
                began = true;
                match plan.start {
                    Start::Random => random_below(env, turns.len() as u32),
                    Start::First => 0,
                }
            });
            let next = if turn as usize + 1 < turns.len() { turn + 1 } else { 0 };
            member = turns.get(turn as usize).copied().unwrap_or(0);
            (0, Counter { next, seen_ns: now_ns })
        });
        if began {
            let silent = |_, counter: &Counter| now_ns.saturating_sub(counter.seen_ns) > plan.idle_ns;
            flows.sweep(SWEPT_PER_FLOW, silent, |_| ());
        }
        member
    }
}

#[cfg(all(test, feature = "plan"))]
mod tests {
    use super::*;
    use crate::picks::FlowTable;
    use std::vec::Vec;

    struct Environment {
        now_ns: u64,
        random: u32,
    }

    impl Env for Environment {
        const GIVES: u32 = capability::CLOCK | capability::RANDOM;

        fn now_ns(&mut self) -> u64 {
            self.now_ns
        }

        fn random_u32(&mut self) -> u32 {
            self.random
        }
    }

    fn picks(
        plan: &Plan<&[u16]>,
        flows: &mut FlowTable<Counter>,
        env: &mut Environment,
        flow: u64,
        count: usize,
    ) -> Vec<u16> {
        let packet = || Packet { flow, bytes: 1500, ..Packet::default() };
        (0..count).map(|_| crate::pick::<FlowCycle<&[u16], _>, _>(plan, flows, &mut packet(), env)).collect()
    }

    #[test]
    fn every_flow_has_a_counter_of_its_own() {
        let plan = Plan { turns: &[2u16, 3, 3][..], start: Start::First, idle_ns: 1000 };
        let mut flows = FlowTable::default();
        let mut env = Environment { now_ns: 0, random: 0 };
        assert_eq!(picks(&plan, &mut flows, &mut env, 1, 4), [2, 3, 3, 2]);
        assert_eq!(picks(&plan, &mut flows, &mut env, 2, 2), [2, 3]);
        assert_eq!(picks(&plan, &mut flows, &mut env, 1, 2), [3, 3]);
    }

    #[test]
    fn flows_begin_anywhere_and_keep_the_order() {
        let plan = Plan { turns: &[7u16, 8, 9][..], start: Start::Random, idle_ns: 1000 };
        let mut flows = FlowTable::default();
        let third = |third: u32| Environment { now_ns: 0, random: third * (u32::MAX / 3 + 1) };
        assert_eq!(picks(&plan, &mut flows, &mut third(0), 1, 3), [7, 8, 9]);
        assert_eq!(picks(&plan, &mut flows, &mut third(1), 2, 3), [8, 9, 7]);
        assert_eq!(picks(&plan, &mut flows, &mut third(2), 3, 3), [9, 7, 8]);
    }

    #[test]
    fn silent_flows_are_forgotten_and_shorter_sequences_begin_anew() {
        let plan = Plan { turns: &[4u16, 5][..], start: Start::First, idle_ns: 1000 };
        let mut flows = FlowTable::default();
        for flow in 0..32 {
            picks(&plan, &mut flows, &mut Environment { now_ns: 0, random: 0 }, flow, 1);
        }
        for flow in 100..132 {
            picks(&plan, &mut flows, &mut Environment { now_ns: 2000, random: 0 }, flow, 1);
        }
        assert_eq!(flows.len(), 32);
        assert_eq!(picks(&plan, &mut flows, &mut Environment { now_ns: 2000, random: 0 }, 100, 1), [5]);
        let shorter = Plan { turns: &[6u16][..], ..plan };
        picks(&plan, &mut flows, &mut Environment { now_ns: 2000, random: 0 }, 101, 2);
        assert_eq!(picks(&shorter, &mut flows, &mut Environment { now_ns: 2000, random: 0 }, 101, 2), [6, 6]);
    }
}
