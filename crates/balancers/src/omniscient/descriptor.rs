//! Registry entry of the omniscient yardstick: what it is called, what it needs, how it is built.

use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Elsewhere, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::luopan::keys::visit_cells;
use crate::luopan::parameters::Cells;
use crate::omniscient::pick::Omniscient;
use crate::path_book::Routes;
use crate::switches::flowcell_paths::FlowcellPaths;
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::Pick as _;

/// Registry entry of the omniscient yardstick.
pub static OMNISCIENT: Descriptor = Descriptor {
    name: "omniscient",
    granularity: "flowcell",
    decider: Decider::Leaves,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Cells::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: Some(Elsewhere::Fabric(
        "backlogs of all ports of all paths, at the moment of the decision",
    )),
};

impl LoadBalancer for Cells {
    fn descriptor(&self) -> &'static Descriptor {
        &OMNISCIENT
    }

    fn needs(&self) -> u32 {
        Omniscient::<[[u16; 1]]>::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        visit_cells(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let Self { bytes, idle_ns } = *self;
        let seed = task.settings.seed;
        task.run(|| FlowcellPaths::<Omniscient<Routes>>::new(task.fabric, bytes, idle_ns, seed), None)
    }
}
