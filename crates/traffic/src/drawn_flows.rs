//! Flows of workloads, drawn again in every pass: nobody keeps a list of them all.

use crate::flow_source::{FlowSource, Outline};
use crate::merge::{check_number, merged_flows, workload_seed};
use crate::packed_flows::{PackedFlows, PackedReader};
use crate::workload::{PoissonDraws, PoissonPass};
use crate::{Flow, Start, TrafficError, Workload};
use anabranch_fabric::{Fabric, Servers};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The flows that [`merged_flows`] lists, each drawn when a pass comes to it. Flows of Poisson arrivals cost no memory,
/// those of given lists a few bytes each. Where several workloads are merged of which one is not in order, because flows
/// wait for others for instance, all stand in a list.
#[derive(Clone, Debug)]
pub struct DrawnFlows {
    parts: Vec<Part>,
    outline: Outline,
    /// Servers within which flows go from one scale-up port to another.
    servers: Option<Servers>,
}

/// Flows of one workload.
#[derive(Clone, Debug)]
struct Part {
    origin: Origin,
    /// Number of its first job.
    first_job: u32,
}

#[derive(Clone, Debug)]
enum Origin {
    Poisson(Arc<PoissonDraws>),
    Packed(Arc<PackedFlows>),
    Listed(Arc<Vec<Flow>>),
}

impl DrawnFlows {
    /// The flows of `workloads`, as [`merged_flows`] lists them.
    ///
    /// # Errors
    /// As [`merged_flows`].
    pub fn of(workloads: &[Workload], fabric: &Fabric, seed: u64) -> Result<Self, TrafficError> {
        let mut parts = Vec::with_capacity(workloads.len());
        let mut outline = Outline::NONE;
        for (index, workload) in (0..).zip(workloads) {
            let own_seed = workload_seed(seed, index);
            let origin = match workload {
                Workload::Poisson(poisson) => {
                    Origin::Poisson(Arc::new(PoissonDraws::new(poisson, fabric, own_seed)?))
                }
                Workload::Given(given) => Origin::Packed(Arc::clone(given)),
                other => Origin::Listed(Arc::new(other.flows(fabric, own_seed)?)),
            };
            let part = Part { origin, first_job: outline.jobs as u32 };
            outline = outline.and(Outline::of(part.pass().unnumbered()));
            check_number(index, outline.flows, outline.jobs)?;
            parts.push(part);
        }
        if parts.len() > 1 && !outline.in_order {
            return Ok(Self::from(merged_flows(workloads, fabric, seed)?));
        }
        Ok(Self { parts, outline, servers: fabric.servers().cloned() })
    }

    /// Number of flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.outline.flows as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The flows, in the order of their numbers.
    #[must_use]
    pub fn iter(&self) -> DrawnPass {
        let mut parts: Vec<PartPass> = self.parts.iter().map(Part::pass).collect();
        let heads = parts.iter_mut().map(Iterator::next).collect::<Vec<_>>();
        let due = heads
            .iter()
            .enumerate()
            .filter_map(|(part, head)| Some(Reverse((start_ps(head.as_ref()?), part))));
        DrawnPass { due: due.collect(), heads, parts, servers: self.servers.clone() }
    }
}

impl From<Vec<Flow>> for DrawnFlows {
    fn from(flows: Vec<Flow>) -> Self {
        let outline = flows.outline();
        let parts = vec![Part { origin: Origin::Listed(Arc::new(flows)), first_job: 0 }];
        Self { parts, outline, servers: None }
    }
}

impl FlowSource for DrawnFlows {
    fn outline(&self) -> Outline {
        self.outline
    }

    fn pass(&self) -> Box<dyn Iterator<Item = Flow> + '_> {
        Box::new(self.iter())
    }
}

/// Start of a flow, in picoseconds; where only one part is left to take it from, any number serves.
fn start_ps(flow: &Flow) -> u64 {
    match flow.start {
        Start::At(at_ps) => at_ps,
        Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => 0,
    }
}

/// One pass over all flows.
#[derive(Debug)]
pub struct DrawnPass {
    parts: Vec<PartPass>,
    /// Next flow of each part.
    heads: Vec<Option<Flow>>,
    /// Parts that have one, by its start, then number of the part.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    servers: Option<Servers>,
}

impl Iterator for DrawnPass {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let Reverse((_, part)) = *self.due.peek()?;
        let next = self.parts[part].next();
        match (&next, self.due.peek_mut()) {
            (Some(next), Some(mut due)) => *due = Reverse((start_ps(next), part)),
            (None, Some(due)) => drop(std::collections::binary_heap::PeekMut::pop(due)),
            (_, None) => {}
        }
        let mut flow = std::mem::replace(&mut self.heads[part], next)?;
        if let Some(servers) = &self.servers {
            (flow.src, flow.dst) = servers.ends(flow.src, flow.dst);
        }
        Some(flow)
    }
}

impl Part {
    fn pass(&self) -> PartPass {
        let draws = match &self.origin {
            Origin::Poisson(draws) => Draws::Poisson(draws.pass()),
            Origin::Packed(flows) => Draws::Packed(Arc::clone(flows), PackedReader::default()),
            Origin::Listed(flows) => Draws::Listed(Arc::clone(flows), 0),
        };
        PartPass { draws, first_job: self.first_job }
    }
}

/// One pass over the flows of one workload.
#[derive(Debug)]
struct PartPass {
    draws: Draws,
    first_job: u32,
}

#[derive(Debug)]
enum Draws {
    Poisson(PoissonPass),
    Packed(Arc<PackedFlows>, PackedReader),
    Listed(Arc<Vec<Flow>>, usize),
}

impl PartPass {
    /// The flows with the workload's own numbers of jobs.
    fn unnumbered(self) -> impl Iterator<Item = Flow> {
        Self { first_job: 0, ..self }
    }
}

impl Iterator for PartPass {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let mut flow = match &mut self.draws {
            Draws::Poisson(draws) => draws.next()?,
            Draws::Packed(flows, reader) => reader.next(flows)?,
            Draws::Listed(flows, next) => {
                let flow = *flows.get(*next)?;
                *next += 1;
                flow
            }
        };
        flow.job = flow.job.map(|job| job + self.first_job);
        if let Start::AfterJob { job, .. } = &mut flow.start {
            *job += self.first_job;
        }
        Some(flow)
    }
}
