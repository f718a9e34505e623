//! Group of weighted members that many threads pick from while others change it.

mod bounded;
mod bytes;
mod connections;
mod delta;
mod draining;
mod owned;
mod published;
mod reader;
mod revision;
mod snapshot;
mod sync;

use crate::technique::{
    self, Batch, Granularity, Lookup, Parameters, Row, Stateful, Stateless, Step, Technique,
};
use crate::{Members, PlanError};
pub use connections::Connections;
use core::fmt;
use draining::Earlier;
use owned::Owned;
use published::Published;
pub use reader::Reader;
pub use revision::Revision;
use std::boxed::Box;
use std::format;
use std::sync::Arc;
use std::vec::Vec;

/// Packets between two looks at the plan. Under the slowest technique they take a few milliseconds, under the usual ones
/// microseconds.
const PART: usize = 4096;

/// Group of weighted members, planned by one technique. It is picked from by `&self`, by any number of threads, and
/// changed by `&self` meanwhile.
///
/// A technique whose [`Granularity`] is `Stateless` has an immutable plan behind an atomic pointer: picks take no lock
/// and do not wait for an update, updates wait for each other alone, and a pick sees the plan before an update or the
/// plan after it, never a part of either. The other techniques remember flows or count packets: one thread at a time has
/// the use of that state, and an update waits for at most 4096 packets. For speed give each thread a group of its own
/// ([`Clone`]) and the packets of a flow always to the same thread.
///
/// A copy is a copy: its own plan, its own state, its own later updates.
///
/// ```
/// use anabranch_split::{Group, Members, Parameters, Weights};
///
/// let members = Members::all_up(Weights::new(vec![4, 3, 2])?);
/// let group = Group::new("min-move", &members, &Parameters::default())?;
/// assert!(group.pick(0x9e37_79b9) < 3);
/// group.update(&Members::new(members.weights().clone(), vec![true, false, true])?)?;
/// assert_ne!(group.pick(0x9e37_79b9), 1);
/// # Ok::<(), anabranch_split::PlanError>(())
/// ```
#[derive(Clone)]
pub struct Group {
    row: &'static Row,
    /// All parameters of the technique, those nobody set among them.
    parameters: Parameters,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Stateless(Published<Planned>),
    Stateful(Owned<Running>),
}

/// Members and the plan made of them: one value, so that nobody sees one without the other.
struct Planned {
    members: Members,
    technique: Arc<dyn Stateless>,
    /// Table of the technique, for picks one by one.
    lookup: Lookup,
    /// Number of updates that led here.
    updates: u64,
    /// Members that are to drain, one flag each, and plans of connections that began before a drain.
    drains: Vec<bool>,
    earlier: Vec<Earlier>,
    /// Number of plans that this group had before.
    serial: u64,
}

impl Planned {
    fn new(members: Members, technique: Arc<dyn Stateless>, updates: u64) -> Self {
        let (lookup, drains) = (technique.lookup(), members.draining().to_vec());
        Self { lookup, members, technique, updates, drains, earlier: Vec::new(), serial: 0 }
    }

    /// Plan of `members` after this one, those draining that `drains` says.
    fn next(&self, members: Members, drains: Vec<bool>) -> Result<Self, PlanError> {
        let members = numbered(&self.members, members)?.drained(drains.clone());
        let technique = self.technique.replanned(&members)?;
        let next = Self::new(members, technique, self.updates + 1);
        Ok(Self { drains, earlier: self.earlier.clone(), serial: self.serial + 1, ..next })
    }

    /// Member of one packet of a flow.
    #[inline]
    fn pick(&self, flow: u64) -> u16 {
        picked(&self.lookup, &*self.technique, flow)
    }
}

/// Member of one packet of a flow, by a plan's table if it has one.
#[inline]
fn picked(lookup: &Lookup, technique: &dyn Stateless, flow: u64) -> u16 {
    lookup.pick(flow).unwrap_or_else(|| {
        let mut out = [0];
        technique.pick(&[flow], &mut out);
        out[0]
    })
}

/// Members, and the plan and state made of them and of the packets so far.
#[derive(Clone)]
struct Running {
    members: Members,
    technique: Box<dyn Stateful>,
}

impl Running {
    /// Member of one packet of a flow.
    fn pick(&mut self, flow: u64) -> u16 {
        let mut out = [0];
        self.technique.pick(&Batch::of_flows(&[flow]), &mut out);
        out[0]
    }
}

impl Group {
    /// Plans `members` by the technique of that name.
    ///
    /// # Errors
    /// An unknown technique or parameter, or weights beyond the technique's limits.
    pub fn new(technique: &str, members: &Members, parameters: &Parameters) -> Result<Self, PlanError> {
        let row = technique::row(technique)?;
        let members = members.clone();
        let (technique, parameters) = technique::build(row, &members, parameters)?;
        let kind = match technique {
            Technique::Stateless(technique) => {
                Kind::Stateless(Published::new(Planned::new(members, technique, 0)))
            }
            Technique::Stateful(technique) => Kind::Stateful(Owned::new(Running { members, technique })),
        };
        Ok(Self { row, parameters, kind })
    }

    /// Name of the technique.
    #[must_use]
    pub fn technique(&self) -> &'static str {
        self.row.name
    }

    /// When the technique decides, and so what it must be shown.
    #[must_use]
    pub fn granularity(&self) -> Granularity {
        self.row.granularity
    }

    /// Picks the member of one packet of the flow with this key.
    #[inline]
    #[must_use]
    pub fn pick(&self, flow: u64) -> u16 {
        match &self.kind {
            Kind::Stateless(plan) => plan.load().pick(flow),
            Kind::Stateful(state) => state.lock().pick(flow),
        }
    }

    /// Picks the member of every packet of `batch`, in order. An update meanwhile takes effect at some packet of it.
    ///
    /// # Panics
    /// If `out` or a column that is not empty has another length than `batch.flows`.
    pub fn pick_batch(&self, batch: &Batch<'_>, out: &mut [u16]) {
        for (part, out) in parts(batch, out) {
            match &self.kind {
                Kind::Stateless(plan) => plan.load().technique.pick(part.flows, out),
                Kind::Stateful(state) => state.lock().technique.pick(&part, out),
            }
        }
    }

    /// Picks as [`Self::pick_batch`] does, and takes no lock: for a group of one thread.
    ///
    /// # Panics
    /// If `out` or a column that is not empty has another length than `batch.flows`.
    pub fn pick_batch_mut(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        match &mut self.kind {
            Kind::Stateless(_) => self.pick_batch(batch, out),
            Kind::Stateful(state) => {
                check(batch, out);
                state.get_mut().technique.pick(batch, out);
            }
        }
    }

    /// Handle of one thread for picks one by one: it looks whether the plan is another, and takes no reference to it.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(&self.kind)
    }

    /// Plans anew for `members`, moving what the technique's rule moves and no more. Members keep their numbers; a
    /// longer list appends members. Picks that begin after the return see the new plan.
    ///
    /// # Errors
    /// Weights beyond the technique's limits, or fewer members than before: the old plan stands.
    pub fn update(&self, members: &Members) -> Result<(), PlanError> {
        self.update_with(|_| Ok(members.clone()))
    }

    /// Plans anew for the members that `change` makes of the present ones. No other update comes between the two;
    /// `change` must not call the group, which is locked meanwhile.
    ///
    /// # Errors
    /// Those of `change` and of [`Self::update`]: the old plan stands.
    pub fn update_with(
        &self,
        change: impl FnOnce(&Members) -> Result<Members, PlanError>,
    ) -> Result<(), PlanError> {
        match &self.kind {
            Kind::Stateless(plan) => {
                plan.update(|planned| planned.next(change(&planned.members)?, planned.drains.clone()))
            }
            Kind::Stateful(state) => {
                let mut running = state.lock();
                let members = numbered(&running.members, change(&running.members)?)?;
                running.technique.plan(&members)?;
                running.members = members;
                Ok(())
            }
        }
    }

    /// Members of the present plan.
    #[must_use]
    pub fn members(&self) -> Members {
        match &self.kind {
            Kind::Stateless(plan) => plan.load().members.clone(),
            Kind::Stateful(state) => state.lock().members.clone(),
        }
    }

    /// Exact long-run share of each member under a perfect hash, as far as the plan decides it; `None` where the
    /// arrivals decide.
    #[must_use]
    pub fn shares(&self) -> Option<Vec<f64>> {
        match &self.kind {
            Kind::Stateless(plan) => Some(plan.load().technique.shares()),
            Kind::Stateful(state) => state.lock().technique.shares(),
        }
    }

    /// Member of each entry of the table by which the technique picks, for programs that read one of their own: a flow
    /// goes to `table[key % table.len()]`, `key` being the low 32 bits. `None` where the technique computes, as
    /// `log-rendezvous` does, or remembers flows.
    #[must_use]
    pub fn table(&self) -> Option<Vec<u16>> {
        match &self.kind {
            Kind::Stateless(plan) => plan.load().lookup.members(),
            Kind::Stateful(_) => None,
        }
    }

    /// Bytes that a pick reads or writes: plan, tables and counters, without the allocator's own. What only updates read
    /// is in [`Self::history_bytes`].
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        match &self.kind {
            Kind::Stateless(plan) => plan.load().technique.state_bytes(),
            Kind::Stateful(state) => state.lock().technique.state_bytes(),
        }
    }

    /// Bytes that updates read and picks do not: members, weights, and the tables that a technique keeps of earlier
    /// updates. With [`Self::state_bytes`] they are the whole state.
    #[must_use]
    pub fn history_bytes(&self) -> usize {
        let members = |members: &Members| members.len() * (size_of::<u64>() + size_of::<bool>());
        match &self.kind {
            Kind::Stateless(plan) => {
                let planned = plan.load();
                members(&planned.members) + planned.technique.history_bytes()
            }
            Kind::Stateful(state) => {
                let running = state.lock();
                members(&running.members) + running.technique.history_bytes()
            }
        }
    }

    /// How `flow` comes to its member. Does not change the state.
    #[must_use]
    pub fn explain(&self, flow: u64) -> Vec<Step> {
        match &self.kind {
            Kind::Stateless(plan) => plan.load().technique.explain(flow),
            Kind::Stateful(state) => state.lock().technique.explain(flow),
        }
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("technique", &self.technique())
            .field("members", &self.members())
            .finish()
    }
}

/// Refuses a list that would give members other numbers.
fn numbered(before: &Members, now: Members) -> Result<Members, PlanError> {
    if now.len() < before.len() {
        return Err(PlanError::new(
            format!("weights: {} for a group of {} paths", now.len(), before.len()),
            "paths keep their numbers: give one that is gone the weight 0",
        ));
    }
    Ok(now)
}

/// Refuses columns of different lengths.
fn check(batch: &Batch<'_>, out: &[u16]) {
    let len = batch.flows.len();
    assert_eq!(out.len(), len, "out: one member per packet");
    for (name, column) in [("bytes", batch.bytes.len()), ("times_ns", batch.times_ns.len())] {
        assert!(column == 0 || column == len, "{name}: {column} values for {len} packets");
    }
}

/// Parts of a batch, each with its members.
fn parts<'a>(batch: &Batch<'a>, out: &'a mut [u16]) -> impl Iterator<Item = (Batch<'a>, &'a mut [u16])> {
    check(batch, out);
    let batch = *batch;
    (0..).step_by(PART).zip(out.chunks_mut(PART)).map(move |(begin, out)| {
        let end = begin + out.len();
        let part = Batch {
            flows: &batch.flows[begin..end],
            bytes: batch.bytes.get(begin..end).unwrap_or_default(),
            times_ns: batch.times_ns.get(begin..end).unwrap_or_default(),
        };
        (part, out)
    })
}
