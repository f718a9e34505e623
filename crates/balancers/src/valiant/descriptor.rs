//! Registry entry of Valiant's routing: what it is called, what it needs, how it is built.

use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use crate::valiant::detours::{DetourRule, Paths};
use crate::valiant::pick::Valiant;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::{Pick as _, capability};

/// Registry entry of Valiant's routing.
pub static VALIANT: Descriptor = Descriptor {
    name: "valiant",
    granularity: "flow",
    decider: Decider::Leaves,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(RandomDetours)),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

/// Settings of Valiant's routing: there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RandomDetours;

impl DetourRule for RandomDetours {
    type Pick<'a> = Valiant<Paths<'a, Self>>;
}

impl LoadBalancer for RandomDetours {
    fn descriptor(&self) -> &'static Descriptor {
        &VALIANT
    }

    fn needs(&self) -> u32 {
        Valiant::<Paths<'_, Self>>::NEEDS | capability::TAG
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.by_detours(*self, VALIANT.name)
    }
}
