//! Wino's plan for a pair of leaves: what each path has left, and the slices that are cut of it.

use crate::pair_plan::{PairPlan, PairPlanner, PlanColumn, PlanFact, PlanTable, PlanValue};
use crate::wino::controller::Controller;
use crate::wino::parameters::Wino;
use crate::wino::pick::{Meter, label};
use anabranch_fabric::{Fabric, LinkState, NextHops};
use anabranch_plan::{Slices, overflow_bps};
use anabranch_split::PlanError;

impl PairPlanner for Wino {
    fn plan_pair(
        &self,
        fabric: &Fabric,
        links: &LinkState,
        from: u32,
        to: u32,
    ) -> Result<PairPlan, PlanError> {
        let mut controller = Controller::new(self.clone(), fabric)
            .map_err(|error| PlanError::new(error.problem, error.hint))?;
        controller.learn_links(links);
        let leaves = NextHops::shortest(fabric, links).leaves;
        let number = |node| leaves.iter().position(|&leaf| leaf == node).unwrap_or(0) as u32;
        let (paths, slices) = controller.pair(number(from), number(to))?;
        let names = paths.iter().map(|path| path.names(fabric)).collect();
        let Some(slices) = slices else {
            let [from, to] = [from, to].map(|node| &fabric.nodes()[node as usize].name);
            return Err(PlanError::new(
                format!("no path joins {from} and {to}"),
                "give two leaves that are joined when the run begins",
            ));
        };
        let laid =
            Laid { wino: self, left_bps: paths.iter().map(|path| path.left_bps).collect(), names, slices };
        Ok(PairPlan {
            facts: laid.facts(),
            tables: vec![laid.path_table(), laid.slice_table()],
            notes: laid.notes(),
        })
    }
}

/// Slices with the names of what they are about.
struct Laid<'a> {
    wino: &'a Wino,
    names: Vec<Vec<String>>,
    left_bps: Vec<u64>,
    slices: Slices,
}

impl Laid<'_> {
    fn metered(&self) -> bool {
        self.slices.metered && self.wino.switches.meter != Meter::Off
    }

    /// Burst of each slice's meter, in bytes.
    fn burst_bytes(&self) -> u64 {
        self.wino.slices.depth_bytes(self.slices.slice_bps)
    }

    /// What all meters drop of traffic that fills every slice, in bits per second.
    fn dropped_bps(&self) -> u64 {
        let Slices { slice_bps, path_of, .. } = &self.slices;
        let each = overflow_bps(*slice_bps, self.burst_bytes(), self.wino.slices.frame_bytes);
        if self.metered() { each * path_of.len() as u64 } else { 0 }
    }

    fn facts(&self) -> Vec<PlanFact> {
        let fact = |key, title, value| PlanFact { key, title, value, because: String::new() };
        let total: u64 = self.left_bps.iter().sum();
        let covered = self.slices.slice_bps * self.slices.path_of.len() as u64;
        let mut facts = vec![
            fact("left_bps", "left on all paths", total.into()),
            fact("slice_bps", "slice", self.slices.slice_bps.into()),
            fact("slices", "slices", self.slices.path_of.len().into()),
            fact("waste_bps", "in no slice", total.saturating_sub(covered).into()),
        ];
        if self.metered() {
            facts.push(fact("dropped_bps", "dropped by meters at full load", self.dropped_bps().into()));
        }
        facts
    }

    fn path_table(&self) -> PlanTable {
        let row = |((path, names), &left): ((u16, &Vec<String>), &u64)| {
            let count = self.slices.of_path(path) as u64;
            vec![
                (u64::from(path) + 1).into(),
                PlanValue::names(names.iter().cloned()),
                left.into(),
                count.into(),
                left.saturating_sub(count * self.slices.slice_bps).into(),
            ]
        };
        PlanTable {
            key: "paths".to_owned(),
            title: "Paths: what their narrowest link has left, and how many slices that makes".to_owned(),
            columns: vec![
                PlanColumn::new("path", "path"),
                PlanColumn::new("switches", "switches"),
                PlanColumn::new("left_bps", "left"),
                PlanColumn::new("slices", "slices"),
                PlanColumn::new("waste_bps", "in no slice"),
            ],
            rows: (0..).zip(&self.names).zip(&self.left_bps).map(row).collect(),
        }
    }

    fn slice_table(&self) -> PlanTable {
        let limit = |value: u64| if self.metered() { value.into() } else { PlanValue::None };
        let row = |(slice, &path): (u16, &u16)| {
            vec![
                u64::from(label(slice)).into(),
                (u64::from(path) + 1).into(),
                limit(self.slices.slice_bps),
                limit(self.burst_bytes()),
            ]
        };
        PlanTable {
            key: "slices".to_owned(),
            title: "Slices: labels that hosts mark packets with, in turn".to_owned(),
            columns: vec![
                PlanColumn::new("label", "label"),
                PlanColumn::new("path", "path"),
                PlanColumn::new("meter_bps", "meter"),
                PlanColumn::new("burst_bytes", "burst, bytes"),
            ],
            rows: (0..).zip(&self.slices.path_of).map(row).collect(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let unused =
            (0u16..).zip(&self.left_bps).filter(|&(path, &left)| left > 0 && self.slices.of_path(path) == 0);
        let unused = unused.count();
        let left_out = (unused > 0).then(|| {
            format!("{unused} of {} paths have less than a slice and are not used; lower routing.scheme.slice_min", self.names.len())
        });
        let alike = (!self.slices.metered)
            .then(|| "all paths have the same left: packets take them in turn, without meters".to_owned());
        left_out.into_iter().chain(alike).collect()
    }
}
