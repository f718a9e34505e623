//! Schemes from outside the crate: in place of the tables, written in Rust or asked for weights or picks, or asked for
//! entropy at hosts.

mod asked_hosts;
pub(crate) mod host_rule;
mod picked;
pub(crate) mod picker;

use crate::choice::Table;
use crate::tables::Planned;
use crate::tables::weighed::Outside;
use crate::task::Task;
use crate::{HostRule, Picker, Settings, Weigher};
use anabranch_fabric::Fabric;
use anabranch_sim::{Outcome, Progress, SimulationError};
use anabranch_traffic::FlowSource;
use asked_hosts::AskedHosts;
use picked::PickedBalancer;

/// Simulates as [`crate::simulate`] does, with a scheme of the caller's own in place of the tables of the
/// settings, whose weights and granularity it works with.
///
/// # Errors
/// As [`crate::simulate`]; settings with a scheme that decides beside tables.
pub fn simulate_with<S: Planned>(
    parameters: S::Parameters,
    fabric: &Fabric,
    flows: &(impl FlowSource + ?Sized),
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    in_place_of_tables(fabric, &flows, settings, progress)?.by_one_table::<S>(parameters, None, None)
}

/// Simulates as [`crate::simulate`] does, with the weights of `weigher` in place of those of the settings,
/// under the settings' table and granularity.
///
/// # Errors
/// As [`crate::simulate`]; settings with a scheme that decides beside tables, or a table that has no use for weights, an epoch of no
/// length, and weights that do not fit the group.
pub fn simulate_weighed(
    weigher: &mut dyn Weigher,
    fabric: &Fabric,
    flows: &(impl FlowSource + ?Sized),
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    let task = in_place_of_tables(fabric, &flows, settings, progress)?;
    if settings.balancing.table == Table::Uniform {
        return Err(SimulationError::new(
            "routing: the table `uniform` takes all members alike, whatever their weights",
            "use one that honours weights: table = \"min-move\" keeps flows together by hash, \"turns\" shares out \
             packets",
        ));
    }
    if weigher.epoch_ps() == 0 {
        return Err(SimulationError::new("epoch: 0", "give a time such as 100 us"));
    }
    let outside = Outside::new(weigher, progress);
    let outcome = task.by_weighed_tables(&outside);
    outside.refused().map_or(outcome, Err)
}

/// Simulates as [`crate::simulate`] does, with `picker` deciding for every unit that the settings'
/// granularity keeps together.
///
/// # Errors
/// As [`crate::simulate`]; settings with a scheme that decides beside tables.
pub fn simulate_picked(
    picker: &mut dyn Picker,
    fabric: &Fabric,
    flows: &(impl FlowSource + ?Sized),
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    let task = in_place_of_tables(fabric, &flows, settings, progress)?;
    let granularity = settings.balancing.granularity;
    let balancer = PickedBalancer::new(picker, granularity, fabric.hosts(), &task.salts(), settings.seed);
    let hosts = balancer.edge();
    task.run_one(balancer, Some(hosts))
}

/// Simulates as [`crate::simulate`] does, with `rule` giving packets their entropy at hosts, over the tables of the
/// settings.
///
/// # Errors
/// As [`crate::simulate`]; settings with a scheme that decides beside tables.
pub fn simulate_by_hosts(
    rule: Box<dyn HostRule>,
    fabric: &Fabric,
    flows: &(impl FlowSource + ?Sized),
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    in_place_of_tables(fabric, &flows, settings, progress)?.by_one_rule(AskedHosts(rule))
}

/// Task of tables, in place of which schemes of the caller's own decide.
fn in_place_of_tables<'a>(
    fabric: &'a Fabric,
    flows: &'a dyn FlowSource,
    settings: &'a Settings,
    progress: &'a Progress,
) -> Result<Task<'a>, SimulationError> {
    let task = Task::new(fabric, flows, settings, progress)?;
    if !settings.balancing.scheme.is_tables() {
        return Err(SimulationError::new(
            "routing: its balance is a scheme, and a scheme of one's own would decide beside it",
            "choose granularity and table instead, as balance = \"weighted\" does",
        ));
    }
    Ok(task)
}
