//! Min-move table, the default: one load per packet, Webster's shares over 2^16 slots, and every change of weights,
//! failure or new path moves the fewest slots there is.

use super::{Batch, Granularity, Parameters, Row, Step, Technique};
use crate::control::SlotTable;
use crate::picks::{Slots, each};
use crate::{Members, PlanError, Still};
use std::boxed::Box;
use std::format;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "min-move",
    granularity: Granularity::Stateless,
    summary: "the default: Webster's shares over 65536 slots (slots=4096: smaller), the fewest slots moved",
    source: "anabranch; Webster 1832",
    build: |members, parameters: &mut Parameters| {
        let technique: Box<dyn Technique> = match parameters.take_choice("slots", &["65536", "4096"])? {
            "65536" => Box::new(MinMove::<65536>::new(members)?),
            _ => Box::new(MinMove::<4096>::new(members)?),
        };
        Ok(technique)
    },
};

/// Bytes where member numbers fit one, which is what keeps the table in the first-level cache.
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

impl<const N: usize> Technique for MinMove<N> {
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        if let (Table::Bytes(narrow), true) = (&self.table, members.len() > BYTES_MAX) {
            self.table = Table::Words(narrow.widened());
        }
        match &mut self.table {
            Table::Bytes(table) => table.plan(members)?,
            Table::Words(table) => table.plan(members)?,
        }
        self.members = members.len();
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        match &self.table {
            Table::Bytes(table) => {
                each::<Slots<u8, N>, _>(table.slots(), &mut (), &mut Still, batch.flows, out);
            }
            Table::Words(table) => {
                each::<Slots<u16, N>, _>(table.slots(), &mut (), &mut Still, batch.flows, out);
            }
        }
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(match &self.table {
            Table::Bytes(table) => table.shares(self.members),
            Table::Words(table) => table.shares(self.members),
        })
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
}
