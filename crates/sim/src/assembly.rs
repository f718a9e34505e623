//! From settings to an engine: which load balancer the switches run, and which the hosts.

use crate::balancer::{
    ConWeave, Conga, DbbBalancer, Deficit, HashIntervals, Hula, LoadBalancer, LuopanBalancer, MinMove,
    OmniscientBalancer, Outside, Planned, ShortestQueue, TableBalancer, TdlbBalancer, Telemetry, Wcmp,
    WeighedBalancer, WinoBalancer,
};
use crate::edge::{CloveHypervisor, HermesEdge, RelayedEdge, VirtualSwitch};
use crate::edge::{Edge, EntropyEdge, PrestoEdge, SapsEdge, Spraying, WinoEdge, with_receiver};
use crate::pinning;
use crate::simulation::Simulation;
use crate::{Outcome, Progress, Settings, SimulationError, salt};
use anabranch_fabric::Fabric;
use anabranch_plan::{Scheme, Table};
use anabranch_split::scheme::clove::Selection;
use anabranch_split::scheme::dre::Estimator;
use anabranch_split::scheme::{
    Bitmap, Cycle, FlowBender, Mixed, Oblivious, Plb, Recycle, Reps, Score, Score16, Uniform,
};
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
            let flows =
                pinning::spread_exactly(fabric, flows, &settings.balancing.weighing, &settings.changes)?;
            Task { flows: &flows, ..task }.by_tables(None)
        }
        Scheme::FlowBender(parameters) => task.by_hosts::<FlowBender>(parameters.clone()),
        Scheme::Plb(parameters) => task.by_hosts::<Plb>(parameters.clone()),
        Scheme::UecOblivious(parameters) => task.by_hosts::<Oblivious>(parameters.clone()),
        Scheme::UecBitmap(parameters) => task.by_hosts::<Bitmap<_>>(parameters.clone()),
        Scheme::UecMixed(parameters) => task.by_hosts::<Mixed<_, _>>(parameters.clone()),
        Scheme::Reps(parameters) => task.by_hosts::<Reps>(parameters.clone()),
        Scheme::RepsLegacy(parameters) => task.by_hosts::<Recycle<_>>(parameters.clone()),
        Scheme::Presto(presto) => {
            let transports = with_receiver(&settings.transports, presto);
            let edge = PrestoEdge::new(presto.clone(), fabric, settings.seed)?;
            let settings = Settings { transports, ..settings.clone() };
            Task { settings: &settings, ..task }.by_tables(Some(Box::new(edge)))
        }
        Scheme::Clove(parameters) => {
            let edge = RelayedEdge::new(CloveHypervisor(parameters.clone()), fabric, settings.seed)?;
            match parameters.selection {
                Selection::LeastUtilised => task.by_telemetry(parameters.estimator(), Box::new(edge)),
                _ => task.by_tables(Some(Box::new(edge))),
            }
        }
        Scheme::Vms(parameters) => {
            let edge = RelayedEdge::new(VirtualSwitch(parameters.clone()), fabric, settings.seed)?;
            task.by_tables(Some(Box::new(edge)))
        }
        Scheme::Hermes(parameters) => {
            let edge = HermesEdge::new(parameters, fabric, settings.seed)?;
            task.by_tables(Some(Box::new(edge)))
        }
        Scheme::Conga(parameters) => {
            task.run(Conga::new(*parameters, fabric, &task.salts(), settings.seed)?, None)
        }
        Scheme::Hula(parameters) => task.run(Hula::new(*parameters, fabric, settings.seed)?, None),
        Scheme::ConWeave(parameters) => {
            let (framing, seed) = (settings.framing, settings.seed);
            task.run(ConWeave::new(*parameters, framing, fabric, &task.salts(), seed)?, None)
        }
        &Scheme::Luopan(parameters) => {
            task.run(LuopanBalancer::new(fabric, parameters, settings.seed)?, None)
        }
        &Scheme::Tdlb(parameters) => task.run(TdlbBalancer::new(fabric, parameters, settings.seed)?, None),
        &Scheme::Omniscient(cells) => task.run(OmniscientBalancer::new(fabric, cells, settings.seed)?, None),
        Scheme::Dbb(dbb) => task.run(DbbBalancer::new(dbb.clone(), fabric, settings.seed)?, None),
        Scheme::Saps(saps) => {
            task.by_tables(Some(Box::new(SapsEdge::new(saps.clone(), fabric, settings.seed)?)))
        }
        Scheme::Wino(wino) => {
            let balancer = WinoBalancer::new(wino.clone(), fabric, settings)?;
            let edge = WinoEdge::new(wino.switches.clone(), balancer.counts(), fabric, settings.seed);
            task.run(balancer, Some(Box::new(edge)))
        }
    }
}

/// What is to be simulated.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) flows: &'a [Flow],
    pub(crate) settings: &'a Settings,
    pub(crate) progress: &'a Progress,
    /// Where weights come from, if not from routing.
    pub(crate) outside: Option<&'a Outside<'a>>,
}

impl Task<'_> {
    /// Hosts run `S` and switches their tables.
    fn by_hosts<S: Spraying + 'static>(self, plan: S::Plan) -> Result<Outcome, SimulationError> {
        let edge = EntropyEdge::<S>::new(plan, self.fabric.hosts(), self.settings.seed);
        self.by_tables(Some(Box::new(edge)))
    }

    /// Switches run their tables; hosts run `edge`, if anything.
    pub(crate) fn by_tables(self, edge: Option<Box<dyn Edge>>) -> Result<Outcome, SimulationError> {
        match self.settings.balancing.table {
            Table::Uniform => self.by_table::<Uniform>((), edge),
            Table::MinMove => self.by_table::<MinMove>((), edge),
            Table::Wcmp { entries } => self.by_table::<Wcmp>(entries, edge),
            Table::WcmpScoring { entries } => self.by_table::<Score16>(Some(entries), edge),
            Table::Intervals => self.by_table::<HashIntervals>((), edge),
            Table::Valo => self.by_table::<Score>((), edge),
            Table::Scoring => self.by_table::<Score16>(None, edge),
            Table::Turns { block } => self.by_table::<Cycle>(block, edge),
            Table::Deficit => self.by_table::<Deficit>((), edge),
            Table::ShortestQueue { samples, memory } => {
                self.by_table::<ShortestQueue>((samples, memory), edge)
            }
        }
    }

    pub(crate) fn by_table<S: Planned>(
        self,
        parameters: S::Parameters,
        edge: Option<Box<dyn Edge>>,
    ) -> Result<Outcome, SimulationError> {
        let tables = self.table::<S>(parameters);
        self.run(WeighedBalancer::new(tables, self.outside, self.fabric.hosts()), edge)
    }

    /// Switches raise packets to the levels of their links; hosts run `edge`, and what it leaves to switches is hashed.
    fn by_telemetry(self, estimator: Estimator, edge: Box<dyn Edge>) -> Result<Outcome, SimulationError> {
        let balancer = Telemetry::new(self.table::<Uniform>(()), estimator, self.fabric);
        self.run(balancer, Some(edge))
    }

    fn table<S: Planned>(self, parameters: S::Parameters) -> TableBalancer<S> {
        let settings = self.settings;
        TableBalancer::new(parameters, settings.balancing.granularity, &self.salts(), settings.seed)
    }

    /// Hash inputs of the switches.
    pub(crate) fn salts(&self) -> Vec<u32> {
        let switches = self.fabric.nodes().len() as u32 - self.fabric.hosts();
        (0..switches).map(|switch| salt(self.settings.seed, switch)).collect()
    }

    pub(crate) fn run<B: LoadBalancer>(
        self,
        balancer: B,
        edge: Option<Box<dyn Edge>>,
    ) -> Result<Outcome, SimulationError> {
        let mut simulation = Simulation::new(balancer, edge, self.fabric, self.flows, self.settings)?;
        simulation.run(self.progress)?;
        Ok(simulation.outcome(self.progress))
    }
}
