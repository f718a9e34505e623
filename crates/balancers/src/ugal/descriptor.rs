//! Registry entries of UGAL, with local and with global knowledge of queues.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Elsewhere, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use crate::ugal::pick::{Compared, Parameters, Ugal};
use crate::valiant::detours::{DetourRule, Paths};
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::{Pick as _, capability};

const fn entry(name: &'static str, scheme: fn() -> Scheme, reads_elsewhere: Option<Elsewhere>) -> Descriptor {
    Descriptor {
        name,
        granularity: "flow",
        decider: Decider::Leaves,
        page: include_str!("page.md"),
        weights: DefaultWeights::Equal,
        build: Build::Scheme(scheme),
        runs: Runs::SIMULATOR,
        reads_elsewhere,
    }
}

/// UGAL by the queues of the router that decides.
pub static UGAL_L: Descriptor = entry("ugal-l", || Scheme::new(Parameters::LOCAL), None);

/// UGAL by the queues of all routers.
pub static UGAL_G: Descriptor = entry(
    "ugal-g",
    || Scheme::new(Parameters::GLOBAL),
    Some(Elsewhere::Fabric("backlogs of all ports of the compared paths, at the moment of the decision")),
);

impl DetourRule for Parameters {
    type Pick<'a> = Ugal<Paths<'a, Self>>;

    fn reads_all_ports(&self) -> bool {
        self.global
    }
}

impl Compared for Paths<'_, Parameters> {
    fn parameters(&self) -> Parameters {
        *self.rule()
    }
}

impl LoadBalancer for Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        if self.global { &UGAL_G } else { &UGAL_L }
    }

    fn needs(&self) -> u32 {
        Ugal::<Paths<'_, Self>>::NEEDS | capability::TAG
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.by_detours(*self, self.descriptor().name)
    }
}
