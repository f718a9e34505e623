//! Registry entry of ConWeave: what it is called, what it needs, how it is built.

use super::keys;
use crate::conweave::pick::Parameters;
use crate::conweave::switch::ConWeave;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of ConWeave.
pub static CONWEAVE: Descriptor = Descriptor {
    name: "conweave",
    granularity: "flow",
    decider: Decider::Leaves,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Parameters::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        &CONWEAVE
    }

    fn needs(&self) -> u32 {
        ConWeave::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    /// Answers go by a path that the name of the connection gives.
    fn runs_in_parts(&self) -> bool {
        false
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (framing, salts, seed) = (task.settings.framing, task.salts(), task.settings.seed);
        task.run(|| ConWeave::new(*self, framing, task.fabric, &salts, seed), None)
    }
}
