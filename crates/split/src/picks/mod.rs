//! The data half: one file per pick, each a few dozen instructions over a plan.

use crate::Env;

#[cfg(all(feature = "plan", target_arch = "x86_64"))]
mod abreast;
pub mod acknowledgement;
pub mod alias;
#[cfg(all(feature = "plan", target_arch = "x86_64"))]
mod avx2;
#[cfg(all(feature = "plan", target_arch = "x86_64"))]
mod avx512;
pub mod byte_deficit;
pub mod cells;
pub mod cumulative;
pub mod cycle;
pub mod deficit;
pub mod dre;
pub mod exceptions;
pub mod flow_cycle;
#[cfg(feature = "plan")]
pub mod flow_list;
#[cfg(feature = "plan")]
pub mod flow_table;
pub mod flowcell;
pub mod flowlet;
pub mod flows;
pub mod idle;
#[cfg(feature = "plan")]
pub mod lanes;
pub mod least;
pub mod list;
pub mod mix;
pub mod modulo;
pub mod paths;
pub mod quota;
pub mod rehash;
pub mod relay;
pub mod rendezvous;
#[cfg(all(feature = "plan", target_arch = "x86_64"))]
mod rendezvous_bound;
pub mod score;
pub mod score16;
pub mod scored;
#[cfg(feature = "plan")]
pub mod seen;
pub mod slots;
pub mod store;
pub mod token_bucket;
pub mod turns;
pub mod uniform;
pub mod units;
pub mod utilisation;
pub mod wfq;
pub mod wildcard;

pub use alias::Alias;
pub use byte_deficit::ByteDeficit;
pub use cells::Cells;
pub use cumulative::Cumulative;
pub use cycle::Cycle;
pub use deficit::Deficit;
pub use exceptions::Exceptions;
pub use flow_cycle::FlowCycle;
#[cfg(feature = "plan")]
pub use flow_list::FlowList;
#[cfg(feature = "plan")]
pub use flow_table::FlowTable;
pub use flowcell::Flowcell;
pub use flowlet::Flowlet;
pub use flows::Flows;
pub use list::{Bounded, List};
pub use modulo::Modulo;
pub use quota::Quota;
pub use rehash::Rehash;
pub use rendezvous::Rendezvous;
pub use score::Score;
pub use score16::Score16;
#[cfg(feature = "plan")]
pub use seen::Seen;
pub use slots::Slots;
pub use token_bucket::TokenBucket;
pub use turns::Turns;
pub use uniform::Uniform;
pub use units::Units;
pub use wfq::Wfq;
pub use wildcard::Wildcard;

/// Packet with the fields that a scheme may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Packet {
    /// Hash of the flow's identity. Selection uses the low 32 bits; flow tables distinguish flows by all 64.
    pub flow: u64,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Number of the packet's flowcell within its flow. It never falls, except for retransmissions. Zero in
    /// environments that do not count flowcells.
    pub cell: u32,
    /// Destination, as the environment numbers them (a leaf in a fabric). Zero if there is only one.
    pub destination: u32,
    /// Field that travels with the packet for the scheme's own use, read and written.
    pub tag: u32,
}

impl Packet {
    /// Low 32 bits of the flow's hash, which select a slot or seed a score.
    #[inline(always)]
    #[must_use]
    pub fn hash(&self) -> u32 {
        self.flow as u32
    }
}

/// One scheme: the decision over a plan. It has no `self`: plan and state are arguments, so each lives where the
/// environment keeps such things.
pub trait Pick {
    /// Name, as users write it.
    const NAME: &'static str;
    /// Bits of [`crate::capability`] that the scheme needs.
    const NEEDS: u32;
    /// Data that picks read; shared by all packets.
    type Plan: ?Sized;
    /// Data that picks change: plain data of one switch, host, thread or CPU.
    type State: ?Sized;
    /// News about earlier picks; `()` for schemes that need none.
    type Feedback;

    /// Picks the member (index into the group) that carries `packet`.
    fn pick<E: Env>(plan: &Self::Plan, state: &mut Self::State, packet: &mut Packet, env: &mut E) -> u16;

    /// Reports that a packet leaves by `member`, whether this scheme picked it or not.
    #[inline(always)]
    fn depart<E: Env>(
        _plan: &Self::Plan,
        _state: &mut Self::State,
        _member: u16,
        _packet: &mut Packet,
        _env: &mut E,
    ) {
    }

    /// Reports feedback about earlier picks.
    #[inline(always)]
    fn learn<E: Env>(_plan: &Self::Plan, _state: &mut Self::State, _feedback: &Self::Feedback, _env: &mut E) {
    }

    /// Reports that time has passed: forgets what is idle.
    #[inline(always)]
    fn tick<E: Env>(_plan: &Self::Plan, _state: &mut Self::State, _env: &mut E) {}

    /// Reports that a member died or returned: forgets what depended on it.
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

/// Checked entry to [`Pick::pick`]: a scheme that needs what an environment does not give fails to compile there.
#[inline(always)]
pub fn pick<S: Pick, E: Env>(plan: &S::Plan, state: &mut S::State, packet: &mut Packet, env: &mut E) -> u16 {
    const { assert!(S::NEEDS & !E::GIVES == 0, "this environment cannot run this scheme: see its NEEDS") }
    S::pick(plan, state, packet, env)
}

/// Picks for one packet of each flow in `flows`: the plain batch loop, monomorphised and inlined per scheme.
#[inline(always)]
pub fn each<S: Pick, E: Env>(
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
