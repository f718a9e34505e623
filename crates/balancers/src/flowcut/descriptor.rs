//! Registry entry of Flowcut: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::flowcut::pick::Parameters;
use crate::flowcut::switch::Flowcut;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of Flowcut.
pub static FLOWCUT: Descriptor = Descriptor {
    name: "flowcut",
    granularity: "flowlet",
    decider: Decider::Leaves,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Parameters::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        &FLOWCUT
    }

    fn needs(&self) -> u32 {
        Flowcut::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    /// Answers go by a path that the name of the connection gives.
    fn runs_in_parts(&self) -> bool {
        false
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.run(|| Flowcut::new(*self, task.fabric, task.settings.seed), None)
    }
}
