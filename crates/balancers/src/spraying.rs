//! Load balancers whose hosts pick an entropy value for each packet, while switches run their tables.

use crate::descriptor::Descriptor;
use crate::hosts::entropy::Spraying;
use crate::load_balancer::LoadBalancer;
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::Pick as _;
use std::fmt;

/// Parameters of such a load balancer.
pub(crate) trait SprayingParameters: Clone + fmt::Debug + Send + Sync {
    /// The scheme, of which these are the plan.
    type Scheme: Spraying<Plan = Self> + 'static;

    /// Entry of the registry.
    const ENTRY: &'static Descriptor;

    /// Shows the keys of `[routing.scheme]`.
    fn visit(&mut self, keys: &mut AnyKeys<'_>);
}

impl<P: SprayingParameters> LoadBalancer for P {
    fn descriptor(&self) -> &'static Descriptor {
        P::ENTRY
    }

    fn needs(&self) -> u32 {
        P::Scheme::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        SprayingParameters::visit(self, keys);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.by_hosts::<P::Scheme>(self)
    }
}
