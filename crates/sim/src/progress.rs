//! How far a simulation is, for other threads to read, and the way to stop it.

use super::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use crate::{FlowSink, PortRecord};
use std::sync::Arc;

/// Written by the simulation every few thousand events; read by anyone.
#[derive(Debug, Default)]
pub struct Progress {
    pub(crate) now_ps: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) flows_begun: AtomicU64,
    pub(crate) flows_finished: AtomicU64,
    pub(crate) cancelled: AtomicBool,
    /// Whether somebody took port records since the simulation last copied some, and so waits for more.
    ports_awaited: AtomicBool,
    ports: Mutex<Vec<PortRecord>>,
    flows: Mutex<Option<Arc<dyn FlowSink>>>,
}

impl Progress {
    /// Simulated time, in picoseconds.
    #[must_use]
    pub fn now_ps(&self) -> u64 {
        self.now_ps.load(Ordering::Relaxed)
    }

    /// Events processed: nearly one per packet-hop.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Flows that have begun.
    #[must_use]
    pub fn flows_begun(&self) -> u64 {
        self.flows_begun.load(Ordering::Relaxed)
    }

    /// Flows finished.
    #[must_use]
    pub fn flows_finished(&self) -> u64 {
        self.flows_finished.load(Ordering::Relaxed)
    }

    /// Takes records of the intervals that have ended, each once and in their order, and asks for those that follow. The
    /// first call yields none yet; what nobody asks for is not copied, so that a slow reader costs no memory.
    ///
    /// Intervals without any packet come late, as one. The end of a run stands only in its [`crate::Outcome`]: what nobody
    /// asked for in time, and what was counted in the picosecond in which the last interval ended.
    #[must_use]
    pub fn take_ports(&self) -> Vec<PortRecord> {
        let taken = std::mem::take(&mut *lock(&self.ports));
        self.ports_awaited.store(true, Ordering::Release);
        taken
    }

    /// Copies those of `records` that stand after the first `copied`, if somebody waits for them; returns how many are
    /// copied now.
    pub(crate) fn offer_ports(&self, records: &[PortRecord], copied: usize) -> usize {
        if copied == records.len() || !self.ports_awaited.swap(false, Ordering::Acquire) {
            return copied;
        }
        lock(&self.ports).extend_from_slice(&records[copied..]);
        records.len()
    }

    /// Sends the records of flows to `sink` instead of into the [`crate::Outcome`], for the next run that begins.
    pub fn send_flows_to(&self, sink: Arc<dyn FlowSink>) {
        *lock(&self.flows) = Some(sink);
    }

    /// Where the records of flows go, if not into the outcome.
    pub(crate) fn take_sink(&self) -> Option<Arc<dyn FlowSink>> {
        lock(&self.flows).take()
    }

    /// Asks the simulation to stop soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Takes back that the simulation was asked to stop.
    pub fn resume(&self) {
        self.cancelled.store(false, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
