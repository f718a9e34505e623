//! A simulation that goes on by steps.

use super::Simulation;
use crate::door::SwitchBalancer;
use crate::driver::{Driven, Driver, MessageEnd, Until};
use crate::{Progress, SimulationError};
use anabranch_fabric::Change;
use anabranch_traffic::Flow;

impl<B: SwitchBalancer> Simulation<'_, B> {
    /// Runs as `driver` says, instead of until the flows are done or time is over.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_driven(&mut self, driver: &dyn Driver, progress: &Progress) -> Result<(), SimulationError> {
        self.hosts.expect_messages();
        self.begin(progress)?;
        driver.drive(self)
    }
}

impl<B: SwitchBalancer> Driven for Simulation<'_, B> {
    fn now_ps(&self) -> u64 {
        self.network.now_ps
    }

    fn next_event_ps(&self) -> Option<u64> {
        self.network.queue.first().map(|(at_ps, _)| at_ps)
    }

    fn send(&mut self, flows: &[Flow]) -> Result<(), SimulationError> {
        flows.iter().try_for_each(|&flow| self.hosts.add_message(flow, &mut self.network))
    }

    fn change(&mut self, changes: &[Change]) {
        changes.iter().for_each(|&change| self.schedule.add(change));
        self.schedule_control();
    }

    fn advance(&mut self, until: Until, time_ps: u64, progress: &Progress) -> Result<bool, SimulationError> {
        if time_ps <= self.network.now_ps || !self.hosts.go_on(until == Until::MessageEnd) {
            return Ok(true);
        }
        self.go_on(time_ps - 1, progress)?;
        if self.hosts.is_stopped() {
            return Ok(true);
        }
        if progress.is_cancelled() {
            return Ok(false);
        }
        self.network.now_ps = time_ps;
        Ok(true)
    }

    fn take_ends(&mut self) -> Vec<MessageEnd> {
        self.hosts.messages.take_ends()
    }
}
