//! The network as its driver sees it.

use crate::simulation_thread::{Report, SimulationThread, Step};
use anabranch_balancers::{Settings, explicit};
use anabranch_fabric::Change;
use anabranch_form::nearest;
use anabranch_record::Ideals;
use anabranch_scenario::Resolved;
use anabranch_sim::{MessageEnd, Outcome, SimulationError, Until, check_flow, horizon_ps};
use anabranch_traffic::{DrawnFlows, Flow, Ports, Start};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Time after the last start of a message, or from now on, in which a message ends or is given up: 10 s, as runs take it.
const GRACE_PS: u64 = 10_000_000_000_000;

/// Nobody interrupts.
pub const UNINTERRUPTED: fn() -> bool = || true;

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Host that sends, by its number.
    pub src: u32,
    /// Host that receives; another one.
    pub dst: u32,
    /// Payload in bytes, at least one.
    pub bytes: u64,
    /// When it is sent, in picoseconds; `None`: now.
    pub at_ps: Option<u64>,
    /// Transport, an index into those of the settings: 0 is the scenario's own, the others those that its traffic names, in
    /// their order.
    pub transport: u8,
}

/// Network of a scenario that another program drives.
///
/// The same calls give the same results, to the bit; those of `anabranch run` on a list of the same flows are the same too.
pub struct DrivenNetwork {
    resolved: Arc<Resolved>,
    settings: Arc<Settings>,
    background: DrawnFlows,
    numbers: HashMap<String, u32>,
    /// All messages, of which the simulation has so many.
    messages: Vec<Flow>,
    passed: usize,
    changes: Vec<Change>,
    /// Time of the next start or change that the simulation does not know.
    pending_ps: Option<u64>,
    last_start_ps: u64,
    report: Report,
    done: Vec<MessageEnd>,
    ended: usize,
    ideals: Ideals,
    thread: Option<SimulationThread>,
}

impl DrivenNetwork {
    /// The network of a scenario at time 0; `background`: with the scenario's traffic beside what is sent.
    ///
    /// # Errors
    /// A scenario that cannot be simulated.
    pub fn new(resolved: Arc<Resolved>, background: bool) -> Result<Self, SimulationError> {
        let mut settings = resolved.settings().clone();
        let flows = if background {
            resolved.flows().map_err(|error| SimulationError::new(error.problem, error.hint))?
        } else {
            settings.works.clear();
            DrawnFlows::from(Vec::new())
        };
        let settings = Arc::new(settings);
        let fabric = resolved.fabric();
        let numbers = fabric.nodes().iter().take(fabric.hosts() as usize).map(|node| node.name.clone());
        let (thread, report) =
            SimulationThread::begin(Arc::clone(&resolved), Arc::clone(&settings), flows.clone())?;
        Ok(Self {
            settings,
            background: flows,
            numbers: numbers.zip(0..).collect(),
            messages: Vec::new(),
            passed: 0,
            changes: Vec::new(),
            pending_ps: None,
            last_start_ps: 0,
            report,
            done: Vec::new(),
            ended: 0,
            ideals: Ideals::new(fabric),
            thread: Some(thread),
            resolved,
        })
    }

    /// Number of the host of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn host(&self, name: &str) -> Result<u32, SimulationError> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let near = nearest::near(name, self.numbers.keys().map(String::as_str));
            let hint = near.map_or_else(
                || format!("name one of {} hosts, or give its number from 0", self.numbers.len()),
                |near| format!("did you mean `{near}`?"),
            );
            SimulationError::new(format!("send: the fabric has no host `{name}`"), hint)
        })
    }

    /// Present time, in picoseconds.
    #[must_use]
    pub fn now_ps(&self) -> u64 {
        self.report.now_ps
    }

    /// Time of the next event, in picoseconds: nothing ends before it. `None` if nothing will happen.
    #[must_use]
    pub fn next_event_ps(&self) -> Option<u64> {
        self.report.next_event_ps.into_iter().chain(self.pending_ps).min()
    }

    /// Messages that have not ended.
    #[must_use]
    pub fn open(&self) -> usize {
        self.messages.len() - self.ended
    }

    /// The least time that a message takes on the fabric as built, in picoseconds, whatever else is under way.
    ///
    /// # Errors
    /// A message that cannot be sent.
    pub fn ideal_ps(&mut self, message: Message) -> Result<u64, SimulationError> {
        let flow = self.flow(0, message)?;
        let Settings { framing, transports, .. } = &*self.settings;
        Ok(self.ideals.fct_ps(self.resolved.fabric(), *framing, transports, &flow))
    }

    /// Sends messages; all of them, or none. Returns their numbers, which are those of their flows in the results.
    ///
    /// # Errors
    /// A message that cannot be sent, for instance because its time is over.
    pub fn send(&mut self, messages: &[Message]) -> Result<Range<u32>, SimulationError> {
        self.send_all(messages.iter().copied())
    }

    /// Sends as [`Self::send`] does, without a list of the messages.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_all(
        &mut self,
        messages: impl Iterator<Item = Message>,
    ) -> Result<Range<u32>, SimulationError> {
        self.thread()?;
        let before = self.messages.len();
        let first = self.background.len() + before;
        for (number, message) in (first..).zip(messages) {
            match self.flow(number, message) {
                Ok(flow) => self.messages.push(flow),
                Err(error) => {
                    self.messages.truncate(before);
                    return Err(error);
                }
            }
        }
        let starts = self.messages[before..].iter().filter_map(|flow| match flow.start {
            Start::At(at_ps) => Some(at_ps),
            _ => None,
        });
        for at_ps in starts {
            self.pending_ps = Some(self.pending_ps.map_or(at_ps, |pending| pending.min(at_ps)));
            self.last_start_ps = self.last_start_ps.max(at_ps);
        }
        Ok(first as u32..(self.background.len() + self.messages.len()) as u32)
    }

    /// The flow of a message.
    fn flow(&self, number: usize, message: Message) -> Result<Flow, SimulationError> {
        let (fabric, now_ps) = (self.resolved.fabric(), self.now_ps());
        let Message { mut src, mut dst, bytes, transport, .. } = message;
        let at_ps = message.at_ps.unwrap_or(now_ps);
        let refuse =
            |problem: String, hint: String| Err(SimulationError::new(format!("send: {problem}"), hint));
        if at_ps < now_ps {
            return refuse(
                format!("at {at_ps} ps: it is {now_ps} ps already"),
                "send now, or later".to_owned(),
            );
        }
        if at_ps >= horizon_ps(fabric) {
            let most = horizon_ps(fabric);
            return refuse(format!("at {at_ps} ps: beyond the clock"), format!("give less than {most} ps"));
        }
        if number >= u32::MAX as usize {
            return refuse("no number is left for it".to_owned(), "make another network".to_owned());
        }
        if let Some(servers) = fabric.servers().filter(|_| src.max(dst) < fabric.hosts()) {
            (src, dst) = servers.ends(src, dst);
        }
        let flow = Flow {
            src,
            dst,
            size_bytes: bytes,
            start: Start::At(at_ps),
            path: None,
            job: None,
            transport,
            ports: Ports::CHOSEN,
        };
        check_flow(fabric, number, &flow, &self.settings.transports)
            .map_err(|error| SimulationError::new(format!("send: {}", error.problem), error.hint))?;
        let paths = self.settings.balancing.paths.as_ref();
        match paths.and_then(|paths| explicit::missing_pair(paths, fabric, &[flow])) {
            Some([from, to]) => refuse(
                format!("flow {number}: no explicit path from host {from} to host {to}"),
                "list one, and one back: nothing else routes".to_owned(),
            ),
            None => Ok(flow),
        }
    }

    /// Changes the fabric, now or later.
    ///
    /// # Errors
    /// A change whose time is over.
    pub fn change(&mut self, changes: &[Change]) -> Result<(), SimulationError> {
        self.thread()?;
        let now_ps = self.now_ps();
        if let Some(Change { at_ps, .. }) = changes.iter().find(|change| change.at_ps < now_ps) {
            return Err(SimulationError::new(
                format!("change: at {at_ps} ps: it is {now_ps} ps already"),
                "change now, or later",
            ));
        }
        self.changes.extend_from_slice(changes);
        let first_ps = changes.iter().map(|change| change.at_ps).min();
        self.pending_ps = self.pending_ps.into_iter().chain(first_ps).min();
        Ok(())
    }

    /// Lets everything happen that comes before `time_ps`, and nothing of that time itself: what is sent then is as if it
    /// had been known before. `goes_on` is asked now and then, and stops the network between two events if it says no.
    /// Returns whether it came to that time.
    ///
    /// # Errors
    /// A time that is over, and those of the simulation, such as a deadlock.
    pub fn run_until(
        &mut self,
        time_ps: u64,
        goes_on: impl FnMut() -> bool,
    ) -> Result<bool, SimulationError> {
        let (now_ps, most) = (self.now_ps(), horizon_ps(self.resolved.fabric()));
        if time_ps < now_ps || time_ps > most {
            return Err(SimulationError::new(
                format!("run_until: {time_ps} ps: it is {now_ps} ps"),
                format!("give a time from then on, of at most {most} ps"),
            ));
        }
        self.step(Until::Time, time_ps, goes_on)
    }

    /// Goes on until a message ends, or to `time_ps` if none does before; without a time, to 10 s after the last message
    /// was to be sent. Stays if a message has ended of which nobody heard, or none is open. Returns whether it was not
    /// stopped by `goes_on`.
    ///
    /// # Errors
    /// As [`Self::run_until`].
    pub fn run_until_any_done(
        &mut self,
        time_ps: Option<u64>,
        goes_on: impl FnMut() -> bool,
    ) -> Result<bool, SimulationError> {
        self.thread()?;
        if !self.done.is_empty() || self.open() == 0 && time_ps.is_none() {
            return Ok(true);
        }
        let most = horizon_ps(self.resolved.fabric());
        let last_ps = || self.now_ps().max(self.last_start_ps).saturating_add(GRACE_PS).min(most);
        let time_ps = time_ps.unwrap_or_else(last_ps);
        if self.open() == 0 || time_ps < self.now_ps() || time_ps > most {
            return self.run_until(time_ps, goes_on);
        }
        self.step(Until::MessageEnd, time_ps, goes_on)
    }

    fn step(
        &mut self,
        until: Until,
        time_ps: u64,
        goes_on: impl FnMut() -> bool,
    ) -> Result<bool, SimulationError> {
        self.thread()?;
        let messages = self.messages[self.passed..].to_vec();
        self.passed = self.messages.len();
        let step = Step { messages, changes: std::mem::take(&mut self.changes), until, time_ps };
        self.pending_ps = None;
        let report = self.thread()?.step(step, goes_on);
        let Some(report) = report else {
            return Err(self.thread.take().map_or_else(closed, SimulationThread::failure));
        };
        self.ended += report.ends.len();
        self.done.extend_from_slice(&report.ends);
        self.report = report;
        Ok(self.report.arrived)
    }

    /// Messages that have ended and that nobody has taken, in the order in which they ended.
    #[must_use]
    pub fn done(&self) -> &[MessageEnd] {
        &self.done
    }

    /// Takes the messages that have ended, in the order in which they ended.
    pub fn take_done(&mut self) -> Vec<MessageEnd> {
        std::mem::take(&mut self.done)
    }

    /// Ends the network. Returns the flows, those of the background first, and the records of all.
    ///
    /// # Errors
    /// Those of the simulation, and a network that has ended.
    pub fn finish(&mut self) -> Result<(DrawnFlows, Outcome), SimulationError> {
        if self.passed < self.messages.len() || !self.changes.is_empty() {
            // They are in the results, as messages that never began.
            self.step(Until::Time, self.now_ps(), UNINTERRUPTED)?;
        }
        self.thread()?;
        let outcome = self.thread.take().ok_or_else(closed)?.finish()?;
        let flows = self.background.iter().chain(self.messages.iter().copied());
        Ok((DrawnFlows::from(flows.collect::<Vec<_>>()), outcome))
    }

    /// Ends the network, and forgets what has happened. Its thread has ended when this returns.
    pub fn close(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.abandon();
        }
    }

    /// Settings of the simulation.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The scenario.
    #[must_use]
    pub fn resolved(&self) -> &Arc<Resolved> {
        &self.resolved
    }

    fn thread(&self) -> Result<&SimulationThread, SimulationError> {
        let thread = self.thread.as_ref().ok_or_else(closed)?;
        if thread.is_own() {
            return Ok(thread);
        }
        Err(SimulationError::new(
            "network: it belongs to the process that this one was forked from",
            "make it in the process that drives it",
        ))
    }
}

fn closed() -> SimulationError {
    SimulationError::new(
        "network: it is closed",
        "make another; results() and close() end one, as an error does",
    )
}
