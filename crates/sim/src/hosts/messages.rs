//! Messages that a driver sends while the simulation runs: flows behind those that were known before.

use super::Hosts;
use crate::network::Network;
use crate::timers::Timer;
use crate::{MessageEnd, SimulationError};
use anabranch_traffic::{Flow, Start};

/// State of the messages of a driver.
pub(crate) struct Messages {
    /// Flow of the first message; none has this number if nobody drives.
    first: u32,
    /// Messages that have not ended.
    open: u64,
    /// Whether the simulation stops when one ends.
    stops: bool,
    ends: Vec<MessageEnd>,
}

impl Default for Messages {
    fn default() -> Self {
        Self { first: u32::MAX, open: 0, stops: false, ends: Vec::new() }
    }
}

impl Messages {
    /// Ends since the last call, in their order.
    pub(crate) fn take_ends(&mut self) -> Vec<MessageEnd> {
        std::mem::take(&mut self.ends)
    }
}

impl Hosts<'_> {
    /// Expects a driver, who may always send more. To be called before flows are scheduled.
    pub(crate) fn expect_messages(&mut self) {
        self.in_order = false;
        self.hopeful += 1;
        self.messages.first = self.flows.left() as u32;
    }

    /// Adds a message that begins now or later.
    ///
    /// # Errors
    /// Records that the sink cannot take.
    pub(crate) fn add_message(&mut self, flow: Flow, network: &mut Network) -> Result<(), SimulationError> {
        let number = self.flows.append(flow)?;
        let Start::At(at_ps) = flow.start else { return Ok(()) };
        self.hopeful += 1;
        self.messages.open += 1;
        network.wake_at(at_ps, Timer::Start(number));
        Ok(())
    }

    /// Lets the simulation go on: until the next message ends, if `stops`, and for as long as there is time otherwise.
    /// Says whether it has any reason to.
    pub(crate) fn go_on(&mut self, stops: bool) -> bool {
        self.messages.stops = stops;
        self.hopeful_least = 0;
        !stops || self.messages.open > 0
    }

    /// Whether a message has ended after which the simulation stops.
    pub(crate) fn is_stopped(&self) -> bool {
        self.hopeful_least > 0
    }

    /// Notes that a flow has ended: delivered whole, or not and nobody sends the rest again.
    #[inline(always)]
    pub(super) fn note_end(&mut self, flow: u32, whole: bool, now_ps: u64) {
        if flow >= self.messages.first {
            self.end_message(flow, whole, now_ps);
        }
    }

    #[cold]
    fn end_message(&mut self, message: u32, whole: bool, at_ps: u64) {
        self.messages.open -= 1;
        self.messages.ends.push(MessageEnd { message, at_ps, whole });
        if self.messages.stops {
            self.hopeful_least = u64::MAX;
        }
    }
}
