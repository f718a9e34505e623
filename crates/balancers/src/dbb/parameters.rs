//! DBB: from the links between two leaves to a dispatching cycle.

use crate::dbb::cycle_units::CycleUnits;
use crate::dbb::dispatch::{Dispatch, DispatchRule};
use crate::dbb::pick as dbb;
use anabranch_plan::{FlowChoice, FlowLink, MaxFlow};
use anabranch_split::PlanError;

/// DBB's parameters.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Dbb {
    /// Whom a switch may choose among when the cycle is laid out.
    pub rule: DispatchRule,
    /// Which maximum flow.
    pub flow: FlowChoice,
    /// How it becomes whole packets.
    pub units: CycleUnits,
    /// Part of a link's bandwidth that a pair of leaves plans with.
    pub bandwidth: PairBandwidth,
    /// Order of the packets of a cycle at each switch.
    pub order: CycleOrder,
    /// Settings of the switches that run the cycle.
    pub switches: dbb::Parameters,
}

/// Part of a link's bandwidth that a pair of leaves plans with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PairBandwidth {
    /// All of it, whoever else uses it.
    #[default]
    Full,
    /// Its part, if all pairs whose paths lead over the link had the same.
    Shared,
    /// As much as of any other link (a mutation).
    Alike,
}

/// Order of the packets of a cycle at each switch. In any of them each link has its quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CycleOrder {
    /// That of Algorithm 1.
    #[default]
    Laid,
    /// One that is drawn at random, once for each pair of leaves and switch (a mutation).
    Drawn,
    /// All packets of a link one after the other (a mutation).
    Blocks,
}

/// A dispatching cycle, and how much of the maximum flow it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCycle {
    /// Maximum flow of the links, in their unit.
    pub max_flow: u64,
    /// The cycle.
    pub dispatch: Dispatch,
    /// Part of the maximum flow that the cycle cannot carry.
    pub loss: f64,
}

impl Dbb {
    /// The cycle from `source` to `sink` over these links.
    ///
    /// # Errors
    /// Links over which nothing can flow, or whose paths differ in length.
    pub fn dispatch(&self, links: &[FlowLink], source: u32, sink: u32) -> Result<PairCycle, PlanError> {
        let flow = MaxFlow::new(links, source, sink, self.flow)?;
        let packets = self.units.round(links, &flow, source, sink)?;
        let loss = CycleUnits::loss(links, &flow, &packets, source);
        let dispatch = Dispatch::new(&packets, source, sink, self.rule, self.units.cycle_max)?;
        Ok(PairCycle { max_flow: flow.value, dispatch, loss })
    }
}
