//! Registry entry of the ideal split: flows dealt to paths beforehand.

use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Elsewhere, Runs};
use crate::ideal::spread::spread_exactly;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_sim::{Outcome, SimulationError};

/// Flows are pinned in the order they begin, so that the flows of two leaves share the paths between them exactly by
/// weight: the yardstick of the VALO paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ideal;

/// Registry entry of the ideal split.
pub static IDEAL: Descriptor = Descriptor {
    name: "ideal",
    granularity: "flow",
    decider: Decider::Beforehand,
    page: include_str!("page.md"),
    weights: DefaultWeights::Capacity,
    build: Build::Scheme(|| Scheme::new(Ideal)),
    runs: Runs::SIMULATOR,
    reads_elsewhere: Some(Elsewhere::Fabric("all flows to come")),
};

impl LoadBalancer for Ideal {
    fn descriptor(&self) -> &'static Descriptor {
        &IDEAL
    }

    fn needs(&self) -> u32 {
        0
    }

    fn reads_flows_to_come(&self) -> bool {
        true
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let Task { fabric, flows, settings, .. } = task;
        let flows = spread_exactly(fabric, flows, &settings.balancing.weighing, &settings.changes)?;
        Task { flows: &flows, ..task }.by_tables(None)
    }
}
