//! Registry entries of Clove: by marks, by telemetry, and over gravity weights.

use super::keys;
use crate::clove::host::CloveHypervisor;
use crate::clove::pick::Selection;
use crate::clove::settings::Clove;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::hosts::relayed::RelayedHosts;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::{HostMaker, Task};
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Clove-ECN.
pub static CLOVE_ECN: Descriptor = Descriptor {
    name: "clove-ecn",
    granularity: "flowlet",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Clove::new(Selection::Turns))),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

/// Clove-INT.
pub static CLOVE_INT: Descriptor = Descriptor {
    name: "clove-int",
    granularity: "flowlet",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Clove::new(Selection::LeastUtilised))),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

/// Clove's weights under VALO's gravity scores.
pub static CLOVE_VALO: Descriptor = Descriptor {
    name: "clove+valo",
    granularity: "flowlet",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Clove::new(Selection::Score))),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for Clove {
    fn descriptor(&self) -> &'static Descriptor {
        match self.rules.selection {
            Selection::Turns | Selection::Blocks | Selection::Random => &CLOVE_ECN,
            Selection::LeastUtilised => &CLOVE_INT,
            Selection::Score => &CLOVE_VALO,
        }
    }

    fn needs(&self) -> u32 {
        CloveHypervisor::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (framing, seed) = (task.settings.framing, task.settings.seed);
        let hosts = || {
            let clove = self.clone();
            let make = move |round_trip_ns| CloveHypervisor(clove.over(round_trip_ns));
            RelayedHosts::new(make, task.fabric, framing, seed)
        };
        let make: HostMaker<'_> = &mut || Ok(Box::new(hosts()?));
        match self.rules.selection {
            Selection::LeastUtilised => task.by_telemetry(self.rules.estimator(), make),
            _ => task.by_tables(Some(make)),
        }
    }
}
