//! Registry entry of SAPS: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::Descriptor;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::saps::host::SapsHosts;
use crate::saps::virtual_topology::Saps;
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// Registry entry of SAPS.
pub static SAPS: Descriptor =
    Descriptor::of_hosts("saps", "packet", include_str!("page.md"), || Scheme::new(Saps::default()));

impl LoadBalancer for Saps {
    fn descriptor(&self) -> &'static Descriptor {
        &SAPS
    }

    fn needs(&self) -> u32 {
        self.hosts.needs()
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    /// Receivers draw a number when a flow begins.
    fn runs_in_parts(&self) -> bool {
        false
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let hosts = || SapsHosts::new(self.clone(), task.fabric, task.settings.seed);
        task.by_tables(Some(&mut || Ok(Box::new(hosts()?))))
    }
}
