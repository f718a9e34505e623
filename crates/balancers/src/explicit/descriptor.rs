//! Registry entry of explicit paths: what they are called, what they need, how they are built.

use super::host::ExplicitHosts;
use super::keys;
use super::switch::ExplicitSwitches;
use crate::descriptor::Descriptor;
use crate::explicit::pick::{Explicit, Parameters, Path};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use anabranch_fabric::{Fabric, FabricError, PathTable};
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::{Pick as _, capability};
use anabranch_traffic::FlowSource;
use std::sync::Arc;

/// Registry entry of explicit paths.
pub static EXPLICIT: Descriptor =
    Descriptor::of_hosts("explicit", "flow", include_str!("page.md"), || Scheme::new(Parameters::DEFAULT));

impl LoadBalancer for Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        &EXPLICIT
    }

    fn needs(&self) -> u32 {
        Explicit::<Box<[Path]>>::NEEDS | capability::CLOCK | capability::TIMER | capability::PROBE
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn follows_paths(&self) -> bool {
        true
    }

    /// Receivers probe from when a flow begins.
    fn runs_in_parts(&self) -> bool {
        false
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (fabric, seed) = (task.fabric, task.settings.seed);
        let table = table(&task)?;
        task.run(
            || Ok(ExplicitSwitches::new(table.clone(), fabric)),
            Some(&mut || Ok(Box::new(ExplicitHosts::new(self, table.clone(), fabric, seed)))),
        )
    }
}

/// The table of the settings, which must have a path for every flow; without one, all shortest paths.
fn table(task: &Task<'_>) -> Result<Arc<PathTable>, SimulationError> {
    table_or(task, EXPLICIT.name, || PathTable::shortest(task.fabric, None))
}

/// The table of the settings, which must have a path for every flow; without one, that which `make` makes for `name`.
pub(crate) fn table_or(
    task: &Task<'_>,
    name: &str,
    make: impl FnOnce() -> Result<PathTable, FabricError>,
) -> Result<Arc<PathTable>, SimulationError> {
    if let Some(table) = &task.settings.balancing.paths {
        return match missing_pair(table, task.fabric, task.flows) {
            Some(pair) => {
                let [from, to] = pair.map(|host| &task.fabric.nodes()[host as usize].name);
                Err(SimulationError::new(
                    format!("routing.paths: no path from {from} to {to}"),
                    "list one, and one back: nothing else routes",
                ))
            }
            None => Ok(table.clone()),
        };
    }
    let refused =
        |error: FabricError| SimulationError::new(format!("routing: {name}: {}", error.problem), error.hint);
    make().map(Arc::new).map_err(refused)
}

/// Two hosts between which `flows` send, there or back, and for which the table has no path; nothing if there are
/// none.
pub fn missing_pair(
    table: &PathTable,
    fabric: &Fabric,
    flows: &(impl FlowSource + ?Sized),
) -> Option<[u32; 2]> {
    let missing = |from: u32, to: u32| {
        fabric.leaf_of(from) != fabric.leaf_of(to) && table.between(fabric, from, to).is_empty()
    };
    flows.pass().find_map(|flow| {
        [[flow.src, flow.dst], [flow.dst, flow.src]].into_iter().find(|&[from, to]| missing(from, to))
    })
}
