//! From settings to an engine: which load balancer the switches run, and which the hosts.

use crate::balancer::{LoadBalancer, MEMORY_MAX, Periods, Planned, TableBalancer};
use crate::edge::Edge;
use crate::pinning;
use crate::simulation::Simulation;
use crate::{Outcome, Progress, Settings, SimulationError, salt};
use anabranch_fabric::Fabric;
use anabranch_plan::{Balancing, Granularity, Scheme, Table};
use anabranch_split::capability;
use anabranch_split::scheme::byte_deficit::Boundary;
use anabranch_split::scheme::flowcell::Numbered;
use anabranch_split::scheme::{
    Cumulative, Cycle, Drill, Flowlet, Modulo, Quota, Scheme as Picks, Score, Score16, Slots, Uniform,
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
    let task = Task { fabric, flows, settings, progress };
    match &settings.balancing.scheme {
        Scheme::Table => task.by_tables(None),
        Scheme::Ideal => {
            let flows = pinning::spread_exactly(fabric, flows, &settings.balancing.weighing)?;
            Task { flows: &flows, ..task }.by_tables(None)
        }
    }
}

/// Bits of [`anabranch_split::capability`] that a choice takes.
#[must_use]
pub fn needs(balancing: &Balancing) -> u32 {
    match &balancing.scheme {
        Scheme::Table | Scheme::Ideal => {}
    }
    let boundary = match balancing.granularity {
        Granularity::Flowlet { .. } => Flowlet::NEEDS | capability::RANDOM,
        Granularity::Flowcell { .. } => Numbered::NEEDS | capability::RANDOM,
        Granularity::Packet => capability::RANDOM,
        Granularity::Flow => 0,
    };
    boundary
        | match balancing.table {
            Table::Uniform => Uniform::NEEDS,
            Table::MinMove => MinMove::NEEDS,
            Table::Wcmp { .. } => Wcmp::NEEDS,
            Table::WcmpScoring { .. } | Table::Scoring => Score16::NEEDS,
            Table::Intervals => Intervals::NEEDS,
            Table::Valo => Score::NEEDS,
            Table::Turns { .. } => Cycle::NEEDS,
            Table::Deficit => Deficit::NEEDS,
            Table::ShortestQueue { .. } => ShortestQueue::NEEDS,
        }
}

/// What the tables run.
type MinMove = Slots<u8, 65_536>;
type Wcmp = Modulo<Box<[u16]>>;
type Intervals = Cumulative<256>;
type Deficit = Quota<Periods, Box<[u32]>>;
type ShortestQueue = Drill<Box<[u16]>, MEMORY_MAX>;

/// What is to be simulated.
#[derive(Clone, Copy)]
struct Task<'a> {
    fabric: &'a Fabric,
    flows: &'a [Flow],
    settings: &'a Settings,
    progress: &'a Progress,
}

impl Task<'_> {
    /// Switches run their tables; hosts run `edge`, if anything.
    fn by_tables(self, edge: Option<Box<dyn Edge>>) -> Result<Outcome, SimulationError> {
        match self.settings.balancing.table {
            Table::Uniform => self.by_table::<Uniform>((), edge),
            Table::MinMove => self.by_table::<MinMove>((), edge),
            Table::Wcmp { entries } => self.by_table::<Wcmp>(entries, edge),
            Table::WcmpScoring { entries } => self.by_table::<Score16>(Some(entries), edge),
            Table::Intervals => self.by_table::<Intervals>((), edge),
            Table::Valo => self.by_table::<Score>((), edge),
            Table::Scoring => self.by_table::<Score16>(None, edge),
            Table::Turns { block } => self.by_table::<Cycle>(block, edge),
            Table::Deficit => self.by_table::<Deficit>((), edge),
            Table::ShortestQueue { samples, memory } => {
                self.by_table::<ShortestQueue>((samples, memory), edge)
            }
        }
    }

    fn by_table<S: Planned>(
        self,
        parameters: S::Parameters,
        edge: Option<Box<dyn Edge>>,
    ) -> Result<Outcome, SimulationError> {
        let settings = self.settings;
        let switches = self.fabric.nodes().len() as u32 - self.fabric.hosts();
        let salts: Vec<u32> = (0..switches).map(|switch| salt(settings.seed, switch)).collect();
        let granularity = settings.balancing.granularity;
        self.run(TableBalancer::<S>::new(parameters, granularity, &salts, settings.seed), edge)
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
