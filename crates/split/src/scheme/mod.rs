//! The data half: one file per way of picking, each a few dozen instructions over a plan.

use crate::Env;

pub mod acknowledgement;
pub mod alias;
#[cfg(all(feature = "plan", target_arch = "x86_64"))]
mod avx2;
#[cfg(all(feature = "plan", target_arch = "x86_64"))]
mod avx512;
pub mod byte_deficit;
pub mod cells;
pub mod clove;
pub mod conga;
pub mod conga_tag;
pub mod conweave;
pub mod conweave_header;
pub mod conweave_reorder;
pub mod cumulative;
pub mod cycle;
pub mod dbb;
pub mod deficit;
pub mod dre;
pub mod drill;
pub mod exceptions;
pub mod flow_cycle;
#[cfg(feature = "plan")]
pub mod flow_list;
#[cfg(feature = "plan")]
pub mod flow_table;
pub mod flowbender;
pub mod flowcell;
pub mod flowlet;
pub mod flows;
pub mod hermes;
pub mod hula;
pub mod idle;
#[cfg(feature = "plan")]
pub mod lanes;
pub mod least;
pub mod list;
pub mod luopan;
pub mod mix;
pub mod modulo;
pub mod omniscient;
pub mod paths;
pub mod plb;
pub mod presto;
pub mod quota;
pub mod recycle;
pub mod rehash;
pub mod relay;
pub mod rendezvous;
#[cfg(all(feature = "plan", target_arch = "x86_64"))]
mod rendezvous_bound;
pub mod reps;
pub mod saps;
pub mod score;
pub mod score16;
pub mod scored;
#[cfg(feature = "plan")]
pub mod seen;
pub mod slots;
pub mod store;
pub mod tdlb;
pub mod token_bucket;
pub mod turns;
pub mod uec;
pub mod uniform;
pub mod units;
pub mod utilisation;
pub mod vms;
pub mod wfq;
pub mod wildcard;
pub mod wino;

pub use alias::Alias;
pub use byte_deficit::ByteDeficit;
pub use cells::Cells;
pub use clove::Clove;
pub use conga::Conga;
pub use conweave::ConWeave;
pub use cumulative::Cumulative;
pub use cycle::Cycle;
pub use deficit::Deficit;
pub use drill::Drill;
pub use exceptions::Exceptions;
pub use flow_cycle::FlowCycle;
#[cfg(feature = "plan")]
pub use flow_list::FlowList;
#[cfg(feature = "plan")]
pub use flow_table::FlowTable;
pub use flowbender::FlowBender;
pub use flowcell::Flowcell;
pub use flowlet::Flowlet;
pub use flows::Flows;
pub use hermes::Hermes;
pub use hula::Hula;
pub use list::{Bounded, List};
pub use luopan::Luopan;
pub use modulo::Modulo;
pub use omniscient::Omniscient;
pub use plb::Plb;
pub use presto::Presto;
pub use quota::Quota;
pub use recycle::{Mixed, Recycle};
pub use rehash::Rehash;
pub use rendezvous::Rendezvous;
pub use reps::Reps;
pub use score::Score;
pub use score16::Score16;
#[cfg(feature = "plan")]
pub use seen::Seen;
pub use slots::Slots;
pub use tdlb::Tdlb;
pub use token_bucket::TokenBucket;
pub use turns::Turns;
pub use uec::{Bitmap, Oblivious};
pub use uniform::Uniform;
pub use units::Units;
pub use vms::Vms;
pub use wfq::Wfq;
pub use wildcard::Wildcard;

/// What a scheme may know of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Packet {
    /// Hash of the flow's identity. Selection uses the low 32 bits; flow tables tell flows apart by all 64.
    pub flow: u64,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Number of the packet's flowcell within its flow, never falling except for what is sent again. Zero where the place
    /// does not count them.
    pub cell: u32,
    /// Where it goes, as the place numbers destinations (a leaf in a fabric). Zero where there is one.
    pub destination: u32,
    /// What travels with the packet for the scheme's own use, read and written.
    pub tag: u32,
}

impl Packet {
    /// The 32 bits that select a slot or seed a score.
    #[inline(always)]
    #[must_use]
    pub fn hash(&self) -> u32 {
        self.flow as u32
    }
}

/// One scheme. It has no `self`: plan and state are arguments, so each lives where the place keeps such things.
pub trait Scheme {
    /// The name people type.
    const NAME: &'static str;
    /// Bits of [`crate::capability`] it cannot do without.
    const NEEDS: u32;
    /// Read-only and shared.
    type Plan: ?Sized;
    /// Plain data of one switch, host, thread or CPU.
    type State: ?Sized;
    /// What comes back about earlier choices; `()` where nothing does.
    type Feedback;

    /// The member (index into the group) that carries `packet`.
    fn pick<E: Env>(plan: &Self::Plan, state: &mut Self::State, packet: &mut Packet, env: &mut E) -> u16;

    /// A packet leaves by `member`, whether this scheme chose it or not.
    #[inline(always)]
    fn depart<E: Env>(
        _plan: &Self::Plan,
        _state: &mut Self::State,
        _member: u16,
        _packet: &mut Packet,
        _env: &mut E,
    ) {
    }

    /// Something came back.
    #[inline(always)]
    fn learn<E: Env>(_plan: &Self::Plan, _state: &mut Self::State, _feedback: &Self::Feedback, _env: &mut E) {
    }

    /// Time passed: expire what is idle.
    #[inline(always)]
    fn tick<E: Env>(_plan: &Self::Plan, _state: &mut Self::State, _env: &mut E) {}

    /// A member died or returned: purge what names it.
    #[inline(always)]
    fn port_changed<E: Env>(
        _plan: &Self::Plan,
        _state: &mut Self::State,
        _member: u16,
        _up: bool,
        _env: &mut E,
    ) {
    }
}

/// The checked door to [`Scheme::pick`]: a scheme that needs what a place cannot give does not compile there.
#[inline(always)]
pub fn pick<S: Scheme, E: Env>(
    plan: &S::Plan,
    state: &mut S::State,
    packet: &mut Packet,
    env: &mut E,
) -> u16 {
    const { assert!(S::NEEDS & !E::GIVES == 0, "this place cannot run this scheme: see its NEEDS") }
    S::pick(plan, state, packet, env)
}

/// Picks for one packet of each flow in `flows`: the plain batch loop, monomorphised and inlined per scheme.
#[inline(always)]
pub fn each<S: Scheme, E: Env>(
    plan: &S::Plan,
    state: &mut S::State,
    env: &mut E,
    flows: &[u64],
    out: &mut [u16],
) {
    for (&flow, member) in flows.iter().zip(out) {
        *member = pick::<S, E>(plan, state, &mut Packet { flow, bytes: 1, ..Packet::default() }, env);
    }
}
