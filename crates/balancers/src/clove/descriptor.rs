//! Registry entries of Clove: by marks, by telemetry, and over gravity weights.

use super::keys;
use crate::clove::host::CloveHypervisor;
use crate::clove::pick::Selection;
use crate::clove::settings::Clove;
use crate::descriptor::Descriptor;
use crate::hosts::relayed::RelayedHosts;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::{HostMaker, Task};
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Clove-ECN.
pub static CLOVE_ECN: Descriptor =
    Descriptor::of_hosts("clove-ecn", "flowlet", include_str!("page.md"), || {
        Scheme::new(Clove::new(Selection::Turns))
    });

/// Clove-INT.
pub static CLOVE_INT: Descriptor =
    Descriptor::of_hosts("clove-int", "flowlet", include_str!("page.md"), || {
        Scheme::new(Clove::new(Selection::LeastUtilised))
    });

/// Clove's weights under VALO's gravity scores.
pub static CLOVE_VALO: Descriptor =
    Descriptor::of_hosts("clove+valo", "flowlet", include_str!("page.md"), || {
        Scheme::new(Clove::new(Selection::Score))
    });

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
            let make = move |round_trip_ns| CloveHypervisor(clove.over(round_trip_ns), clove.gravity);
            RelayedHosts::new(make, task.fabric, framing, seed)
        };
        let make: HostMaker<'_> = &mut || Ok(Box::new(hosts()?));
        match self.rules.selection {
            Selection::LeastUtilised => task.by_telemetry(self.rules.estimator(), make),
            _ => task.by_tables(Some(make)),
        }
    }
}
