//! Registry entry of blank-scheme: what it is called, what it needs, how it is built.

use super::{pick, switch};
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::Pick as _;

/// Registry entry of blank-scheme.
pub static BLANK_SCHEME: Descriptor = Descriptor {
    name: "blank-scheme",
    granularity: "packet",
    decider: Decider::Switches,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(pick::Parameters::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for pick::Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        &BLANK_SCHEME
    }

    fn needs(&self) -> u32 {
        pick::BlankScheme::NEEDS
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.run(|| Ok(switch::Switches::new(task.fabric, task.settings.seed)), None)
    }
}
