//! Registry entries of Spritz's two load balancers.

use super::host::SpritzHosts;
use super::keys;
use crate::descriptor::Descriptor;
use crate::explicit::descriptor::table_or;
use crate::explicit::switch::ExplicitSwitches;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::spritz::pick::{Parameters, Path, Spritz};
use crate::task::Task;
use anabranch_fabric::PathTable;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::Pick as _;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("page.md");

/// Spritz that stays on the best path it knows.
pub static SPRITZ_SCOUT: Descriptor =
    Descriptor::of_hosts("spritz-scout", "packet", PAGE, || Scheme::new(Parameters::SCOUT));

/// Spritz that sprays over all paths it knows.
pub static SPRITZ_SPRAY: Descriptor =
    Descriptor::of_hosts("spritz-spray", "packet", PAGE, || Scheme::new(Parameters::SPRAY));

impl LoadBalancer for Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        if self.spray { &SPRITZ_SPRAY } else { &SPRITZ_SCOUT }
    }

    fn needs(&self) -> u32 {
        Spritz::<Box<[Path]>>::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn follows_paths(&self) -> bool {
        true
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (fabric, settings) = (task.fabric, task.settings);
        let table = table_or(&task, self.descriptor().name, || {
            // Answers go back over the links of what they answer.
            let leaves = |(src, dst)| (fabric.leaf_of(src), fabric.leaf_of(dst));
            let mut hosts: BTreeSet<(u32, u32)> =
                task.flows.pass().map(|flow| (flow.src, flow.dst)).collect();
            if task.driver.is_some() {
                // It may send between any two.
                let all = 0..fabric.hosts();
                hosts.extend(all.clone().flat_map(|src| all.clone().map(move |dst| (src, dst))));
            }
            PathTable::with_detours(fabric, hosts.into_iter().map(leaves).filter(|(from, to)| from != to))
        })?;
        task.run(
            || Ok(ExplicitSwitches::new(table.clone(), fabric)),
            Some(&mut || Ok(Box::new(SpritzHosts::new(self, table.clone(), fabric, settings)))),
        )
    }
}
