//! Techniques that give each member whole 32-bit hashes: CDF inversion, weighted random, alias.

use super::picker::{Picker, planned};
use super::{Granularity, Row, Stateless, Step, Technique};
use crate::apportion::alias::columns;
use crate::apportion::cumulative::{HASHES, bounds, widths};
use crate::picks::mix::finalise;
use crate::picks::{Alias, Cumulative, Rehash};
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::string::ToString;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

pub(super) const CDF: Row = Row {
    name: "cdf",
    granularity: Granularity::Stateless,
    summary: "each path owns one interval of the hashes",
    source: "RFC 2992 (hash-threshold) with weights",
    build: |members, _| Ok(Technique::stateless(Interval::new(Layout::Cumulative, members))),
};

pub(super) const WEIGHTED_RANDOM: Row = Row {
    name: "weighted-random",
    granularity: Granularity::Stateless,
    summary: "a second hash of the flow, drawn by cumulative weights",
    source: "VALO sec. 6",
    build: |members, _| Ok(Technique::stateless(Interval::new(Layout::Rehashed, members))),
};

pub(super) const ALIAS: Row = Row {
    name: "alias",
    granularity: Granularity::Stateless,
    summary: "equal columns of hashes, each shared by two paths: one load, one comparison",
    source: "Walker, ACM TOMS 1977; Vose, IEEE TSE 1991",
    build: |members, _| Ok(Technique::stateless(Interval::new(Layout::Alias, members))),
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
    fn new(layout: Layout, members: &Members) -> Self {
        let widths = widths(&members.effective());
        Self { layout, picker: layout.picker(&widths), widths }
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

impl Stateless for Interval {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        Ok(Arc::new(Self::new(self.layout, members)))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        self.picker.pick(flows, out);
    }

    fn shares(&self) -> Vec<f64> {
        self.widths.iter().map(|&w| w as f64 / HASHES as f64).collect()
    }

    fn state_bytes(&self) -> usize {
        self.picker.bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let hash = if self.layout == Layout::Rehashed { finalise(flow as u32) } else { flow as u32 };
        vec![Step { what: "hash".to_string(), value: format!("{hash} of {HASHES}") }]
    }
}
