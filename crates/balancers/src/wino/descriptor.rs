//! Registry entry of Wino: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Elsewhere, KernelProgram, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::pair_plan::PairPlanner;
use crate::task::Task;
use crate::wino::host::WinoHosts;
use crate::wino::parameters::Wino;
use crate::wino::switch::WinoBalancer;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Silence after which a flow's turn is forgotten.
const IDLE_NS: u64 = 100_000_000;

const RUNS: Runs = Runs {
    kernel: Some(KernelProgram {
        programs: &["flow_cycle"],
        unit: "turn",
        weighted: true,
        pause_ns: Some(IDLE_NS),
        output: "dscp",
    }),
    ..Runs::SIMULATOR
};

/// Registry entry of Wino.
pub static WINO: Descriptor = Descriptor {
    name: "wino",
    granularity: "packet",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Wino::default())),
    runs: RUNS,
    reads_elsewhere: Some(Elsewhere::Fabric(
        "the counters of all leaves, which its controller polls, and the slices that it installs",
    )),
};

impl LoadBalancer for Wino {
    fn descriptor(&self) -> &'static Descriptor {
        &WINO
    }

    fn needs(&self) -> u32 {
        self.switches.needs()
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn pair_planner(&self) -> Option<&dyn PairPlanner> {
        Some(self)
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let balancer = WinoBalancer::new(self.clone(), task.fabric, task.settings)?;
        let host = WinoHosts::new(self.switches.clone(), balancer.counts(), task.fabric, task.settings.seed);
        task.run_one(balancer, Some(Box::new(host)))
    }
}
