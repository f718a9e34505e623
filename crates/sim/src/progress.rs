//! How far a simulation is, for other threads to read, and the way to stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Written by the simulation every few thousand events; read by anyone.
#[derive(Debug, Default)]
pub struct Progress {
    pub(crate) now_ps: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) flows_finished: AtomicU64,
    pub(crate) cancelled: AtomicBool,
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

    /// Flows finished.
    #[must_use]
    pub fn flows_finished(&self) -> u64 {
        self.flows_finished.load(Ordering::Relaxed)
    }

    /// Asks the simulation to stop soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
