//! Registry entries of Presto, with equal and with weighted paths.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, KernelProgram, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::presto::host::{PrestoHosts, with_receiver};
use crate::presto::parameters::Settings;
use crate::presto::pick::Presto;
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::Pick as _;

const EQUAL: Runs = Runs {
    kernel: Some(KernelProgram {
        programs: &["presto"],
        unit: "flowcell",
        weighted: false,
        pause_ns: None,
        output: "",
    }),
    ..Runs::SIMULATOR
};

const WEIGHTED: Runs = Runs {
    kernel: Some(KernelProgram {
        programs: &["presto"],
        unit: "flowcell",
        weighted: true,
        pause_ns: None,
        output: "",
    }),
    ..Runs::SIMULATOR
};

/// Presto over equal paths.
pub static PRESTO: Descriptor = Descriptor {
    name: "presto",
    granularity: "flowcell",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Settings::DEFAULT)),
    runs: EQUAL,
    reads_elsewhere: None,
};

/// Presto over paths by their slowest link.
pub static WEIGHTED_PRESTO: Descriptor = Descriptor {
    name: "weighted-presto",
    granularity: "flowcell",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Settings { weighted: true, ..Settings::DEFAULT })),
    runs: WEIGHTED,
    reads_elsewhere: None,
};

impl LoadBalancer for Settings {
    fn descriptor(&self) -> &'static Descriptor {
        if self.weighted { &WEIGHTED_PRESTO } else { &PRESTO }
    }

    fn needs(&self) -> u32 {
        <Presto>::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let transports = with_receiver(&task.settings.transports, self);
        let settings = crate::Settings { transports, ..task.settings.clone() };
        let hosts = || PrestoHosts::new(self.clone(), task.fabric, settings.seed);
        Task { settings: &settings, ..task }.by_tables(Some(&mut || Ok(Box::new(hosts()?))))
    }
}
