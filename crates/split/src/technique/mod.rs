//! The control half under one roof: a technique plans one group, picks by the plan, and plans it anew.
//!
//! A technique is what people name (`maglev`, `valo`, `deficit`): a rule from weights to a plan ([`crate::apportion`])
//! and a pick over that plan ([`crate::picks`]). [`TECHNIQUES`] lists every one; nothing else does. Those that keep
//! nothing of the flows are values that never change (`Stateless`); the others have state of their own (`Stateful`).
//! [`crate::Group`] is what runs either.

mod byte_deficit;
mod deficit;
mod hash_exceptions;
mod interval;
mod linux_resilient;
mod lookup;
mod maglev;
mod min_move;
mod min_move_any_length;
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

use crate::history::expect;
use crate::{Members, PlanError};
use std::boxed::Box;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

pub(crate) use lookup::Lookup;
pub(crate) use min_move::NAME as MIN_MOVE;
pub use parameters::Parameters;
pub(crate) use registry::build;
pub use registry::{TECHNIQUES, row};

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
type Build = fn(&Members, &mut Parameters) -> Result<Technique, PlanError>;

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
    build: Build,
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

/// Technique planned for one group.
#[derive(Clone)]
pub(crate) enum Technique {
    /// Plan that never changes, shared by all who pick.
    Stateless(Arc<dyn Stateless>),
    /// Plan and state of one owner.
    Stateful(Box<dyn Stateful>),
}

impl Technique {
    fn stateless(plan: impl Stateless + 'static) -> Self {
        Self::Stateless(Arc::new(plan))
    }

    fn stateful(state: impl Stateful + 'static) -> Self {
        Self::Stateful(Box::new(state))
    }
}

/// Plan of a technique that keeps nothing of the flows, with the history that re-planning needs. It never changes, so
/// that any number of threads may pick by it.
pub(crate) trait Stateless: Send + Sync {
    /// Plans `members` from here, moving what this technique's rule moves and no more. `members` is a list as long or
    /// longer: members keep their numbers.
    ///
    /// # Errors
    /// Weights beyond this technique's limits.
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError>;

    /// The member of each flow, in order. `out` is as long as `flows`.
    fn pick(&self, flows: &[u64], out: &mut [u16]);

    /// The best member of those that `open` admits, where the technique has an order of all members for each flow.
    fn pick_among(&self, _flow: u64, _open: &dyn Fn(u16) -> bool) -> Option<u16> {
        None
    }

    /// Table that decides, if there is one: picks by it are those of `pick`.
    fn lookup(&self) -> Lookup {
        Lookup::None
    }

    /// Exact long-run share of each member under a perfect hash.
    fn shares(&self) -> Vec<f64>;

    /// Bytes that pick reads, without the allocator's own.
    fn state_bytes(&self) -> usize;

    /// How `flow` comes to its member.
    fn explain(&self, flow: u64) -> Vec<Step>;

    /// History as bytes, which re-planning reads beside the members: empty where members and parameters decide it.
    fn history(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes the history of another plan of the same members and parameters in the place of its own.
    ///
    /// # Errors
    /// Bytes that are the history of no such plan; the value is of no use then.
    fn recall(&mut self, _members: &Members, history: &[u8]) -> Result<(), PlanError> {
        expect(history.is_empty(), "bytes for a technique that has none")
    }

    /// Bytes of the history in memory, which updates read and picks do not.
    fn history_bytes(&self) -> usize {
        0
    }
}

/// Plan and state of a technique that remembers flows or counts packets.
pub(crate) trait Stateful: Send + CloneBoxed {
    /// Plans anew for `members`, moving what this technique's rule moves and no more. `members` is a list as long or
    /// longer: members keep their numbers. On error the old plan stands.
    ///
    /// # Errors
    /// Weights beyond this technique's limits.
    fn plan(&mut self, members: &Members) -> Result<(), PlanError>;

    /// The member of every packet of `batch`, in order. `out` is as long as `batch.flows`.
    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]);

    /// Exact long-run share of each member under a perfect hash, as far as the plan decides it; `None` where the
    /// arrivals decide.
    fn shares(&self) -> Option<Vec<f64>>;

    /// Bytes that pick reads or writes: plan, tables and counters, without the allocator's own.
    fn state_bytes(&self) -> usize;

    /// Bytes of the history in memory, which updates read and picks do not.
    fn history_bytes(&self) -> usize {
        0
    }

    /// How `flow` comes to its member. Does not change the state.
    fn explain(&self, flow: u64) -> Vec<Step>;
}

/// Copy of plan and state behind a pointer.
pub(crate) trait CloneBoxed {
    /// Copies both.
    fn clone_boxed(&self) -> Box<dyn Stateful>;
}

impl<T: Stateful + Clone + 'static> CloneBoxed for T {
    fn clone_boxed(&self) -> Box<dyn Stateful> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Stateful> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}
