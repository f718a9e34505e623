//! Rejection cells: exact shares in a few cells, and nearly the least movement on a change.

use super::picker::{Picker, planned};
use super::{Batch, Granularity, Row, Step, Technique};
use crate::apportion::cells::Layout;
use crate::scheme::Cells;
use crate::scheme::cells::Cell;
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::string::ToString;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "rejection-cells",
    granularity: Granularity::Stateless,
    summary: "random probes of equal cells until one accepts; a changed path moves the minimum",
    source: "rejection sampling over cells; disruption as log-rendezvous for one path",
    build: |members, _| {
        let mut layout = Layout::default();
        layout.plan(&members.effective());
        Ok(Box::new(RejectionCells { picker: picker(layout.cells()), layout }))
    },
};

struct RejectionCells {
    layout: Layout,
    picker: Box<dyn Picker>,
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

impl Technique for RejectionCells {
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        self.layout.plan(&members.effective());
        self.picker = picker(self.layout.cells());
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        self.picker.pick(batch.flows, out);
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(self.layout.shares())
    }

    fn state_bytes(&self) -> usize {
        self.picker.bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let cells = self.layout.cells();
        crate::scheme::cells::probes(flow as u32, cells)
            .map(|(cell, accepted)| Step {
                what: format!("cell {cell} of {}", cells.len()),
                value: if accepted { "accepts" } else { "refuses" }.to_string(),
            })
            .collect()
    }
}
