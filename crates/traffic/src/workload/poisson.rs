//! Flows that arrive as independent Poisson processes, one per sender.

use super::whole_ns;
use crate::load::Load;
use crate::pattern::{Sender, Senders};
use crate::random::Stream;
use crate::sizes::Sizes;
use crate::{Flow, Pattern, Ports, Start, TrafficError};
use anabranch_fabric::Fabric;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Flows at random times. Every sender has a process of its own, all of the same rate, and random streams of its own,
/// so that their sum is a Poisson process, and one more host does not change the times and sizes of the others at the
/// same rate per host.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    /// Pattern of senders and receivers.
    pub pattern: Pattern,
    /// Sizes of the flows.
    pub sizes: Sizes,
    /// Rate of arrivals.
    pub arrivals: Arrivals,
    /// Number of flows, or the time in which they arrive.
    pub amount: Amount,
    /// Time from which flows arrive, in picoseconds.
    pub start_ps: u64,
    /// Index into the simulation's list of transports.
    pub transport: u8,
}

/// Rate at which flows, or jobs, arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Rate that makes this load.
    Load(Load),
    /// Arrivals a second, all senders together.
    PerSecond(f64),
}

/// End of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Ends after this many arrivals.
    Count(u64),
    /// Ends after this time, in picoseconds.
    Duration(u64),
}

impl Amount {
    /// Whether arrival number `done`, counted from zero, at `time_ps` after the start is before the end.
    pub(super) fn includes(self, done: u64, time_ps: u64) -> bool {
        match self {
            Self::Count(count) => done < count,
            Self::Duration(duration_ps) => time_ps < duration_ps,
        }
    }

    /// Refuses an expected number beyond what indexes hold.
    pub(super) fn check(self, per_s: f64) -> Result<(), TrafficError> {
        let expected = match self {
            Self::Count(count) => count as f64,
            Self::Duration(duration_ps) => duration_ps as f64 / 1e12 * per_s,
        };
        // Half of all indexes: a Poisson number that large stays within the other half.
        if expected > f64::from(u32::MAX / 2) {
            return Err(TrafficError::new(
                None,
                format!("{expected:.0} arrivals"),
                "ask for at most 2,147,483,647: a shorter duration, or a lower load",
            ));
        }
        Ok(())
    }
}

/// Refuses rates that are not above zero and finite.
pub(super) fn check_rate(per_s: f64) -> Result<(), TrafficError> {
    if per_s > 0.0 && per_s.is_finite() {
        return Ok(());
    }
    Err(TrafficError::new(None, format!("{per_s} arrivals a second"), "give a rate above 0"))
}

/// Random streams of one sender.
#[derive(Debug)]
struct Process {
    sender: Sender,
    gaps: Stream,
    sizes: Stream,
    destinations: Stream,
    time_ns: f64,
}

impl Poisson {
    /// Flows a second, all senders together.
    ///
    /// # Errors
    /// Refuses a pattern, a load or sizes that make no sense on this fabric.
    pub fn flows_per_s(&self, fabric: &Fabric, seed: u64) -> Result<f64, TrafficError> {
        self.rate(fabric, &self.pattern.on(fabric, seed)?)
    }

    fn rate(&self, fabric: &Fabric, senders: &Senders) -> Result<f64, TrafficError> {
        if let Some((problem, hint)) = self.sizes.fault() {
            return Err(TrafficError::new("sizes", problem, hint));
        }
        let per_s = match self.arrivals {
            Arrivals::Load(load) => load.flows_per_s(fabric, senders, self.sizes.mean_bytes())?,
            Arrivals::PerSecond(per_s) => per_s,
        };
        check_rate(per_s)?;
        Ok(per_s)
    }

    pub(super) fn flows(&self, fabric: &Fabric, seed: u64) -> Result<Vec<Flow>, TrafficError> {
        Ok(Arc::new(PoissonDraws::new(self, fabric, seed)?).pass().collect())
    }
}

/// What the flows of Poisson arrivals are drawn from.
#[derive(Debug)]
pub(crate) struct PoissonDraws {
    of: Poisson,
    senders: Senders,
    seed: u64,
    /// Mean time between two flows of a sender.
    gap_ns: f64,
}

impl PoissonDraws {
    pub(crate) fn new(of: &Poisson, fabric: &Fabric, seed: u64) -> Result<Self, TrafficError> {
        let senders = of.pattern.on(fabric, seed)?;
        let per_s = of.rate(fabric, &senders)?;
        of.amount.check(per_s)?;
        let gap_ns = 1e9 * senders.senders.len() as f64 / per_s;
        Ok(Self { of: of.clone(), senders, seed, gap_ns })
    }

    /// The flows, in the order in which they begin.
    pub(crate) fn pass(self: &Arc<Self>) -> PoissonPass {
        let processes: Vec<Process> = (0..)
            .zip(&self.senders.senders)
            .map(|(entity, &sender)| {
                let stream = |purpose| Stream::of_entity(self.seed, purpose, entity);
                let mut gaps = stream("arrivals");
                let time_ns = gaps.exponential(self.gap_ns);
                Process {
                    sender,
                    gaps,
                    sizes: stream("sizes"),
                    destinations: stream("destinations"),
                    time_ns,
                }
            })
            .collect();
        let next = processes.iter().enumerate();
        let next = next.map(|(i, process)| Reverse((whole_ns(process.time_ns), i))).collect();
        PoissonPass { from: Arc::clone(self), processes, next, drawn: 0 }
    }
}

/// One pass over the flows of Poisson arrivals.
#[derive(Debug)]
pub(crate) struct PoissonPass {
    from: Arc<PoissonDraws>,
    processes: Vec<Process>,
    /// Next arrival of each sender, by time, then sender.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    drawn: u64,
}

impl Iterator for PoissonPass {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let PoissonDraws { of, senders, gap_ns, .. } = &*self.from;
        let mut next = self.next.peek_mut()?;
        let Reverse((time_ps, i)) = *next;
        if !of.amount.includes(self.drawn, time_ps) {
            return None;
        }
        self.drawn += 1;
        let process = &mut self.processes[i];
        let flow = Flow {
            src: process.sender.host,
            dst: senders.destination(process.sender, &mut process.destinations),
            size_bytes: of.sizes.draw_bytes(&mut process.sizes),
            start: Start::At(of.start_ps + time_ps),
            path: None,
            job: None,
            transport: of.transport,
            ports: Ports::CHOSEN,
        };
        process.time_ns += process.gaps.exponential(*gap_ns);
        *next = Reverse((whole_ns(process.time_ns), i));
        Some(flow)
    }
}
