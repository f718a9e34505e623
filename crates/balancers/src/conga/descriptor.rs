//! Registry entry of CONGA: what it is called, what it needs, how it is built.

use super::keys;
use crate::conga::pick::Parameters;
use crate::conga::switch::Conga;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of CONGA.
pub static CONGA: Descriptor = Descriptor {
    name: "conga",
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
        &CONGA
    }

    fn needs(&self) -> u32 {
        Conga::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (fabric, salts, seed) = (task.fabric, task.salts(), task.settings.seed);
        task.run(|| Conga::new(*self, fabric, &salts, seed), None)
    }
}
