//! Schemes that switches run, with the control half of each ([`anabranch_split::control`]).

use crate::tables::drill::{self, Drill};
use anabranch_split::apportion::{cumulative, gravity, quotas, turns, wcmp};
use anabranch_split::control::{self, SlotTable};
use anabranch_split::picks::cumulative as cumulative_bounds;
use anabranch_split::picks::{
    Cumulative, Cycle, Modulo, Pick, Quota, Score, Score16, Slots, Uniform, modulo, quota, score, score16,
};
use anabranch_split::{Members, PlanError, Weights};

/// Slots of a min-move table.
const SLOTS: usize = 1 << 16;

/// A scheme together with its control half, as the simulator's switches run it: one plan per group of next hops, shared
/// by the groups that have the same weights and history, and one state per group.
///
/// The switch calls [`Pick::pick`] where a group has several members, and none of the scheme's other hooks. It gives
/// the scheme a clock, random numbers and the backlogs of the members' ports ([`anabranch_split::capability`]); in the
/// packet it fills in [`flow`](anabranch_split::Packet::flow) (the low half is the hash by which this switch
/// chooses), `bytes` (the frame) and `destination` (the leaf's number). What stays together (flows, flowlets, flowcells)
/// is the scenario's business: the scheme is asked once for each, with random bits for a hash unless it is whole flows of
/// a [sticky](Self::STICKY) scheme.
///
/// Schemes outside this crate run by [`crate::simulate_with`].
pub trait Planned: Pick<State: Default + Clone> {
    /// Whether the same hash gets the same member, so that flows stay together without being remembered.
    const STICKY: bool = true;
    /// Whether picks depend on the hash at all. If so, and each packet decides for itself, the hash is random.
    const HASHES: bool = true;
    /// A plan as it is stored.
    type Stored: AsRef<Self::Plan>;
    /// Settings of the scheme, which the control half takes beside weights.
    type Parameters: Clone + Send + Sync;

    /// Weights to plan, one per member, one of them at least positive. A member of weight zero must not be picked: it is
    /// dead, or no way leads on from it. `old` is the plan it replaces. Called at the start, and whenever routing, a port
    /// that dies or returns, or a [`crate::Weigher`] changes the weights.
    ///
    /// # Errors
    /// Weights that this scheme cannot hold.
    fn plan(
        parameters: &Self::Parameters,
        weights: &[u64],
        old: Option<&Self::Stored>,
    ) -> Result<Self::Stored, PlanError>;

    /// The state of a new group of so many members.
    fn state(_members: usize) -> Self::State {
        Self::State::default()
    }

    /// A member's weight is zero now: nothing goes to it any more.
    fn forget(_state: &mut Self::State, _member: u16) {}
}

impl Planned for Uniform {
    type Stored = Box<[u16]>;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], _old: Option<&Self::Stored>) -> Result<Self::Stored, PlanError> {
        Ok(control::living(weights).into())
    }
}

/// A min-move table, as stored.
pub struct MinMoveTable(SlotTable<u8, SLOTS>);

impl AsRef<[u8; SLOTS]> for MinMoveTable {
    #[inline(always)]
    fn as_ref(&self) -> &[u8; SLOTS] {
        self.0.slots()
    }
}

impl Planned for MinMove {
    type Stored = MinMoveTable;
    type Parameters = ();

    /// The weights of a group as it was built are those that were asked for; less is what failures leave of them.
    fn plan(_: &(), weights: &[u64], old: Option<&MinMoveTable>) -> Result<MinMoveTable, PlanError> {
        let left = Weights::new(weights.to_vec())?;
        let Some(MinMoveTable(old)) = old else {
            return SlotTable::new(&Members::all_up(left)).map(MinMoveTable);
        };
        let mut table = old.clone();
        table.plan(&Members::lessened(Weights::new(old.asked().to_vec())?, left))?;
        Ok(MinMoveTable(table))
    }
}

/// Entries of a table that is indexed by `hash % length`.
pub struct ModuloEntries(modulo::ModuloTable<Box<[u16]>>);

impl AsRef<modulo::ModuloTable<Box<[u16]>>> for ModuloEntries {
    fn as_ref(&self) -> &modulo::ModuloTable<Box<[u16]>> {
        &self.0
    }
}

impl Planned for Wcmp {
    type Stored = ModuloEntries;
    /// Most entries.
    type Parameters = u32;

    fn plan(&most: &u32, weights: &[u64], _old: Option<&ModuloEntries>) -> Result<ModuloEntries, PlanError> {
        let entries = control::wcmp(weights, most)?;
        let Some(table) = modulo::ModuloTable::new(entries.into()) else {
            unreachable!("a member with a positive weight has an entry")
        };
        Ok(ModuloEntries(table))
    }
}

impl Planned for Score {
    type Stored = Box<[score::Entry]>;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], _old: Option<&Self::Stored>) -> Result<Self::Stored, PlanError> {
        Ok(gravity::entries(weights).into())
    }
}

impl Planned for Score16 {
    type Stored = Box<[score16::Bucket]>;
    /// Most entries to which WCMP reduces the weights first; none: as they are.
    type Parameters = Option<u32>;

    fn plan(
        entries: &Option<u32>,
        weights: &[u64],
        _old: Option<&Self::Stored>,
    ) -> Result<Self::Stored, PlanError> {
        let reduced = entries.map(|most| wcmp::proportional(weights, most, wcmp::Floor::One));
        // Open vSwitch's buckets count from one here.
        control::buckets(reduced.as_deref().unwrap_or(weights), 1).map(Into::into)
    }
}

impl Planned for Cycle {
    const STICKY: bool = false;
    const HASHES: bool = false;
    type Stored = Box<[u16]>;
    /// Whether all turns of a member follow each other.
    type Parameters = bool;

    fn plan(&block: &bool, weights: &[u64], _old: Option<&Self::Stored>) -> Result<Self::Stored, PlanError> {
        let sequence = if block { turns::block(weights) } else { turns::smooth(weights) };
        sequence.map(Vec::into_boxed_slice)
    }
}

/// Members of a table of intervals.
const INTERVALS: usize = 256;

/// Intervals, as stored.
pub struct Intervals(Box<cumulative_bounds::Bounds<INTERVALS>>);

impl AsRef<cumulative_bounds::Bounds<INTERVALS>> for Intervals {
    fn as_ref(&self) -> &cumulative_bounds::Bounds<INTERVALS> {
        &self.0
    }
}

impl Planned for HashIntervals {
    type Stored = Intervals;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], _old: Option<&Intervals>) -> Result<Intervals, PlanError> {
        control::check_members("a table of intervals", weights.len(), INTERVALS)?;
        Ok(Intervals(Box::new(cumulative::bounds(&cumulative::widths(weights)))))
    }
}

/// Periods, as stored.
pub struct Periods(Box<[u64]>);

impl AsRef<[u64]> for Periods {
    fn as_ref(&self) -> &[u64] {
        &self.0
    }
}

impl AsRef<Self> for Periods {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Planned for Deficit {
    const STICKY: bool = false;
    const HASHES: bool = false;
    type Stored = Periods;
    type Parameters = ();

    fn plan(_: &(), weights: &[u64], _old: Option<&Periods>) -> Result<Periods, PlanError> {
        Ok(Periods(quotas::periods(weights).into()))
    }

    fn state(members: usize) -> quota::State<Box<[u32]>> {
        quota::State { placed: vec![0; members].into(), total: 0 }
    }

    /// Forgets what was placed until now, by other quotas.
    fn forget(state: &mut quota::State<Box<[u32]>>, _member: u16) {
        state.placed.fill(0);
        state.total = 0;
    }
}

/// Most queues that a switch remembers for a group.
const MEMORY_MAX: usize = 8;
/// Most entries by which members are drawn; weights beyond are scaled to them.
const ENTRIES_MAX: u32 = 1024;

/// Whom to sample, as stored.
pub struct Samples(drill::Plan<Box<[u16]>>);

impl AsRef<drill::Plan<Box<[u16]>>> for Samples {
    fn as_ref(&self) -> &drill::Plan<Box<[u16]>> {
        &self.0
    }
}

impl Planned for ShortestQueue {
    const STICKY: bool = false;
    const HASHES: bool = false;
    type Stored = Samples;
    /// Samples and memory.
    type Parameters = (u16, u16);

    fn plan(
        &(samples, memory): &(u16, u16),
        weights: &[u64],
        _old: Option<&Samples>,
    ) -> Result<Samples, PlanError> {
        let entries = control::wcmp(weights, ENTRIES_MAX.max(weights.len() as u32))?.into();
        Ok(Samples(drill::Plan { entries, samples, memory }))
    }

    fn forget(state: &mut drill::State<MEMORY_MAX>, _member: u16) {
        *state = drill::State::default();
    }
}

/// Pick of the table `min-move`.
pub(crate) type MinMove = Slots<u8, SLOTS>;
/// Pick of the table `wcmp`.
pub(crate) type Wcmp = Modulo<Box<[u16]>>;
/// Pick of the table `intervals`.
pub(crate) type HashIntervals = Cumulative<INTERVALS>;
/// Pick of the table `deficit`.
pub(crate) type Deficit = Quota<Periods, Box<[u32]>>;
/// Pick of the table `shortest-queue`.
pub(crate) type ShortestQueue = Drill<Box<[u16]>, MEMORY_MAX>;
