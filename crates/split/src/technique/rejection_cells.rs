//! Rejection cells: exact shares in a few cells, and nearly the least movement on a change.
//!
//! The cells while paths are down follow from those with all paths up, not from what was before: whatever fails and
//! returns in whatever order, the same paths up have the same cells. The cells with all paths up follow from the changes
//! of weights so far.

use super::picker::{Picker, planned};
use super::{Granularity, Row, Stateless, Step, Technique};
use crate::apportion::cells::Layout;
use crate::picks::Cells;
use crate::picks::cells::Cell;
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::string::ToString;
use std::sync::Arc;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "rejection-cells",
    granularity: Granularity::Stateless,
    summary: "random probes of equal cells until one accepts; one changed path moves the minimum; the cells depend on \
              earlier weights, not on failures",
    source: "rejection sampling over cells; disruption as log-rendezvous for one path",
    build: |members, _| Ok(Technique::stateless(RejectionCells::new(Layout::default(), members))),
};

struct RejectionCells {
    /// Layout with all paths up.
    whole: Layout,
    layout: Layout,
    picker: Box<dyn Picker>,
}

impl RejectionCells {
    /// Plans `members` from the cells with all paths up, as they were before.
    fn new(mut whole: Layout, members: &Members) -> Self {
        whole.plan(members.weights().as_slice());
        Self::lessened(whole, members)
    }

    /// Plans `members` from their cells with all paths up.
    fn lessened(whole: Layout, members: &Members) -> Self {
        let mut layout = whole.clone();
        if !members.is_whole() {
            layout.plan(&members.effective());
        }
        Self { picker: picker(layout.cells()), whole, layout }
    }
}

fn picker(cells: &[Cell]) -> Box<dyn Picker> {
    macro_rules! matched {
        ($($n:literal)*) => {
            match cells.len() {
                $($n => match <Box<[Cell; $n]>>::try_from(cells.to_vec()) {
                    Ok(plan) => planned::<Cells<$n>>(plan, 0),
                    Err(_) => unreachable!("the length was matched"),
                },)*
                _ => unreachable!("cells are a power of two from 64 to 16384"),
            }
        };
    }
    matched!(64 128 256 512 1024 2048 4096 8192 16384)
}

impl Stateless for RejectionCells {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        Ok(Arc::new(Self::new(self.whole.clone(), members)))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        self.picker.pick(flows, out);
    }

    fn shares(&self) -> Vec<f64> {
        self.layout.shares()
    }

    fn state_bytes(&self) -> usize {
        self.picker.bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let cells = self.layout.cells();
        crate::picks::cells::probes(flow as u32, cells)
            .map(|(cell, accepted)| Step {
                what: format!("cell {cell} of {}", cells.len()),
                value: if accepted { "accepts" } else { "refuses" }.to_string(),
            })
            .collect()
    }

    fn history(&self) -> Vec<u8> {
        self.whole.history()
    }

    fn recall(&mut self, members: &Members, history: &[u8]) -> Result<(), PlanError> {
        *self = Self::lessened(Layout::recalled(members.weights().as_slice(), history)?, members);
        Ok(())
    }

    fn history_bytes(&self) -> usize {
        self.whole.bytes()
    }
}
