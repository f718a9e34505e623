//! The control half under one roof: a technique owns the plan and the state of one group, and re-plans them.
//!
//! A technique is what people name (`maglev`, `valo`, `deficit`): a rule from weights to a plan ([`crate::apportion`])
//! and a pick over that plan ([`crate::scheme`]). [`TECHNIQUES`] lists every one; nothing else does.

mod byte_deficit;
mod deficit;
mod hash_exceptions;
mod interval;
mod linux_resilient;
mod maglev;
mod min_move;
mod niagara;
mod ovs_dp_hash;
mod parameters;
mod picker;
mod pinned;
mod random;
mod registry;
mod rejection_cells;
mod rendezvous;
mod scoring;
mod table;
mod valo;
mod wcmp;
mod wfq;
mod wrr;

use crate::{Members, PlanError};
use std::boxed::Box;
use std::string::String;
use std::vec::Vec;

pub use parameters::Parameters;
pub use registry::{TECHNIQUES, build, row};

/// When a technique decides, which is also what it must be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// A pure function of the flow's key: any packet of it may be asked about, in any order.
    Stateless,
    /// Decided at the first packet of a flow, and remembered.
    Flow,
    /// May change between packets of one flow: needs every packet with its bytes (and time, if it has a clock).
    Packet,
}

/// Plans a technique for a group, with parameters.
pub type Build = fn(&Members, &mut Parameters) -> Result<Box<dyn Technique>, PlanError>;

/// One line of the list of techniques.
#[derive(Clone, Copy)]
pub struct Row {
    /// The name people type.
    pub name: &'static str,
    /// When it decides.
    pub granularity: Granularity,
    /// Description of its rule, in one line.
    pub summary: &'static str,
    /// Publication that describes it.
    pub source: &'static str,
    /// Makes one for a group.
    pub build: Build,
}

/// Packets in order of arrival, column by column. Columns that a technique does not read may be empty.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Flow keys, one per packet.
    pub flows: &'a [u64],
    /// Bytes on the wire, one per packet, or empty: then every packet counts one byte.
    pub bytes: &'a [u32],
    /// Arrival times in nanoseconds, ascending, one per packet, or empty: then no time passes.
    pub times_ns: &'a [u64],
}

impl<'a> Batch<'a> {
    /// One packet for each flow key.
    #[must_use]
    pub fn of_flows(flows: &'a [u64]) -> Self {
        Self { flows, bytes: &[], times_ns: &[] }
    }
}

/// One step of the way from a flow's key to its member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the value shown: `slot`, `score of path 2`.
    pub what: String,
    /// Its value.
    pub value: String,
}

/// A planned group: plan, state, and the history that re-planning keeps.
pub trait Technique: Send {
    /// Plans anew for `members`, moving what this technique's rule moves and no more. Members keep their numbers;
    /// a longer list appends members, a shorter one is refused. On error the old plan stands.
    ///
    /// # Errors
    /// Weights beyond this technique's limits, or fewer members than before.
    fn plan(&mut self, members: &Members) -> Result<(), PlanError>;

    /// The member of every packet of `batch`, in order. `out` is as long as `batch.flows`.
    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]);

    /// Exact long-run share of each member under a perfect hash, as far as the plan decides it; `None` where the
    /// arrivals decide.
    fn shares(&self) -> Option<Vec<f64>>;

    /// Bytes that pick reads or writes: plan, tables and counters, without the allocator's own.
    fn state_bytes(&self) -> usize;

    /// How `flow` comes to its member. Does not change the state.
    fn explain(&self, flow: u64) -> Vec<Step>;
}
