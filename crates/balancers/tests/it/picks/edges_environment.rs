//! Environment whose clock is set by hand.

use anabranch_split::picks::Flows;
use anabranch_split::{Env, Packet, capability};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Clock, random numbers and dead members.
pub(crate) struct Environment {
    pub(crate) now_ns: u64,
    pub(crate) dead: Vec<u16>,
    random: Pcg32,
}

impl Environment {
    pub(crate) fn new() -> Self {
        Self { now_ns: 1_000_000, dead: Vec::new(), random: Pcg32::new(7, 11) }
    }
}

impl Env for Environment {
    const GIVES: u32 = capability::CLOCK
        | capability::RANDOM
        | capability::TAG
        | capability::TIMER
        | capability::PROBE
        | capability::FEEDBACK;

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn random_u32(&mut self) -> u32 {
        self.random.next_u32()
    }

    fn up(&self, member: u16) -> bool {
        !self.dead.contains(&member)
    }
}

/// Full-sized packet of a flow.
pub(crate) fn packet(flow: u64) -> Packet {
    Packet { flow, bytes: 1538, ..Packet::default() }
}

/// Number of picks of each of four members.
pub(crate) fn counts(picks: impl Iterator<Item = u16>) -> [u32; 4] {
    let mut counts = [0; 4];
    picks.for_each(|member| counts[usize::from(member)] += 1);
    counts
}

/// Path of `flow` in a memory of flows, if it is remembered.
pub(crate) fn member_of<M: Flows>(flows: &M, flow: u64) -> Option<u16> {
    flows.get(flow).map(|(member, _)| member)
}
