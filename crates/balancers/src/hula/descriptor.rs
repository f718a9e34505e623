//! Registry entry of HULA: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::hula::pick::Parameters;
use crate::hula::switch::Hula;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of HULA.
pub static HULA: Descriptor = Descriptor {
    name: "hula",
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
        &HULA
    }

    fn needs(&self) -> u32 {
        Hula::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.run(|| Hula::new(*self, task.fabric, task.settings.seed), None)
    }
}
