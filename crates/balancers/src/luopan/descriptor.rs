//! Registry entry of Luopan: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Elsewhere, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::luopan::parameters::{Luopan, Probing};
use crate::luopan::switch::LuopanBalancer;
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of Luopan.
pub static LUOPAN: Descriptor = Descriptor {
    name: "luopan",
    granularity: "flowcell",
    decider: Decider::Leaves,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Luopan::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for Luopan {
    fn descriptor(&self) -> &'static Descriptor {
        &LUOPAN
    }

    fn needs(&self) -> u32 {
        LuopanBalancer::NEEDS
    }

    fn reads_elsewhere(&self) -> Option<Elsewhere> {
        (self.probing != Probing::Packets)
            .then_some(Elsewhere::Fabric("ports of other switches, unless `probing` is \"packets\""))
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.run(|| LuopanBalancer::new(task.fabric, *self, task.settings.seed), None)
    }
}
