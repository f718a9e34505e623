//! The thread in which a driven simulation lives: load balancers and engine stay on its stack from beginning to end.

use anabranch_balancers::{Settings, Task};
use anabranch_fabric::Change;
use anabranch_scenario::Resolved;
use anabranch_sim::{Driven, Driver, MessageEnd, Outcome, Progress, SimulationError, Until};
use anabranch_traffic::{DrawnFlows, Flow};
use std::panic::resume_unwind;
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time between two questions whether the caller still waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// Work for the simulation.
pub(crate) struct Step {
    pub(crate) messages: Vec<Flow>,
    pub(crate) changes: Vec<Change>,
    pub(crate) until: Until,
    pub(crate) time_ps: u64,
}

/// State of the simulation after a step.
pub(crate) struct Report {
    pub(crate) now_ps: u64,
    pub(crate) next_event_ps: Option<u64>,
    pub(crate) ends: Vec<MessageEnd>,
    /// Whether it came to what it was to go on to.
    pub(crate) arrived: bool,
}

impl Report {
    fn of(simulation: &mut dyn Driven, arrived: bool) -> Self {
        Self {
            now_ps: simulation.now_ps(),
            next_event_ps: simulation.next_event_ps(),
            ends: simulation.take_ends(),
            arrived,
        }
    }
}

/// What the simulation's thread knows of its driver. No step means that the simulation ends; a closed channel, that nobody
/// asks for its results.
struct Inbox {
    steps: Receiver<Option<Step>>,
    reports: Sender<Report>,
    progress: Arc<Progress>,
}

impl Driver for Inbox {
    fn drive(&self, simulation: &mut dyn Driven) -> Result<(), SimulationError> {
        let abandoned = || SimulationError::new("network: it was left", "ask for its results before");
        self.reports.send(Report::of(simulation, true)).map_err(|_| abandoned())?;
        while let Some(step) = self.steps.recv().map_err(|_| abandoned())? {
            simulation.send(&step.messages)?;
            simulation.change(&step.changes);
            let arrived = simulation.advance(step.until, step.time_ps, &self.progress)?;
            self.reports.send(Report::of(simulation, arrived)).map_err(|_| abandoned())?;
        }
        Ok(())
    }
}

/// A simulation in its thread, seen from outside.
pub(crate) struct SimulationThread {
    steps: Sender<Option<Step>>,
    reports: Receiver<Report>,
    progress: Arc<Progress>,
    thread: JoinHandle<Result<Outcome, SimulationError>>,
    /// The process that has the thread: its children do not.
    process: u32,
}

impl SimulationThread {
    /// Begins a simulation, which waits for its first step.
    pub(crate) fn begin(
        resolved: Arc<Resolved>,
        settings: Arc<Settings>,
        background: DrawnFlows,
    ) -> Result<(Self, Report), SimulationError> {
        let (steps, inbox_steps) = channel();
        let (inbox_reports, reports) = channel();
        let progress = Arc::new(Progress::default());
        let inbox = Inbox { steps: inbox_steps, reports: inbox_reports, progress: Arc::clone(&progress) };
        let simulate = move || {
            let progress = Arc::clone(&inbox.progress);
            Task::new(resolved.fabric(), &background, &settings, &progress)?.driven_by(&inbox).simulate()
        };
        let thread =
            Builder::new().name("anabranch-network".to_owned()).spawn(simulate).map_err(|error| {
                SimulationError::new(format!("network: no thread: {error}"), "end other threads or processes")
            })?;
        let begun = Self { steps, reports, progress, thread, process: process::id() };
        match begun.reports.recv() {
            Ok(report) => Ok((begun, report)),
            Err(_) => Err(begun.failure()),
        }
    }

    /// Whether this process has the thread.
    pub(crate) fn is_own(&self) -> bool {
        self.process == process::id()
    }

    /// Takes a step. Asks `goes_on` now and then, and stops between two events if it says no.
    pub(crate) fn step(&self, step: Step, mut goes_on: impl FnMut() -> bool) -> Option<Report> {
        self.steps.send(Some(step)).ok()?;
        let report = loop {
            match self.reports.recv_timeout(PATIENCE) {
                Ok(report) => break Some(report),
                Err(RecvTimeoutError::Timeout) if goes_on() => {}
                Err(RecvTimeoutError::Timeout) => self.progress.cancel(),
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        self.progress.resume();
        report
    }

    /// Ends the simulation.
    pub(crate) fn finish(self) -> Result<Outcome, SimulationError> {
        // One that has failed takes no word any more, and says why.
        let _ = self.steps.send(None);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Ends the simulation without its results, and waits until its thread has ended.
    pub(crate) fn abandon(self) {
        let Self { steps, reports, thread, process, .. } = self;
        drop((steps, reports));
        // A child of fork() has no such thread.
        if process == process::id() {
            let _ = thread.join();
        }
    }

    /// Why it has ended by itself.
    pub(crate) fn failure(self) -> SimulationError {
        match self.finish() {
            Err(error) => error,
            Ok(_) => SimulationError::new("network: it has ended", "make another"),
        }
    }
}
