//! Registry entry of GLB: what it is called, what it needs, how it is built.

use super::keys;
use crate::ars::switch::{Ars, NEEDS};
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::glb::neighbours::Neighbours;
use crate::glb::pick::Parameters;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::capability;

/// Registry entry of GLB.
pub static GLB: Descriptor = Descriptor {
    name: "glb",
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
        &GLB
    }

    fn needs(&self) -> u32 {
        NEEDS | capability::PROBE
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (fabric, salts, seed) = (task.fabric, task.salts(), task.settings.seed);
        let made = || {
            let neighbours = Neighbours::new(fabric, self.period_ns);
            Ok(Ars::new(self.local, neighbours, fabric, &salts, seed))
        };
        task.run(made, None)
    }
}
