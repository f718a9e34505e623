//! Techniques that give each member whole 32-bit hashes: CDF inversion, weighted random, alias.

use super::picker::{Picker, planned};
use super::{Batch, Granularity, Row, Step, Technique};
use crate::apportion::alias::columns;
use crate::apportion::cumulative::{HASHES, bounds, widths};
use crate::picks::mix::finalise;
use crate::picks::{Alias, Cumulative, Rehash};
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

pub(super) const CDF: Row = Row {
    name: "cdf",
    granularity: Granularity::Stateless,
    summary: "each path owns one interval of the hashes",
    source: "RFC 2992 (hash-threshold) with weights",
    build: |members, _| Interval::boxed(Layout::Cumulative, members),
};

pub(super) const WEIGHTED_RANDOM: Row = Row {
    name: "weighted-random",
    granularity: Granularity::Stateless,
    summary: "a second hash of the flow, drawn by cumulative weights",
    source: "VALO sec. 6",
    build: |members, _| Interval::boxed(Layout::Rehashed, members),
};

pub(super) const ALIAS: Row = Row {
    name: "alias",
    granularity: Granularity::Stateless,
    summary: "equal columns of hashes, each shared by two paths: one load, one comparison",
    source: "Walker, ACM TOMS 1977; Vose, IEEE TSE 1991",
    build: |members, _| Interval::boxed(Layout::Alias, members),
};

/// How the hashes of a member lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Cumulative,
    Rehashed,
    Alias,
}

struct Interval {
    layout: Layout,
    widths: Vec<u64>,
    picker: Box<dyn Picker>,
}

impl Interval {
    fn boxed(layout: Layout, members: &Members) -> Result<Box<dyn Technique>, PlanError> {
        let widths = widths(&members.effective());
        Ok(Box::new(Self { layout, picker: layout.picker(&widths), widths }))
    }
}

impl Layout {
    /// The least plan that holds the members.
    fn picker(self, widths: &[u64]) -> Box<dyn Picker> {
        macro_rules! least {
            ($($n:literal)*) => {
                match widths.len() {
                    $(0..=$n => match self {
                        Self::Cumulative => planned::<Cumulative<$n>>(Box::new(bounds(widths)), 0),
                        Self::Rehashed => planned::<Rehash<Cumulative<$n>>>(Box::new(bounds(widths)), 0),
                        Self::Alias => planned::<Alias<$n>>(columns(widths), 0),
                    },)*
                    _ => unreachable!("a group has at most 1024 members"),
                }
            };
        }
        least!(4 8 16 64 256 1024)
    }
}

impl Technique for Interval {
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        self.widths = widths(&members.effective());
        self.picker = self.layout.picker(&self.widths);
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        self.picker.pick(batch.flows, out);
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(self.widths.iter().map(|&w| w as f64 / HASHES as f64).collect())
    }

    fn state_bytes(&self) -> usize {
        self.picker.bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let hash = if self.layout == Layout::Rehashed { finalise(flow as u32) } else { flow as u32 };
        vec![Step { what: "hash".to_string(), value: format!("{hash} of {HASHES}") }]
    }
}
