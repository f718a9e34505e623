//! Min-move table, the default: one load per packet, Webster's shares over 2^16 slots, and every change of weights,
//! failure or new path moves the fewest slots there is.

use super::{Batch, Granularity, Parameters, Row, Step, Technique};
use crate::apportion::min_move::{fill, rebalance};
use crate::scheme::{Slots, each};
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
            "65536" => Box::new(MinMove::<65536>::new(members)),
            _ => Box::new(MinMove::<4096>::new(members)),
        };
        Ok(technique)
    },
};

/// Bytes where member numbers fit one, which is what keeps the table in the first-level cache.
enum Table<const N: usize> {
    Bytes(Slotted<u8, N>),
    Words(Slotted<u16, N>),
}

/// The table that picks read, and the one that failures are mended back to: that of the last plan with all alive.
struct Slotted<P, const N: usize> {
    slots: Box<[P; N]>,
    home: Box<[P; N]>,
}

impl<P: Copy + Default + TryFrom<u16> + Into<u16>, const N: usize> Slotted<P, N> {
    fn new(weights: &[u64]) -> Self {
        let mut slots = boxed::<P, N>();
        fill(&mut slots[..], weights);
        Self { home: slots.clone(), slots }
    }

    fn plan(&mut self, weights: &[u64], all_up: bool) {
        rebalance(&mut self.slots[..], &self.home[..], weights);
        if all_up {
            self.home.copy_from_slice(&self.slots[..]);
        }
    }

    fn counts(&self, members: usize) -> Vec<u32> {
        let mut counts = vec![0; members];
        self.slots.iter().for_each(|&m| counts[usize::from(m.into())] += 1);
        counts
    }
}

struct MinMove<const N: usize> {
    table: Table<N>,
    members: usize,
}

/// Members up to which a slot is one byte.
const BYTES_MAX: usize = 256;

impl<const N: usize> MinMove<N> {
    fn new(members: &Members) -> Self {
        let weights = members.effective();
        let table = if weights.len() <= BYTES_MAX {
            Table::Bytes(Slotted::new(&weights))
        } else {
            Table::Words(Slotted::new(&weights))
        };
        Self { table, members: members.len() }
    }
}

/// `N` zeros on the heap, never on the stack.
fn boxed<P: Copy + Default, const N: usize>() -> Box<[P; N]> {
    match vec![P::default(); N].into_boxed_slice().try_into() {
        Ok(table) => table,
        Err(_) => unreachable!("a vector of N entries is an array of N"),
    }
}

impl<const N: usize> Technique for MinMove<N> {
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        let weights = members.effective();
        if let (Table::Bytes(narrow), true) = (&self.table, weights.len() > BYTES_MAX) {
            let widen = |from: &[u8; N]| {
                let mut words = boxed::<u16, N>();
                words.iter_mut().zip(from).for_each(|(word, &byte)| *word = u16::from(byte));
                words
            };
            self.table = Table::Words(Slotted { slots: widen(&narrow.slots), home: widen(&narrow.home) });
        }
        let all_up = members.up().iter().all(|&up| up);
        match &mut self.table {
            Table::Bytes(table) => table.plan(&weights, all_up),
            Table::Words(table) => table.plan(&weights, all_up),
        }
        self.members = weights.len();
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        match &self.table {
            Table::Bytes(table) => {
                each::<Slots<u8, N>, _>(&table.slots, &mut (), &mut Still, batch.flows, out);
            }
            Table::Words(table) => {
                each::<Slots<u16, N>, _>(&table.slots, &mut (), &mut Still, batch.flows, out);
            }
        }
    }

    fn shares(&self) -> Option<Vec<f64>> {
        let counts = match &self.table {
            Table::Bytes(table) => table.counts(self.members),
            Table::Words(table) => table.counts(self.members),
        };
        Some(counts.into_iter().map(|count| f64::from(count) / N as f64).collect())
    }

    fn state_bytes(&self) -> usize {
        match &self.table {
            Table::Bytes(table) => size_of_val(&table.slots[..]),
            Table::Words(table) => size_of_val(&table.slots[..]),
        }
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        vec![Step { what: "slot".to_string(), value: format!("{} of {N}", flow as usize & (N - 1)) }]
    }
}
