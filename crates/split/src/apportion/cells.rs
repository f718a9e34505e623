//! Ownership of rejection cells, with the history that keeps other members' cells where they are.
//!
//! Weights become amounts of acceptance, in [`LEVEL_FULL`]ths of a cell, by one scale. While the scale stays, a
//! member's amount depends on its own weight alone: growing takes free cells, shrinking gives back the latest, so flows
//! move only into the growing or out of the shrinking member, which is the minimum. The scale follows the members whose
//! proportions to each other stay (`4,3,2` to `40,30,15` is a change of the last), and leaves room for one more path of
//! the largest weight. When cells run out, all amounts shrink until they fit, and when three quarters of all probes
//! would be refused, all grow: beyond the minimum that moves the flows of the area lost or won. Only if there are many
//! more members than at first is a new layout made, under which most flows move.

use crate::PlanError;
use crate::history::{expect, refused, words};
use crate::picks::cells::{Cell, LEVEL_FULL};
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

/// Number of cells per member in a new layout: with them the partial cells waste 3 % of the probes.
const CELLS_PER_MEMBER: usize = 16;
/// Number of cells per member below which a layout is too coarse to be kept.
const CELLS_PER_MEMBER_KEPT: usize = 4;
/// Smallest number of cells.
const CELLS_MIN: usize = 64;
/// Largest number of cells: that of a new layout of the largest group.
const CELLS_MAX: usize = 16_384;

/// Cells of one group.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    weights: Vec<u64>,
    /// Acceptance per unit of weight.
    scale: f64,
    amounts: Vec<u64>,
    /// Cells of each member, in order of acquisition; the last may be partial.
    owned: Vec<Vec<u32>>,
    /// Cells without an owner; the last is taken next.
    free: Vec<u32>,
    cells: Vec<Cell>,
}

impl Layout {
    /// Lays out `weights`, at least one of them positive, starting from the current layout.
    pub fn plan(&mut self, weights: &[u64]) {
        self.amounts = match self.kept_scale(weights) {
            Some(scale) => {
                self.scale = scale;
                amounts(weights, scale)
            }
            None => self.clear(weights),
        };
        self.weights = weights.to_vec();
        self.owned.resize(weights.len(), Vec::new());
        self.settle();
    }

    /// Scale, and all cells in the order in which members and then nobody own them, as bytes. With the weights they are
    /// the whole layout.
    #[must_use]
    pub fn history(&self) -> Vec<u8> {
        let cells = self.owned.iter().flatten().chain(&self.free);
        let numbers = cells.flat_map(|&cell| (cell as u16).to_le_bytes());
        self.scale.to_bits().to_le_bytes().into_iter().chain(numbers).collect()
    }

    /// The layout of `weights` that left this history.
    ///
    /// # Errors
    /// Bytes that are no history of a layout of `weights`.
    pub fn recalled(weights: &[u64], bytes: &[u8]) -> Result<Self, PlanError> {
        let Some((&scale, rest)) = bytes.split_first_chunk() else { return Err(refused("no scale")) };
        let scale = f64::from_bits(u64::from_le_bytes(scale));
        expect(scale.is_finite() && scale > 0.0, "a scale that is not positive")?;
        let count = rest.len() / 2;
        let sized = rest.len().is_multiple_of(2) && count.is_power_of_two();
        expect(sized && (CELLS_MIN..=CELLS_MAX).contains(&count), "not a number of cells")?;
        let mut seen = vec![false; count];
        for cell in words(rest) {
            let new = seen.get_mut(usize::from(cell)).is_some_and(|seen| !core::mem::replace(seen, true));
            expect(new, "cells that are not each there once")?;
        }
        let amounts = amounts(weights, scale);
        let needed = amounts.iter().map(|amount| u128::from(amount.div_ceil(LEVEL_FULL))).sum::<u128>();
        expect(needed <= count as u128, "more cells than there are")?;
        let mut cells = words(rest).map(u32::from);
        let owned = |&amount: &u64| cells.by_ref().take(amount.div_ceil(LEVEL_FULL) as usize).collect();
        let owned = amounts.iter().map(owned).collect();
        let mut layout = Self {
            weights: weights.to_vec(),
            scale,
            owned,
            free: cells.collect(),
            cells: vec![Cell::default(); count],
            amounts,
        };
        layout.settle();
        Ok(layout)
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let (owned, free) = (self.owned.iter().map(Vec::len).sum::<usize>(), self.free.len());
        size_of_val(&self.weights[..])
            + size_of_val(&self.amounts[..])
            + (owned + free) * size_of::<u32>()
            + size_of_val(&self.cells[..])
    }

    /// All cells, a power of two.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Share of each member: its accepting area over the total.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let total = self.amounts.iter().map(|&a| a as f64).sum::<f64>();
        self.amounts.iter().map(|&a| a as f64 / total).collect()
    }

    /// Scale under which most of the present acceptance stays, or the nearest that the cells allow; `None` if nothing
    /// can stay.
    fn kept_scale(&self, weights: &[u64]) -> Option<f64> {
        let all = self.cells.len();
        if all < CELLS_PER_MEMBER_KEPT * weights.len() {
            return None;
        }
        let mut kept: BTreeMap<(u64, u64), u128> = BTreeMap::new();
        for ((&old, &new), &amount) in self.weights.iter().zip(weights).zip(&self.amounts) {
            if old > 0 && new > 0 {
                let divisor = gcd(old, new);
                *kept.entry((old / divisor, new / divisor)).or_default() += u128::from(amount);
            }
        }
        let ((old, new), _) = kept.into_iter().max_by_key(|&(_, amount)| amount)?;
        let scale = if old == new { self.scale } else { self.scale * old as f64 / new as f64 };
        let total = weights.iter().sum::<u64>();
        let occupied = total as f64 * scale / LEVEL_FULL as f64;
        if occupied < all as f64 / 4.0 {
            return Some(roomy_scale(all, weights));
        }
        let fits = occupied <= all as f64
            && amounts(weights, scale).iter().map(|a| a.div_ceil(LEVEL_FULL)).sum::<u64>() <= all as u64;
        Some(if fits { scale } else { scale_for(all, weights, total) })
    }

    /// Frees every cell of a new set, and returns the amounts under a new scale.
    fn clear(&mut self, weights: &[u64]) -> Vec<u64> {
        let count = (weights.len() * CELLS_PER_MEMBER).next_power_of_two().max(CELLS_MIN);
        self.cells = vec![Cell::default(); count];
        self.free = (0..count as u32).rev().collect();
        self.owned.clear();
        self.scale = roomy_scale(count, weights);
        amounts(weights, self.scale)
    }

    /// Gives each member the cells of its amount: all shrink before any grows.
    fn settle(&mut self) {
        for (owned, &amount) in self.owned.iter_mut().zip(&self.amounts) {
            let needed = amount.div_ceil(LEVEL_FULL) as usize;
            while owned.len() > needed {
                self.free.extend(owned.pop());
            }
        }
        for (member, (owned, &amount)) in (0..).zip(self.owned.iter_mut().zip(&self.amounts)) {
            let needed = amount.div_ceil(LEVEL_FULL) as usize;
            let taken = self.free.len() - (needed - owned.len());
            owned.extend(self.free.drain(taken..).rev());
            let mut left = amount;
            for &cell in owned.iter() {
                let level = left.min(LEVEL_FULL);
                self.cells[cell as usize] = Cell::new(member, level);
                left -= level;
            }
        }
        // A flow that every probe refused ends in some cell: free ones name the heaviest member.
        let heaviest = (0..self.amounts.len()).rev().max_by_key(|&i| self.amounts[i]).unwrap_or(0);
        for &cell in &self.free {
            self.cells[cell as usize] = Cell::new(heaviest as u16, 0);
        }
    }
}

/// Scale under which `cells` hold `weights` and one more of the largest.
fn roomy_scale(cells: usize, weights: &[u64]) -> f64 {
    scale_for(cells, weights, weights.iter().sum::<u64>() + weights.iter().copied().max().unwrap_or(0))
}

/// Scale under which `cells` hold `total` of weight if every member may leave one cell partly used.
fn scale_for(cells: usize, weights: &[u64], total: u64) -> f64 {
    (cells - weights.len()) as f64 * LEVEL_FULL as f64 / total as f64
}

/// Acceptance of each weight. A positive weight gets at least the smallest acceptance there is.
fn amounts(weights: &[u64], scale: f64) -> Vec<u64> {
    weights.iter().map(|&w| if w == 0 { 0 } else { ((w as f64 * scale).round() as u64).max(1) }).collect()
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
