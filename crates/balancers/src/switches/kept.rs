//! Units that a group keeps together beyond a packet: flows, flowlets or flowcells, with the member each of
//! them has.

use crate::Granularity;
use anabranch_split::picks::byte_deficit::WholeFlow;
use anabranch_split::picks::flowcell::Numbered;
use anabranch_split::picks::{FlowTable, Flowlet, Flows, Packet, Pick, flowcell, units};
use anabranch_split::{Env, picks};

/// Units under way.
#[derive(Clone)]
pub(crate) enum Kept {
    /// Nothing that must be remembered.
    Nothing,
    /// Whole flows, where a hash alone does not keep them together.
    Flows(Box<FlowTable<()>>),
    Flowlets(Box<FlowTable<u64>>),
    Flowcells(Box<FlowTable<u32>>),
}

impl Kept {
    /// Units kept by a group of `members` members. `sticky`: the same hash gets the same member in any case.
    pub(crate) fn new(granularity: Granularity, members: usize, sticky: bool) -> Self {
        match granularity {
            _ if members < 2 => Self::Nothing,
            Granularity::Flow if sticky => Self::Nothing,
            Granularity::Flow => Self::Flows(Box::default()),
            Granularity::Flowlet { .. } => Self::Flowlets(Box::default()),
            Granularity::Flowcell { .. } => Self::Flowcells(Box::default()),
            Granularity::Packet => Self::Nothing,
        }
    }

    /// Units on a member that is not to be used any more choose again.
    pub(crate) fn purge(&mut self, member: u16) {
        match self {
            Self::Nothing => {}
            Self::Flows(flows) => flows.purge(member),
            Self::Flowlets(flows) => flows.purge(member),
            Self::Flowcells(flows) => flows.purge(member),
        }
    }

    /// The member of the packet's unit; `S` picks if it is the first of one. `seq` is its first payload byte.
    #[inline(always)]
    pub(crate) fn pick<S: Pick, E: Env>(
        &mut self,
        granularity: Granularity,
        seq: u64,
        plan: &S::Plan,
        state: &mut S::State,
        packet: &mut Packet,
        env: &mut E,
    ) -> u16 {
        match (self, granularity) {
            (Self::Flowlets(flows), Granularity::Flowlet { gap_ns }) => {
                units::pick::<_, S, _, _>(&Flowlet { gap_ns }, plan, &mut **flows, state, packet, env)
            }
            (Self::Flowcells(flows), Granularity::Flowcell { bytes }) => {
                packet.cell = flowcell::number(seq, bytes) as u32;
                units::pick::<_, S, _, _>(&Numbered, plan, &mut **flows, state, packet, env)
            }
            (Self::Flows(flows), _) => {
                units::pick::<_, S, _, _>(&WholeFlow, plan, &mut **flows, state, packet, env)
            }
            _ => picks::pick::<S, E>(plan, state, packet, env),
        }
    }
}
