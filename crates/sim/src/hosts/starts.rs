//! Starts of flows: at a time, or when what they wait for has been delivered.

use super::Hosts;
use crate::network::Network;
use crate::timers::Timer;
use crate::{FlowSink, SimulationError};
use anabranch_traffic::{Flow, FlowSource, Start};
use std::sync::Arc;

impl Hosts<'_> {
    /// Sets the timers of the first flows that begin at a time: of all, if they are not in order. Their records go to
    /// `sink`, if there is one.
    pub(crate) fn schedule(
        &mut self,
        sink: Option<Arc<dyn FlowSink>>,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        self.flows.send_to(sink);
        let mut starts = Vec::new();
        while self.flows.left() > 0 && (starts.is_empty() || !self.in_order || self.remote.is_some()) {
            starts.extend(self.flows.load()?);
        }
        if self.remote.is_some() {
            starts = self.note_starts(starts);
        } else {
            self.hopeful += starts.len() as u64;
        }
        network.start(starts.into_iter());
        self.schedule_works(network);
        Ok(())
    }

    /// Loads the next flows when the last of those before them begins.
    #[cold]
    pub(super) fn load(&mut self, network: &mut Network) -> Result<(), SimulationError> {
        let starts = self.flows.load()?.inspect(|_| self.hopeful += 1);
        network.start(starts);
        Ok(())
    }

    /// Sets the timers of the flows that wait for one whose last byte has arrived.
    pub(super) fn start_waiting(&mut self, flow: u32, network: &mut Network) {
        if self.in_order {
            return;
        }
        if let Start::Ready { work, node } = self.flows.flow(flow).start {
            self.message_delivered(flow, (work, node), network);
        }
        let remote = self.remote.as_deref();
        let flows = &self.flows;
        let begins_here = |waiting: u32| remote.is_none_or(|remote| remote.has(flows.flow(waiting).src));
        let first = self.waiting.partition_point(|&(awaited, _)| awaited < flow);
        for &(_, waiting) in self.waiting[first..].iter().take_while(|&&(awaited, _)| awaited == flow) {
            if let Start::After { delay_ps, .. } = flows.flow(waiting).start
                && begins_here(waiting)
            {
                self.hopeful += 1;
                network.wake_at(network.now_ps + delay_ps, Timer::Start(waiting));
            }
        }
        if self.awaited_jobs.is_empty() {
            return;
        }
        for &(waiting, delay_ps) in self.awaited_jobs.delivered(flows.flow(flow).job) {
            if begins_here(waiting) {
                self.hopeful += 1;
                network.wake_at(network.now_ps + delay_ps, Timer::Start(waiting));
            }
        }
    }
}

/// Flows that wait for another: `(awaited, waiting)`, sorted.
pub(super) fn waiting(flows: &dyn FlowSource) -> Vec<(u32, u32)> {
    let awaited = |(index, flow): (u32, Flow)| match flow.start {
        Start::At(_) | Start::AfterJob { .. } | Start::Ready { .. } => None,
        Start::After { flow: awaited, .. } => Some((awaited, index)),
    };
    let mut waiting: Vec<(u32, u32)> = (0..).zip(flows.pass()).filter_map(awaited).collect();
    waiting.sort_unstable();
    waiting
}
