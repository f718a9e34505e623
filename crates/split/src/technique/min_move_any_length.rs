//! Min-move table of any number of slots, as programs have them that take a remainder: 65537 or 16381, say.

use super::Technique;
use super::table::{Layout, Rule, Table};
use crate::apportion::min_move::{fill, rebalance};
use crate::apportion::webster::webster;
use crate::hash::FACTOR_16;
use crate::history::{counts, expect, long_words, refused, words};
use crate::{Members, PlanError, Weights};
use std::format;
use std::vec;
use std::vec::Vec;

const SLOTS_MAX: u32 = 1 << 24;

/// Slots, home and the asked weights of the home, as [`crate::control::SlotTable`] has them.
#[derive(Clone)]
pub(super) struct AnyLength {
    slots: Vec<u16>,
    home: Vec<u16>,
    /// Empty before the first members.
    asked: Vec<u64>,
}

impl AnyLength {
    /// Plans `members` over so many slots.
    pub(super) fn planned(slots: u32, members: &Members) -> Result<Technique, PlanError> {
        if slots == 0 || slots > SLOTS_MAX {
            return Err(PlanError::new(
                format!("slots: {slots} is not from 1 to {SLOTS_MAX}"),
                "give a number of slots, as 4096, 65536 or 65537",
            ));
        }
        if slots.is_multiple_of(FACTOR_16) {
            return Err(PlanError::new(
                format!(
                    "slots: {slots} is a multiple of {FACTOR_16}, the factor of all keys of 16-bit hashes"
                ),
                "give another number, as 65521 or 65537",
            ));
        }
        let home = vec![0; slots as usize];
        Table::planned(Self { slots: home.clone(), home, asked: Vec::new() }, members)
    }
}

impl Rule for AnyLength {
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError> {
        let asked = members.weights().as_slice();
        let positive = asked.iter().filter(|&&weight| weight > 0).count();
        if positive > self.slots.len() {
            return Err(PlanError::new(
                format!("slots: {} for {positive} paths with a positive weight", self.slots.len()),
                "each needs one: a hundred times the paths keeps the error near 1 %",
            ));
        }
        if self.asked.is_empty() {
            fill(&mut self.home, asked);
            self.slots.copy_from_slice(&self.home);
            self.asked = asked.to_vec();
        }
        rebalance(&mut self.slots, &self.home, &members.effective());
        if members.is_whole() && self.asked != asked {
            self.home.copy_from_slice(&self.slots);
            self.asked = asked.to_vec();
        }
        Ok(Layout::Entries(self.slots.clone()))
    }

    fn history(&self) -> Vec<u8> {
        let slots = self.slots.iter().chain(&self.home).flat_map(|slot| slot.to_le_bytes());
        slots.chain(self.asked.iter().flat_map(|weight| weight.to_le_bytes())).collect()
    }

    fn recall(&mut self, members: &Members, history: &[u8]) -> Result<Layout, PlanError> {
        let width = 2 * self.slots.len();
        let tables = history
            .split_at_checked(width)
            .and_then(|(slots, rest)| rest.split_at_checked(width).map(|(home, asked)| (slots, home, asked)));
        let Some((slots, home, asked)) = tables else { return Err(refused("not two tables of the slots")) };
        expect(asked.len().is_multiple_of(8), "asked weights of a broken number of bytes")?;
        let asked = Weights::new(long_words(asked).collect())?;
        expect(asked.as_slice().len() <= members.len(), "more asked weights than paths")?;
        expect(!members.is_whole() || asked == *members.weights(), "asked weights that are not those asked")?;
        for (table, weights) in [(slots, &members.effective()[..]), (home, asked.as_slice())] {
            let right = counts(words(table), weights.len())? == webster(weights, self.slots.len() as u32);
            expect(right, "a table whose shares are not those of its weights")?;
        }
        self.slots = words(slots).collect();
        self.home = words(home).collect();
        self.asked = asked.as_slice().to_vec();
        Ok(Layout::Entries(self.slots.clone()))
    }

    fn history_bytes(&self) -> usize {
        size_of_val(&self.slots[..]) + size_of_val(&self.home[..]) + size_of_val(&self.asked[..])
    }
}
