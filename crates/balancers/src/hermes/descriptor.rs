//! Registry entry of Hermes: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Elsewhere, Runs};
use crate::hermes::host::HermesHosts;
use crate::hermes::pick::Parameters;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of Hermes.
pub static HERMES: Descriptor = Descriptor {
    name: "hermes",
    granularity: "flow",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Parameters::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: Some(Elsewhere::Rack("what probes of its rack found")),
};

impl LoadBalancer for Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        &HERMES
    }

    fn needs(&self) -> u32 {
        HermesHosts::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let hosts = || HermesHosts::new(self, task.fabric, task.settings.seed);
        task.by_tables(Some(&mut || Ok(Box::new(hosts()?))))
    }
}
