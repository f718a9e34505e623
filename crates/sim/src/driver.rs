//! Simulations that another program drives: it sends messages while they run, and says how far they go.

use crate::{Progress, SimulationError};
use anabranch_fabric::Change;
use anabranch_traffic::Flow;

/// End of a message that a driver sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEnd {
    /// Number of its flow: messages follow the flows that were known before, in the order in which they were sent.
    pub message: u32,
    /// When it ended, in picoseconds.
    pub at_ps: u64,
    /// Whether all of it was delivered. Datagrams that are lost nobody sends again.
    pub whole: bool,
}

/// What a simulation goes on to, if nothing comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// A time: all before it happens, and nothing of that time itself.
    Time,
    /// The end of a message, or the time if none ends before it.
    MessageEnd,
}

/// A simulation between two of its events.
pub trait Driven {
    /// Present time, in picoseconds.
    fn now_ps(&self) -> u64;

    /// Time of the next event, in picoseconds; `None` if nothing will happen unless something is sent.
    fn next_event_ps(&self) -> Option<u64>;

    /// Adds messages that begin at a time, now or later, and that [`crate::check_flow`] takes.
    ///
    /// # Errors
    /// Records of flows that cannot be written.
    fn send(&mut self, flows: &[Flow]) -> Result<(), SimulationError>;

    /// Adds changes of the fabric, now or later.
    fn change(&mut self, changes: &[Change]);

    /// Goes on to `time_ps`, or until `progress` is cancelled. Returns whether it came to what it was to go on to.
    ///
    /// # Errors
    /// As [`crate::Simulation::run`].
    fn advance(&mut self, until: Until, time_ps: u64, progress: &Progress) -> Result<bool, SimulationError>;

    /// Ends of messages since the last call, in the order in which they came.
    fn take_ends(&mut self) -> Vec<MessageEnd>;
}

/// A program that drives a simulation.
pub trait Driver {
    /// Drives a simulation, which ends when this returns.
    ///
    /// # Errors
    /// Those of the simulation.
    fn drive(&self, simulation: &mut dyn Driven) -> Result<(), SimulationError>;
}
