//! Registry entry of DBB: what it is called, what it needs, how it is built.

use super::keys;
use crate::dbb::cycles::Controller;
use crate::dbb::parameters::Dbb;
use crate::dbb::pick::Counter;
use crate::dbb::switch::DbbBalancer;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, KernelProgram, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::pair_plan::PairPlanner;
use crate::task::Task;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Silence after which a flow's counter is forgotten.
const IDLE_NS: u64 = 100_000_000;

const RUNS: Runs = Runs {
    kernel: Some(KernelProgram {
        programs: &["cycle"],
        unit: "turn",
        weighted: true,
        pause_ns: None,
        output: "",
    }),
    kernel_variant: Some((
        "counter",
        "independent",
        KernelProgram {
            programs: &["flow_cycle"],
            unit: "turn",
            weighted: true,
            pause_ns: Some(IDLE_NS),
            output: "",
        },
    )),
    ..Runs::SIMULATOR
};

/// Registry entry of DBB.
pub static DBB: Descriptor = Descriptor {
    name: "dbb",
    granularity: "packet",
    decider: Decider::Switches,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Dbb::default())),
    runs: RUNS,
    reads_elsewhere: None,
};

impl LoadBalancer for Dbb {
    fn descriptor(&self) -> &'static Descriptor {
        &DBB
    }

    fn needs(&self) -> u32 {
        self.switches.needs()
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn warnings(&self, fabric: &Fabric, links: &LinkState) -> Vec<String> {
        let mut controller = Controller::new(self.clone(), fabric, 0);
        controller.learn(links);
        // A fabric that has no cycles is an error of the run.
        controller.loss().unwrap_or_default().into_iter().collect()
    }

    fn pair_planner(&self) -> Option<&dyn PairPlanner> {
        Some(self)
    }

    /// Which counters of silent flows are forgotten first goes by names of connections.
    fn runs_in_parts(&self) -> bool {
        self.switches.counter != Counter::Independent
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.run(|| Ok(DbbBalancer::new(self.clone(), task.fabric, task.settings.seed)?), None)
    }
}
