//! Tables of groups with their home, kept in the kernel beside the plan: whoever plans next goes on where the last one ended.
//!
//! Programs do not read it. It stands in PLANS behind the plans of all groups, in the generation of its plan, so that
//! both come into force in one step.

use crate::body::{Body, Home};
use crate::error::KernelError;
use crate::group::NO_TARGET;
use crate::layout::{Head, MEMBERS, SLOTS, SLOTS_LARGE};
use anabranch_split::control::SlotTable;
use anabranch_split::{Members, PlanError};
use std::boxed::Box;
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

/// Tables by the names of their groups: what a datapath goes on from that has not had these groups yet.
#[derive(Clone, Debug, Default)]
pub struct Tables(pub(crate) BTreeMap<String, Table>);

/// Table of a group.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) members: Members,
    pub(crate) slots: Body,
    pub(crate) home: Option<Home>,
}

impl Tables {
    /// Tables of snapshots of min-move groups, by the names of the groups.
    ///
    /// # Errors
    /// Bytes that are no snapshot of a table of this kernel; the error names the group.
    pub fn restored<'a>(
        snapshots: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, KernelError> {
        let table = |(name, bytes): (&str, &[u8])| {
            let table = Table::restored(bytes)
                .map_err(|error| KernelError::new(format!("group {name}"), format!("{error}")))?;
            Ok((String::from(name), table))
        };
        snapshots.into_iter().map(table).collect::<Result<_, _>>().map(Self)
    }

    /// The tables as snapshots of min-move groups, by the names of the groups.
    ///
    /// # Errors
    /// Tables that name members which their groups do not have.
    pub fn snapshots(&self) -> Result<BTreeMap<&str, Vec<u8>>, KernelError> {
        let snapshot = |(name, table): (&'_ String, &Table)| -> Result<Option<Vec<u8>>, KernelError> {
            let home = table.home.as_ref();
            let made = match (&table.slots, home.map(|home| &home.slots)) {
                (Body::Slots(slots), Some(Body::Slots(at_home))) => {
                    let home = home.map(|home| (&**at_home, &home.asked[..]));
                    SlotTable::resume(slots, home, &table.members).map(|made| made.snapshot(&table.members))
                }
                (Body::SlotsLarge(slots), Some(Body::SlotsLarge(at_home))) => {
                    let home = home.map(|home| (&**at_home, &home.asked[..]));
                    SlotTable::resume(slots, home, &table.members).map(|made| made.snapshot(&table.members))
                }
                _ => return Ok(None),
            };
            made.map(Some).map_err(|error| KernelError::new(format!("group {name}"), format!("{error}")))
        };
        let mut snapshots = BTreeMap::new();
        for (name, table) in &self.0 {
            if let Some(bytes) = snapshot((name, table))? {
                snapshots.insert(name.as_str(), bytes);
            }
        }
        Ok(snapshots)
    }
}

impl Table {
    fn restored(bytes: &[u8]) -> Result<Self, PlanError> {
        match SlotTable::<u8, SLOTS>::restored(bytes) {
            Ok((table, members)) => Ok(Self::new(table, members, Body::Slots)),
            Err(error) => match SlotTable::<u8, SLOTS_LARGE>::restored(bytes) {
                Ok((table, members)) => Ok(Self::new(table, members, Body::SlotsLarge)),
                Err(_) => Err(error),
            },
        }
    }

    fn new<const N: usize>(
        table: SlotTable<u8, N>,
        members: Members,
        body: fn(Box<[u8; N]>) -> Body,
    ) -> Self {
        let (slots, home, asked) = table.into_parts();
        Self { members, slots: body(slots), home: Some(Home { slots: body(home), asked }) }
    }
}

impl Home {
    /// Head of its entry: the weights, and a target of zero for each.
    pub(crate) fn head(&self) -> Head {
        let (mut targets, mut weights) = ([NO_TARGET; MEMBERS], [0; MEMBERS]);
        for ((target, weight), &asked) in targets.iter_mut().zip(&mut weights).zip(&self.asked) {
            (*target, *weight) = (0, asked as u32);
        }
        Head { up: 0, pause_ns: 0, seed: 0, output: 0, targets, weights }
    }

    /// Home of an entry; `None` of one that nobody has written.
    pub(crate) fn read(head: &Head, slots: Body) -> Option<Self> {
        let count = head.targets.iter().position(|&target| target == NO_TARGET).unwrap_or(MEMBERS);
        let asked: Vec<u64> = head.weights[..count].iter().map(|&weight| weight.into()).collect();
        asked.iter().any(|&weight| weight > 0).then_some(Self { slots, asked })
    }
}
