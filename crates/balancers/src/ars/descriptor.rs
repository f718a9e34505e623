//! Registry entry of ARS: what it is called, what it needs, how it is built.

use super::keys;
use crate::ars::pick::Parameters;
use crate::ars::switch::{Ars, NEEDS, Unknown};
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of ARS.
pub static ARS: Descriptor = Descriptor {
    name: "ars",
    granularity: "flowlet",
    decider: Decider::Switches,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Parameters::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        &ARS
    }

    fn needs(&self) -> u32 {
        NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (fabric, salts, seed) = (task.fabric, task.salts(), task.settings.seed);
        task.run(|| Ok(Ars::new(*self, Unknown, fabric, &salts, seed)), None)
    }
}
