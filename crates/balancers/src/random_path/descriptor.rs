//! Registry entry of random paths: what they are called, what they need, how they are built.

use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::luopan::keys::visit_cells;
use crate::luopan::parameters::Cells;
use crate::path_book::Routes;
use crate::random_path::pick::RandomPath;
use crate::switches::flowcell_paths::FlowcellPaths;
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::Pick as _;

/// Registry entry of random paths.
pub static RANDOM_PATH: Descriptor = Descriptor {
    name: "random-path",
    granularity: "flowcell",
    decider: Decider::Leaves,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(RandomPaths::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

/// Settings of random paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomPaths {
    /// Unit that follows one path.
    pub cells: Cells,
}

impl LoadBalancer for RandomPaths {
    fn descriptor(&self) -> &'static Descriptor {
        &RANDOM_PATH
    }

    fn needs(&self) -> u32 {
        RandomPath::<Routes>::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        visit_cells(keys, &mut self.cells);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let Cells { bytes, idle_ns } = self.cells;
        let seed = task.settings.seed;
        task.run(|| FlowcellPaths::<RandomPath<Routes>>::new(task.fabric, bytes, idle_ns, seed), None)
    }
}
