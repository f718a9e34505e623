//! From settings to an engine: which load balancer the switches run, and which the hosts.

use crate::balancer::{
    LoadBalancer, MEMORY_MAX, Outside, Periods, PickedBalancer, Planned, TableBalancer, WeighedBalancer,
};
use crate::edge::Edge;
use crate::pinning;
use crate::simulation::Simulation;
use crate::{Outcome, Picker, Progress, Settings, SimulationError, Weigher, salt};
use anabranch_fabric::Fabric;
use anabranch_plan::{Scheme, Table};
use anabranch_split::scheme::{Cumulative, Cycle, Drill, Modulo, Quota, Score, Score16, Slots, Uniform};
use anabranch_traffic::Flow;

/// Simulates `flows` over `fabric`. Same arguments, same outcome, to the bit.
///
/// # Errors
/// Settings that contradict the fabric or the flows, and weights that a scheme cannot hold. [`SimulationError`]
/// names them. A cancelled simulation returns what it has.
pub fn simulate(
    fabric: &Fabric,
    flows: &[Flow],
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    crate::check::check(fabric, flows, settings)?;
    let task = Task { fabric, flows, settings, progress, outside: None };
    match &settings.balancing.scheme {
        Scheme::Table => task.by_tables(None),
        Scheme::Ideal => {
            let flows = pinning::spread_exactly(fabric, flows, &settings.balancing.weighing)?;
            Task { flows: &flows, ..task }.by_tables(None)
        }
    }
}

/// As [`simulate`], with a scheme of the caller's own in place of the tables of the settings, whose weights and
/// granularity it works with.
///
/// # Errors
/// As [`simulate`]; settings with a scheme that decides beside tables.
pub fn simulate_with<S: Planned>(
    parameters: S::Parameters,
    fabric: &Fabric,
    flows: &[Flow],
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    Task::for_own_scheme(fabric, flows, settings, progress)?.by_table::<S>(parameters, None)
}

/// As [`simulate`], with the weights of `weigher` in place of those of the settings, under the settings' table and
/// granularity.
///
/// # Errors
/// As [`simulate`]; settings with a scheme that decides beside tables, or a table that has no use for weights, an epoch of no
/// length, and weights that do not fit the group.
pub fn simulate_weighed(
    weigher: &mut dyn Weigher,
    fabric: &Fabric,
    flows: &[Flow],
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    let task = Task::for_own_scheme(fabric, flows, settings, progress)?;
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
    let outcome = Task { outside: Some(&outside), ..task }.by_tables(None);
    outside.refused().map_or(outcome, Err)
}

/// As [`simulate`], with `picker` deciding for every unit that the settings' granularity keeps together.
///
/// # Errors
/// As [`simulate`]; settings with a scheme that decides beside tables.
pub fn simulate_picked(
    picker: &mut dyn Picker,
    fabric: &Fabric,
    flows: &[Flow],
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    let task = Task::for_own_scheme(fabric, flows, settings, progress)?;
    let granularity = settings.balancing.granularity;
    let balancer = PickedBalancer::new(picker, granularity, fabric.hosts(), &task.salts(), settings.seed);
    let edge = balancer.edge();
    task.run(balancer, Some(edge))
}

/// What is to be simulated.
#[derive(Clone, Copy)]
struct Task<'a> {
    fabric: &'a Fabric,
    flows: &'a [Flow],
    settings: &'a Settings,
    progress: &'a Progress,
    /// Where weights come from, if not from routing.
    outside: Option<&'a Outside<'a>>,
}

impl<'a> Task<'a> {
    /// What schemes of the caller's own replace: tables.
    fn for_own_scheme(
        fabric: &'a Fabric,
        flows: &'a [Flow],
        settings: &'a Settings,
        progress: &'a Progress,
    ) -> Result<Self, SimulationError> {
        crate::check::check(fabric, flows, settings)?;
        if settings.balancing.scheme != Scheme::Table {
            return Err(SimulationError::new(
                "routing: its balance is a scheme, and a scheme of one's own would decide beside it",
                "choose granularity and table instead, as balance = \"weighted\" does",
            ));
        }
        Ok(Self { fabric, flows, settings, progress, outside: None })
    }

    /// Switches run their tables; hosts run `edge`, if anything.
    fn by_tables(self, edge: Option<Box<dyn Edge>>) -> Result<Outcome, SimulationError> {
        match self.settings.balancing.table {
            Table::Uniform => self.by_table::<Uniform>((), edge),
            Table::MinMove => self.by_table::<Slots<u8, 65_536>>((), edge),
            Table::Wcmp { entries } => self.by_table::<Modulo<Box<[u16]>>>(entries, edge),
            Table::WcmpScoring { entries } => self.by_table::<Score16>(Some(entries), edge),
            Table::Intervals => self.by_table::<Cumulative<256>>((), edge),
            Table::Valo => self.by_table::<Score>((), edge),
            Table::Scoring => self.by_table::<Score16>(None, edge),
            Table::Turns { block } => self.by_table::<Cycle>(block, edge),
            Table::Deficit => self.by_table::<Quota<Periods, Box<[u32]>>>((), edge),
            Table::ShortestQueue { samples, memory } => {
                self.by_table::<Drill<Box<[u16]>, MEMORY_MAX>>((samples, memory), edge)
            }
        }
    }

    fn by_table<S: Planned>(
        self,
        parameters: S::Parameters,
        edge: Option<Box<dyn Edge>>,
    ) -> Result<Outcome, SimulationError> {
        let granularity = self.settings.balancing.granularity;
        let tables = TableBalancer::<S>::new(parameters, granularity, &self.salts(), self.settings.seed);
        self.run(WeighedBalancer::new(tables, self.outside, self.fabric.hosts()), edge)
    }

    /// Hash inputs of the switches.
    fn salts(&self) -> Vec<u32> {
        let switches = self.fabric.nodes().len() as u32 - self.fabric.hosts();
        (0..switches).map(|switch| salt(self.settings.seed, switch)).collect()
    }

    fn run<B: LoadBalancer>(
        self,
        balancer: B,
        edge: Option<Box<dyn Edge>>,
    ) -> Result<Outcome, SimulationError> {
        let mut simulation = Simulation::new(balancer, edge, self.fabric, self.flows, self.settings)?;
        simulation.run(self.progress)?;
        Ok(simulation.outcome(self.progress))
    }
}
