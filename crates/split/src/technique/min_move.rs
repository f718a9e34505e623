//! Min-move table, the default: one load per packet, Webster's shares over 2^16 slots, and every change of weights,
//! failure or new path moves the fewest slots there is.

use super::min_move_any_length::AnyLength;
use super::{Granularity, Lookup, Parameters, Row, Stateless, Step, Technique};
use crate::control::SlotTable;
use crate::picks::{Slots, each};
use crate::{Members, PlanError, Still};
use std::format;
use std::string::ToString;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

pub(crate) const NAME: &str = "min-move";

pub(super) const ROW: Row = Row {
    name: NAME,
    granularity: Granularity::Stateless,
    summary: "the default: Webster's shares over 65536 `slots` (or any other number), the fewest slots moved",
    source: "anabranch; Webster 1832",
    build: |members, parameters: &mut Parameters| match parameters.take("slots", 65_536u32)? {
        65_536 => Ok(Technique::stateless(MinMove::<65_536>::new(members)?)),
        4_096 => Ok(Technique::stateless(MinMove::<4_096>::new(members)?)),
        other => AnyLength::planned(other, members),
    },
};

/// Bytes where member numbers fit one, which is what keeps the table in the first-level cache.
#[derive(Clone)]
enum Table<const N: usize> {
    Bytes(SlotTable<u8, N>),
    Words(SlotTable<u16, N>),
}

struct MinMove<const N: usize> {
    table: Table<N>,
    members: usize,
}

/// Members up to which a slot is one byte.
const BYTES_MAX: usize = 256;

impl<const N: usize> MinMove<N> {
    fn new(members: &Members) -> Result<Self, PlanError> {
        let table = if members.len() <= BYTES_MAX {
            Table::Bytes(SlotTable::new(members)?)
        } else {
            Table::Words(SlotTable::new(members)?)
        };
        Ok(Self { table, members: members.len() })
    }
}

impl<const N: usize> Stateless for MinMove<N> {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        let mut table = match &self.table {
            Table::Bytes(narrow) if members.len() > BYTES_MAX => Table::Words(narrow.widened()),
            table => table.clone(),
        };
        match &mut table {
            Table::Bytes(table) => table.plan(members)?,
            Table::Words(table) => table.plan(members)?,
        }
        Ok(Arc::new(Self { table, members: members.len() }))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        match &self.table {
            Table::Bytes(table) => each::<Slots<u8, N>, _>(table.slots(), &mut (), &mut Still, flows, out),
            Table::Words(table) => each::<Slots<u16, N>, _>(table.slots(), &mut (), &mut Still, flows, out),
        }
    }

    fn lookup(&self) -> Lookup {
        match &self.table {
            Table::Bytes(table) => Lookup::Bytes(table.shared()),
            Table::Words(table) => Lookup::Words(table.shared()),
        }
    }

    fn shares(&self) -> Vec<f64> {
        match &self.table {
            Table::Bytes(table) => table.shares(self.members),
            Table::Words(table) => table.shares(self.members),
        }
    }

    fn state_bytes(&self) -> usize {
        match &self.table {
            Table::Bytes(table) => size_of_val(table.slots()),
            Table::Words(table) => size_of_val(table.slots()),
        }
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        vec![Step { what: "slot".to_string(), value: format!("{} of {N}", flow as usize & (N - 1)) }]
    }

    fn history(&self) -> Vec<u8> {
        match &self.table {
            Table::Bytes(table) => table.history(),
            Table::Words(table) => table.history(),
        }
    }

    fn recall(&mut self, members: &Members, history: &[u8]) -> Result<(), PlanError> {
        match &mut self.table {
            Table::Bytes(table) => *table = SlotTable::recalled(members, history)?,
            Table::Words(table) => *table = SlotTable::recalled(members, history)?,
        }
        Ok(())
    }

    fn history_bytes(&self) -> usize {
        match &self.table {
            Table::Bytes(table) => table.history_bytes(),
            Table::Words(table) => table.history_bytes(),
        }
    }
}
