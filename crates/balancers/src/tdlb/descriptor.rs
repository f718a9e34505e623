//! Registry entry of TDLB: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use crate::tdlb::parameters::Tdlb;
use crate::tdlb::probe_load;
use crate::tdlb::switch::TdlbBalancer;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of TDLB.
pub static TDLB: Descriptor = Descriptor {
    name: "tdlb",
    granularity: "flowlet",
    decider: Decider::Leaves,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Tdlb::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for Tdlb {
    fn descriptor(&self) -> &'static Descriptor {
        &TDLB
    }

    fn needs(&self) -> u32 {
        TdlbBalancer::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn warnings(&self, fabric: &Fabric, _links: &LinkState) -> Vec<String> {
        probe_load::warning(self, fabric).into_iter().collect()
    }

    /// Which flows share a cell of its array goes by names of connections.
    fn runs_in_parts(&self) -> bool {
        false
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.run(|| TdlbBalancer::new(task.fabric, *self, task.settings.seed), None)
    }
}
