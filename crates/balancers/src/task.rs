//! From settings to an engine: which load balancer the switches run, and which the hosts.

use crate::Settings;
use crate::choice::Table;
use crate::descriptor::{Decider, Elsewhere};
use crate::hosts::entropy::{EntropyHosts, EntropyRule, Picks, Spraying};
use crate::switches::telemetry::Telemetry;
use crate::tables::Planned;
use crate::tables::planned::{Deficit, HashIntervals, MinMove, ShortestQueue, Wcmp};
use crate::tables::table::TableBalancer;
use crate::tables::weighed::{Outside, WeighedBalancer};
use anabranch_fabric::Fabric;
use anabranch_sim::transport::Transport;
use anabranch_sim::{
    AnySwitches, Balancers, Driver, Header, HostBalancer, Outcome, Partition, PartitionedHosts,
    PartitionedSwitches, Progress, Simulation, SimulationError, SwitchBalancer, salt,
};
use anabranch_split::picks::dre::Estimator;
use anabranch_split::picks::{Cycle, Score, Score16, Uniform};
use anabranch_traffic::FlowSource;

/// Simulates `flows` over `fabric`. Same arguments, same outcome, to the bit.
///
/// # Errors
/// Settings that contradict the fabric or the flows, and weights that a scheme cannot hold. [`SimulationError`]
/// names them. A cancelled simulation returns what it has.
pub fn simulate(
    fabric: &Fabric,
    flows: &(impl FlowSource + ?Sized),
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    Task::new(fabric, &flows, settings, progress)?.simulate()
}

/// Maker of the values that serve hosts: each call makes one, which serves all hosts or those of a part of the fabric.
pub type HostMaker<'a> = &'a mut (dyn FnMut() -> Result<Box<dyn HostBalancer>, SimulationError> + Send);

/// Calls a method for the table of the settings, with the table's parameters and these arguments.
macro_rules! with_table {
    ($task:ident, $method:ident $(, $argument:expr)*) => {
        match $task.settings.balancing.table {
            Table::Uniform => $task.$method::<Uniform>(() $(, $argument)*),
            Table::MinMove => $task.$method::<MinMove>(() $(, $argument)*),
            Table::Wcmp { entries } => $task.$method::<Wcmp>(entries $(, $argument)*),
            Table::WcmpScoring { entries } => $task.$method::<Score16>(Some(entries) $(, $argument)*),
            Table::Intervals => $task.$method::<HashIntervals>(() $(, $argument)*),
            Table::Valo => $task.$method::<Score>(() $(, $argument)*),
            Table::Scoring => $task.$method::<Score16>(None $(, $argument)*),
            Table::Turns { block } => $task.$method::<Cycle>(block $(, $argument)*),
            Table::Deficit => $task.$method::<Deficit>(() $(, $argument)*),
            Table::ShortestQueue { samples, memory } => {
                $task.$method::<ShortestQueue>((samples, memory) $(, $argument)*)
            }
        }
    };
}

/// Tables of switches with these hash inputs.
pub(crate) fn table_of<S: Planned>(
    settings: &Settings,
    salts: &[u32],
    parameters: S::Parameters,
) -> TableBalancer<S> {
    TableBalancer::new(parameters, settings.balancing.granularity, salts, settings.seed)
}

/// One simulation: what runs where, and how it is balanced. [`Task::new`] checks it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Task<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    /// The flows.
    pub flows: &'a dyn FlowSource,
    /// Everything else.
    pub settings: &'a Settings,
    /// Observer of the run, which may end it.
    pub progress: &'a Progress,
    /// Parts of the fabric that are served by values of their own, if there are any.
    pub(crate) partition: Option<&'a Partition>,
    /// Parts of the fabric that are simulated on a thread each, if there are any.
    pub(crate) threads: Option<&'a Partition>,
    /// Program that drives it, if one does.
    pub(crate) driver: Option<&'a dyn Driver>,
}

impl<'a> Task<'a> {
    /// A simulation of `flows` over `fabric` that can be run.
    ///
    /// # Errors
    /// Settings that contradict the fabric or the flows.
    pub fn new(
        fabric: &'a Fabric,
        flows: &'a dyn FlowSource,
        settings: &'a Settings,
        progress: &'a Progress,
    ) -> Result<Self, SimulationError> {
        anabranch_sim::check(fabric, flows, settings)?;
        Ok(Self { fabric, flows, settings, progress, partition: None, threads: None, driver: None })
    }

    /// The same simulation, which goes as far as `driver` says, with the messages that it sends.
    #[must_use]
    pub fn driven_by(self, driver: &'a dyn Driver) -> Self {
        Self { driver: Some(driver), ..self }
    }

    /// The same simulation, each part of the fabric on a thread of its own. Its outcome is the same.
    ///
    /// # Errors
    /// Why this simulation takes one thread, see [`Self::one_thread`].
    pub fn on_threads(self, parts: &'a Partition) -> Result<Self, SimulationError> {
        match self.one_thread(parts) {
            Some(reason) => Err(SimulationError::new(
                format!("threads: {reason}: only one thread simulates that"),
                "ask for one thread",
            )),
            None => Ok(Self { threads: Some(parts), ..self }),
        }
    }

    /// Reason why one thread simulates this, if it takes one.
    #[must_use]
    pub fn one_thread(&self, parts: &Partition) -> Option<&'static str> {
        let scheme = self.settings.balancing.scheme.get();
        let is_of_hosts = scheme.is_some_and(|scheme| scheme.descriptor().decider == Decider::Hosts);
        if scheme.is_some_and(|scheme| !scheme.runs_in_parts()) {
            Some(
                "load balancers that read other parts of the fabric, act at the receiver when a flow begins, or go by names of connections",
            )
        } else if is_of_hosts && self.keeps_queue_pairs() {
            Some("queue pairs that are kept, under a load balancer of hosts")
        } else if self.driver.is_some() || self.partition.is_some() {
            Some("what another program drives")
        } else {
            anabranch_sim::one_thread(self.fabric, self.flows, self.settings, parts)
        }
    }

    /// Whether messages follow each other on queue pairs. One that is acknowledged and waits for those before it has an open
    /// connection still, whose sender's load balancer learns by what arrives late.
    fn keeps_queue_pairs(&self) -> bool {
        let mut pairs = self.settings.transports.iter().filter_map(Transport::queue_pairs);
        pairs.any(|pairs| pairs.persistent || self.settings.works.iter().any(|work| work.ordered))
    }

    /// The same simulation, with a value of the load balancer for each part of the fabric. Its outcome is the same.
    ///
    /// # Errors
    /// A load balancer that reads state of another part ([`crate::LoadBalancer::reads_elsewhere`]).
    pub fn partitioned(self, partition: &'a Partition) -> Result<Self, SimulationError> {
        let scheme = self.settings.balancing.scheme.get();
        let elsewhere = scheme.and_then(|scheme| Some((scheme.descriptor().name, scheme.reads_elsewhere()?)));
        let refuse =
            |name, what, hint| Err(SimulationError::new(format!("partition: {name} reads {what}"), hint));
        match elsewhere {
            Some((name, Elsewhere::Fabric(what))) => refuse(name, what, "simulate it without a partition"),
            Some((name, Elsewhere::Rack(what))) if !partition.keeps_racks(self.fabric) => {
                refuse(name, what, "keep the hosts of a leaf in one part")
            }
            _ => Ok(Self { partition: Some(partition), ..self }),
        }
    }
}

impl Task<'_> {
    /// Runs what the settings choose.
    ///
    /// # Errors
    /// A fabric that the load balancer does not take, and weights that it cannot hold.
    pub fn simulate(self) -> Result<Outcome, SimulationError> {
        if !self.settings.switch_hashes.is_empty() && !self.settings.balancing.hashes_headers() {
            return Err(SimulationError::no_header_hash());
        }
        match self.settings.balancing.scheme.get() {
            Some(balancer) if self.driver.is_some() && balancer.reads_flows_to_come() => {
                Err(SimulationError::new(
                    format!(
                        "routing.balance: {} decides by all flows to come, and here another program sends",
                        balancer.descriptor().name
                    ),
                    "choose another load balancer",
                ))
            }
            Some(balancer) => balancer.simulate(self),
            None => self.by_tables(None),
        }
    }

    /// Hosts run `S` and switches their tables.
    pub(crate) fn by_hosts<S: Spraying + 'static>(self, plan: &S::Plan) -> Result<Outcome, SimulationError>
    where
        S::Plan: Sync,
    {
        let (hosts, seed) = (self.fabric.hosts(), self.settings.seed);
        self.by_tables(Some(&mut || Ok(Box::new(EntropyHosts::new(Picks::<S>(plan.clone()), hosts, seed)))))
    }

    /// Hosts give packets the entropy values of a rule that exists once, and switches run their tables.
    pub(crate) fn by_one_rule<R: EntropyRule + 'static>(self, rule: R) -> Result<Outcome, SimulationError> {
        let hosts = EntropyHosts::new(rule, self.fabric.hosts(), self.settings.seed);
        with_table!(self, by_one_table, Some(Box::new(hosts)), None)
    }

    /// Switches run the tables of the settings; hosts run what `hosts` makes, if anything.
    ///
    /// # Errors
    /// Weights that the tables cannot hold.
    pub fn by_tables(self, hosts: Option<HostMaker<'_>>) -> Result<Outcome, SimulationError> {
        with_table!(self, by_table, hosts)
    }

    /// Switches run the tables of the settings with weights from `outside` instead of routing.
    pub(crate) fn by_weighed_tables(self, outside: &Outside<'_>) -> Result<Outcome, SimulationError> {
        with_table!(self, by_one_table, None, Some(outside))
    }

    /// Ports between switches that packets with each of `headers` take when the run begins, by the tables of the settings.
    /// Nothing for packets that do not arrive.
    ///
    /// # Errors
    /// A load balancer that does not choose by hashes of header fields, and weights that the tables cannot hold.
    pub fn paths(self, headers: &[Header]) -> Result<Vec<Vec<u32>>, SimulationError> {
        if !self.settings.balancing.hashes_headers() {
            return Err(SimulationError::no_header_hash());
        }
        with_table!(self, walk_table, headers)
    }

    fn walk_table<S: Planned>(
        self,
        parameters: S::Parameters,
        headers: &[Header],
    ) -> Result<Vec<Vec<u32>>, SimulationError> {
        let table = self.table::<S>(parameters);
        anabranch_sim::walk(
            table,
            self.settings.balancing.weighing.clone(),
            self.fabric,
            self.settings,
            headers,
        )
    }

    fn by_table<S: Planned>(
        self,
        parameters: S::Parameters,
        mut hosts: Option<HostMaker<'_>>,
    ) -> Result<Outcome, SimulationError> {
        let (settings, salts, first_switch) = (self.settings, self.salts(), self.fabric.hosts());
        let tables = move || {
            let table = table_of::<S>(settings, &salts, parameters.clone());
            Ok(WeighedBalancer::new(table, None, first_switch))
        };
        let Some(parts) = self.threads else { return self.run(tables, hosts) };
        self.in_parts(parts, || Ok((tables()?, hosts.as_mut().map(|make| make()).transpose()?)))
    }

    /// Switches run tables and hosts a value, both of which exist once, with weights from `outside`, if there is one.
    pub(crate) fn by_one_table<S: Planned>(
        self,
        parameters: S::Parameters,
        hosts: Option<Box<dyn HostBalancer>>,
        outside: Option<&Outside<'_>>,
    ) -> Result<Outcome, SimulationError> {
        let tables = WeighedBalancer::new(self.table::<S>(parameters), outside, self.fabric.hosts());
        self.run_one(tables, hosts)
    }

    /// Switches raise packets to the levels of their links; hosts run what `hosts` makes, and what they leave to switches is
    /// hashed.
    pub(crate) fn by_telemetry(
        self,
        estimator: Estimator,
        hosts: HostMaker<'_>,
    ) -> Result<Outcome, SimulationError> {
        let (settings, salts, fabric) = (self.settings, self.salts(), self.fabric);
        let switches = || Ok(Telemetry::new(table_of::<Uniform>(settings, &salts, ()), estimator, fabric));
        self.run(switches, Some(hosts))
    }

    pub(crate) fn table<S: Planned>(self, parameters: S::Parameters) -> TableBalancer<S> {
        table_of(self.settings, &self.salts(), parameters)
    }

    /// Hash inputs of the switches.
    #[must_use]
    pub fn salts(&self) -> Vec<u32> {
        let switches = self.fabric.nodes().len() as u32 - self.fabric.hosts();
        (0..switches).map(|switch| salt(self.settings.seed, switch)).collect()
    }

    /// Runs the engine with the values that `switches` and `hosts` make: one of each, or one for each part of the fabric if
    /// it is in parts.
    ///
    /// # Errors
    /// Those of the makers, and weights that the balancer cannot hold.
    pub fn run<B: SwitchBalancer>(
        self,
        mut switches: impl FnMut() -> Result<B, SimulationError> + Send,
        mut hosts: Option<HostMaker<'_>>,
    ) -> Result<Outcome, SimulationError> {
        if let Some(parts) = self.threads {
            return self.in_parts(parts, || {
                let hosts = hosts.as_mut().map(|make| make()).transpose()?;
                Ok((AnySwitches::new(switches()?), hosts))
            });
        }
        let Some(partition) = self.partition else {
            let hosts = hosts.map(|make| make()).transpose()?;
            return self.run_values(switches()?, hosts);
        };
        let switches = PartitionedSwitches::new(partition, self.fabric, switches)?;
        let hosts = hosts.map(|make| PartitionedHosts::new(partition, self.fabric, make)).transpose()?;
        self.run_values(switches, hosts.map(|hosts| Box::new(hosts) as Box<dyn HostBalancer>))
    }

    /// Each part of the fabric on a thread of its own, with the values that a call of `make` makes.
    fn in_parts<B: SwitchBalancer>(
        self,
        parts: &Partition,
        make: impl FnMut() -> Result<Balancers<B>, SimulationError> + Send,
    ) -> Result<Outcome, SimulationError> {
        let weighing = &self.settings.balancing.weighing;
        let of = (self.fabric, self.flows);
        anabranch_sim::simulate_in_parts(make, weighing, of, self.settings, parts, self.progress)
    }

    /// Runs the engine with values that exist once.
    ///
    /// # Errors
    /// A fabric in parts, and weights that the balancer cannot hold.
    pub(crate) fn run_one<B: SwitchBalancer>(
        self,
        switches: B,
        hosts: Option<Box<dyn HostBalancer>>,
    ) -> Result<Outcome, SimulationError> {
        if self.partition.is_some() || self.threads.is_some() {
            return Err(SimulationError::new(
                "partition: this load balancer exists once",
                "simulate it without a partition",
            ));
        }
        self.run_values(switches, hosts)
    }

    fn run_values<B: SwitchBalancer>(
        self,
        balancer: B,
        host: Option<Box<dyn HostBalancer>>,
    ) -> Result<Outcome, SimulationError> {
        // Else unit tests, none of which simulates, would compile the engine for every load balancer once more.
        if cfg!(test) {
            unreachable!("a simulation in a unit test; tests/it has those");
        }
        let mut simulation = Simulation::new(
            balancer,
            host,
            self.settings.balancing.weighing.clone(),
            self.fabric,
            self.flows,
            self.settings,
        )?;
        match self.driver {
            None => simulation.run(self.progress)?,
            Some(driver) => simulation.run_driven(driver, self.progress)?,
        }
        simulation.outcome(self.progress)
    }
}
