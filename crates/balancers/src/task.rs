//! From settings to an engine: which load balancer the switches run, and which the hosts.

use crate::Settings;
use crate::choice::Table;
use crate::hosts::entropy::{EntropyHosts, EntropyRule, Picks, Spraying};
use crate::switches::telemetry::Telemetry;
use crate::tables::Planned;
use crate::tables::planned::{Deficit, HashIntervals, MinMove, ShortestQueue, Wcmp};
use crate::tables::table::TableBalancer;
use crate::tables::weighed::{Outside, WeighedBalancer};
use anabranch_fabric::Fabric;
use anabranch_sim::{HostBalancer, Outcome, Progress, Simulation, SimulationError, SwitchBalancer, salt};
use anabranch_split::scheme::dre::Estimator;
use anabranch_split::scheme::{Cycle, Score, Score16, Uniform};
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
    let task = Task::new(fabric, flows, settings, progress)?;
    match settings.balancing.scheme.get() {
        Some(balancer) => balancer.simulate(task),
        None => task.by_tables(None),
    }
}

/// One simulation: what runs where, and how it is balanced. [`Task::new`] checks it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Task<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    /// The flows.
    pub flows: &'a [Flow],
    /// Everything else.
    pub settings: &'a Settings,
    /// Observer of the run, which may end it.
    pub progress: &'a Progress,
}

impl<'a> Task<'a> {
    /// A simulation of `flows` over `fabric` that can be run.
    ///
    /// # Errors
    /// Settings that contradict the fabric or the flows.
    pub fn new(
        fabric: &'a Fabric,
        flows: &'a [Flow],
        settings: &'a Settings,
        progress: &'a Progress,
    ) -> Result<Self, SimulationError> {
        anabranch_sim::check(fabric, flows, settings)?;
        Ok(Self { fabric, flows, settings, progress })
    }
}

impl Task<'_> {
    /// Hosts run `S` and switches their tables.
    pub(crate) fn by_hosts<S: Spraying + 'static>(self, plan: S::Plan) -> Result<Outcome, SimulationError> {
        self.by_rule(Picks::<S>(plan))
    }

    /// Hosts give packets the entropy values of `rule`, and switches run their tables.
    pub(crate) fn by_rule<R: EntropyRule + 'static>(self, rule: R) -> Result<Outcome, SimulationError> {
        let host = EntropyHosts::new(rule, self.fabric.hosts(), self.settings.seed);
        self.by_tables(Some(Box::new(host)))
    }

    /// Switches run the tables of the settings; hosts run `host`, if anything.
    ///
    /// # Errors
    /// Weights that the tables cannot hold.
    pub fn by_tables(self, host: Option<Box<dyn HostBalancer>>) -> Result<Outcome, SimulationError> {
        self.by_weighed_tables(host, None)
    }

    /// Runs as [`Self::by_tables`] does, with weights from `outside`, if there is one, instead of routing.
    pub(crate) fn by_weighed_tables(
        self,
        host: Option<Box<dyn HostBalancer>>,
        outside: Option<&Outside<'_>>,
    ) -> Result<Outcome, SimulationError> {
        match self.settings.balancing.table {
            Table::Uniform => self.by_table::<Uniform>((), host, outside),
            Table::MinMove => self.by_table::<MinMove>((), host, outside),
            Table::Wcmp { entries } => self.by_table::<Wcmp>(entries, host, outside),
            Table::WcmpScoring { entries } => self.by_table::<Score16>(Some(entries), host, outside),
            Table::Intervals => self.by_table::<HashIntervals>((), host, outside),
            Table::Valo => self.by_table::<Score>((), host, outside),
            Table::Scoring => self.by_table::<Score16>(None, host, outside),
            Table::Turns { block } => self.by_table::<Cycle>(block, host, outside),
            Table::Deficit => self.by_table::<Deficit>((), host, outside),
            Table::ShortestQueue { samples, memory } => {
                self.by_table::<ShortestQueue>((samples, memory), host, outside)
            }
        }
    }

    pub(crate) fn by_table<S: Planned>(
        self,
        parameters: S::Parameters,
        host: Option<Box<dyn HostBalancer>>,
        outside: Option<&Outside<'_>>,
    ) -> Result<Outcome, SimulationError> {
        let tables = self.table::<S>(parameters);
        self.run(WeighedBalancer::new(tables, outside, self.fabric.hosts()), host)
    }

    /// Switches raise packets to the levels of their links; hosts run `host`, and what it leaves to switches is hashed.
    pub(crate) fn by_telemetry(
        self,
        estimator: Estimator,
        host: Box<dyn HostBalancer>,
    ) -> Result<Outcome, SimulationError> {
        let balancer = Telemetry::new(self.table::<Uniform>(()), estimator, self.fabric);
        self.run(balancer, Some(host))
    }

    fn table<S: Planned>(self, parameters: S::Parameters) -> TableBalancer<S> {
        let settings = self.settings;
        TableBalancer::new(parameters, settings.balancing.granularity, &self.salts(), settings.seed)
    }

    /// Hash inputs of the switches.
    #[must_use]
    pub fn salts(&self) -> Vec<u32> {
        let switches = self.fabric.nodes().len() as u32 - self.fabric.hosts();
        (0..switches).map(|switch| salt(self.settings.seed, switch)).collect()
    }

    /// Runs the engine with these balancers of switches and hosts.
    ///
    /// # Errors
    /// Weights that the balancer cannot hold.
    pub fn run<B: SwitchBalancer>(
        self,
        balancer: B,
        host: Option<Box<dyn HostBalancer>>,
    ) -> Result<Outcome, SimulationError> {
        let mut simulation = Simulation::new(
            balancer,
            host,
            self.settings.balancing.weighing.clone(),
            self.fabric,
            self.flows,
            self.settings,
        )?;
        simulation.run(self.progress)?;
        Ok(simulation.outcome(self.progress))
    }
}
