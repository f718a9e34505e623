//! One simulation on several threads: each has a part of the fabric, with the same bits as one thread has.
//!
//! Each part is a simulation of its own with the same fabric, flows and ranks of ports, in which only the nodes of the part
//! act. The parts run to the end of a window and meet: the window begins with the next event of all and is
//! as long as the least look-ahead ([`crate::cut`]). State belongs to a node, and an arrival is known to the other end with
//! its time and rank before the window in which it happens; so each node sees the events that it would see on one thread, in
//! the same order.
//!
//! Three things concern all parts at once. What changes the fabric or is sampled is known beforehand: a window ends there. A
//! connection closes for both halves: [`Hosts::depends_on_sender`](crate::hosts::Hosts). The run ends with the event by which
//! the last flow finishes: near it, where no flow is left that waits for others, and no receiver is known to miss more bytes
//! than a window brings, one part runs at a time.

use super::intervals::SharedRecords;
use super::merge::PartOutcome;
use super::{EVENTS_PER_REPORT, Simulation};
use crate::cut::Cut;
use crate::door::{HostBalancer, SwitchBalancer};
use crate::hosts::{Next, Step};
use crate::meeting::{Meetings, Seat};
use crate::network::{Letter, source};
use crate::queue::NEVER_PS;
use crate::sync::{Mutex, Ordering, lock, scope};
use crate::{Outcome, Partition, Progress, Settings, SimulationError};
use anabranch_fabric::Fabric;
use anabranch_plan::Weighing;
use anabranch_traffic::FlowSource;
use std::panic::resume_unwind;
use std::sync::Arc;

/// Report of a part to the others when they meet.
#[derive(Clone, Debug, Default)]
struct Report {
    /// Position of its next event, without the packets that it is about to hear of.
    next: u64,
    /// Key of the earliest arrival of a packet that it sent to others since the last meeting.
    posted: u64,
    /// Whether its next event is one of another part, which it hears of.
    hears: bool,
    now_ps: u64,
    hopeful: u64,
    /// Flows that wait for others and will begin here.
    waiting: u64,
    /// Time before which some flow that it receives is not complete.
    incomplete_until_ps: u64,
    sent: u64,
    packets: i64,
    events: u64,
    begun: u64,
    finished: u64,
    cancelled: bool,
    /// Steps of connections since the last meeting.
    steps: Vec<Step>,
}

/// State of the whole that all parts know when they have met.
#[derive(Default)]
struct View {
    /// Key of the next event of all, and its time.
    first: u64,
    first_ps: u64,
    /// Part whose next event that is, if no packet is on its way to another part.
    first_part: Option<usize>,
    /// Position of the next event of all other parts, and their packets on the way.
    others: u64,
    now_ps: u64,
    hopeful: u64,
    hopeful_others: u64,
    waiting: u64,
    incomplete_until_ps: u64,
    cancelled: bool,
}

/// State of a part from one meeting to the next.
#[derive(Default)]
pub(super) struct Part {
    number: usize,
    lookahead_ps: u64,
    delivery_ps: u64,
    incomplete_until_ps: u64,
    /// Key before which all events of this part have happened.
    passed: u64,
    /// Whether all flows had begun before the present window.
    ends: bool,
    /// Packets that were sent in the whole fabric, and that are left there.
    pub(super) whole: (u64, u64),
    pub(super) records: SharedRecords,
    /// Intervals that this part has written there.
    pub(super) intervals: usize,
    /// Records of ports that readers have been offered.
    ports_reported: usize,
}

/// Bounds of a window.
struct Bounds {
    /// Key of the first event after it.
    until: u64,
    /// Position up to which all closings are known.
    known: u64,
    /// Flows of other parts that may yet finish.
    hopeful_others: u64,
}

/// Load balancer of switches, and of hosts if there is one.
pub type Balancers<B> = (B, Option<Box<dyn HostBalancer>>);

/// Simulates `flows` over `fabric` in the parts of `partition`, each on a thread of its own, with load balancers that a call of
/// `make` makes for each. The outcome is that of [`Simulation::run`], to the bit; which runs have parts,
/// [`crate::one_thread`] says.
///
/// # Errors
/// As [`Simulation::new`] and [`Simulation::run`].
pub fn simulate_in_parts<B: SwitchBalancer, C: Sync>(
    make: impl FnMut() -> Result<Balancers<B>, SimulationError> + Send,
    weighing: &Weighing,
    (fabric, flows): (&Fabric, &dyn FlowSource),
    settings: &Settings<C>,
    partition: &Partition,
    progress: &Progress,
) -> Result<Outcome, SimulationError> {
    let cut = Arc::new(Cut::of(fabric, partition.part_of_nodes(), (flows, settings)));
    let answer_ps = cut.apart_ps(fabric);
    let meetings = Meetings::new(cut.parts());
    let (sink, make) = (progress.take_sink(), Mutex::new(make));
    let records = SharedRecords::default();
    let run = |number: usize| {
        let mut seat = meetings.seat(number);
        let (switches, hosts) = lock(&make)()?;
        let mut simulation = Simulation::new(switches, hosts, weighing.clone(), fabric, flows, settings)?;
        simulation.join((&cut, number), answer_ps, &records);
        simulation.run_part(&mut seat, progress)?;
        simulation.part_outcome()
    };
    let outcomes: Result<Vec<PartOutcome>, SimulationError> = scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (1..cut.parts()).map(|number| scope.spawn(move || run(number))).collect();
        let first = run(0);
        let others =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    });
    let ports = std::mem::take(&mut *lock(&records));
    let outcome = super::merge::merge(outcomes?, &cut, (flows, settings), ports, sink)?;
    progress.flows_finished.store(outcome.totals.flows_finished, Ordering::Relaxed);
    Ok(outcome)
}

impl<B: SwitchBalancer> Simulation<'_, B> {
    /// Makes this the simulation of one part.
    fn join(&mut self, (cut, number): (&Arc<Cut>, usize), answer_ps: u64, records: &SharedRecords) {
        let downlink = |host| self.fabric.ports()[self.fabric.ports_of(host)[0] as usize].reverse;
        let downlinks = (0..self.hosts_count).map(downlink).collect();
        self.hosts.set_part(cut, number as u32, downlinks, answer_ps);
        self.network.set_part(Arc::clone(cut), number as u32);
        self.queue_ports.retain(|&port| self.network.has_port(port));
        let (lookahead_ps, delivery_ps) = (cut.lookahead_ps(), cut.delivery_ps());
        self.part = Some(Box::new(Part {
            number,
            lookahead_ps,
            delivery_ps,
            records: Arc::clone(records),
            ..Part::default()
        }));
    }

    /// Runs this part until the whole run ends.
    fn run_part(
        &mut self,
        seat: &mut Seat<'_, Report, Letter>,
        progress: &Progress,
    ) -> Result<(), SimulationError> {
        for switch in 0..self.fabric.nodes().len() as u32 - self.hosts_count {
            if self.network.has_node(self.hosts_count + switch) {
                self.forwarding.balancer.begin(switch, &mut self.network);
            }
        }
        let here = (0..self.hosts_count).filter(|&host| self.network.has_node(host));
        let here: Vec<u32> = here.collect();
        self.network.with_host_balancer(|balancer, network| {
            here.into_iter().for_each(|host| balancer.begin(host, network));
        });
        self.hosts.schedule(None, &mut self.network)?;
        let end_ps = self.end_ps.min(self.network.queue.horizon_ps());
        let last_start_ps = self.hosts.last_start_ps();
        while let Some(view) = self.meet(seat, progress) {
            self.network.now_ps = self.network.now_ps.max(view.now_ps.min(view.first_ps));
            let change_ps = self.schedule.next_ps();
            let first_ps = view.first_ps.min(change_ps);
            if view.hopeful == 0 || first_ps == NEVER_PS {
                break;
            }
            if first_ps > end_ps {
                self.network.now_ps = end_ps;
                break;
            }
            if view.cancelled {
                break;
            }
            if change_ps == first_ps {
                self.change_part(change_ps)?;
                continue;
            }
            let Some(part) = &mut self.part else { break };
            let window_ps = view.first_ps.saturating_add(part.lookahead_ps).min(change_ps).min(end_ps + 1);
            part.ends = window_ps > last_start_ps && view.waiting == 0;
            let number = part.number;
            // A flow that has not begun is not delivered before it has passed two links.
            let undelivered_ps = if view.waiting > 0 { view.first_ps + part.delivery_ps } else { 0 };
            let unfinished_ps = last_start_ps.max(view.incomplete_until_ps).max(undelivered_ps);
            if unfinished_ps > view.first_ps {
                let until = self.network.queue.key_of(source::CONTROL, window_ps.min(unfinished_ps));
                self.run_window(&Bounds { until, known: view.others, hopeful_others: 1 })?;
            } else if view.first_part == Some(number) {
                let window = self.network.queue.key_of(source::CONTROL, window_ps);
                let until = window.min(view.others.max(view.first + 1));
                let hopeful_others = view.hopeful_others;
                self.run_window(&Bounds { until, known: view.others, hopeful_others })?;
            }
        }
        Ok(())
    }

    /// Something happens to the fabric, or is written down, in all parts at once.
    fn change_part(&mut self, at_ps: u64) -> Result<(), SimulationError> {
        self.network.now_ps = at_ps;
        if let Some(part) = &mut self.part {
            part.incomplete_until_ps = 0;
            self.hosts.look_again();
            // One event of the whole.
            self.events += u64::from(part.number == 0);
        }
        let control = self.schedule.take();
        self.control(control)
    }

    /// Meets the other parts. Nothing if one of them is no more.
    fn meet(&mut self, seat: &mut Seat<'_, Report, Letter>, progress: &Progress) -> Option<View> {
        let report = self.part_report(progress);
        let crossing = self.network.crossing.as_mut()?;
        let mut letters = crossing.take_letters();
        let network = &mut self.network;
        let reports = seat.meet(report, &mut letters, |letter| network.take_in(letter))?;
        let part = self.part.as_mut()?;
        let mut view = View { first: u64::MAX, others: u64::MAX, ..View::default() };
        let mut posted = u64::MAX;
        for (number, report) in reports.iter().enumerate() {
            view.first = view.first.min(report.next);
            posted = posted.min(report.posted);
            if number != part.number {
                view.others = view.others.min(report.next);
            }
            view.now_ps = view.now_ps.max(report.now_ps);
            view.hopeful += report.hopeful;
            view.waiting += report.waiting;
            view.incomplete_until_ps = view.incomplete_until_ps.max(report.incomplete_until_ps);
            view.cancelled |= report.cancelled;
            for &step in &report.steps {
                self.hosts.take_step(step, network);
            }
        }
        view.hopeful_others = view.hopeful - self.hosts.hopeful;
        view.others = view.others.min(posted);
        // What a part hears of belongs to another part's event, and comes before what follows from that.
        let is_first = |hears: bool| {
            reports.iter().position(|report| report.next == view.first && report.hears == hears)
        };
        let first = is_first(true).or_else(|| is_first(false));
        view.first_part = first.filter(|_| posted == u64::MAX);
        view.first = view.first.min(posted);
        view.first_ps = network.queue.time_ps(view.first);
        let sum = |count: fn(&Report) -> u64| reports.iter().map(count).sum::<u64>();
        let packets: i64 = reports.iter().map(|report| report.packets).sum();
        part.whole = (sum(|report| report.sent), packets as u64);
        if part.number == 0 {
            progress.now_ps.store(view.first_ps.min(view.now_ps), Ordering::Relaxed);
            progress.events.store(sum(|report| report.events), Ordering::Relaxed);
            progress.flows_begun.store(sum(|report| report.begun), Ordering::Relaxed);
            progress.flows_finished.store(sum(|report| report.finished), Ordering::Relaxed);
            // What all had written before they came: others may write the next interval by now.
            let written = part.intervals * network.ports.len();
            if written > part.ports_reported {
                let records = lock(&part.records);
                part.ports_reported = progress.offer_ports(&records[..written], part.ports_reported);
            }
        }
        self.hosts.settle_closings(view.first, network);
        if let Some(crossing) = &mut network.crossing {
            crossing.letters = letters;
        }
        Some(view)
    }

    fn part_report(&mut self, progress: &Progress) -> Report {
        let Self { hosts, network, part, .. } = self;
        let Some(part) = part else { return Report::default() };
        let sent = network.post_until(part.passed);
        let Some(crossing) = &network.crossing else { return Report::default() };
        let (position, posted) = (crossing.position, crossing.earliest);
        let now_ps = network.now_ps;
        if part.ends && part.incomplete_until_ps <= now_ps.saturating_add(part.lookahead_ps) {
            part.incomplete_until_ps = hosts.incomplete_until_ps(now_ps, network);
        }
        let first = network.queue.first_key().min(sent);
        if first != u64::MAX {
            let first_ps = network.queue.time_ps(first);
            let until_ps = first_ps.saturating_add(part.lookahead_ps).min(self.schedule.next_ps());
            hosts.announce(until_ps, network);
        }
        let port = network.queue.first().and_then(|(_, source)| source.checked_sub(source::PORTS));
        let hears = port.is_some_and(|port| hosts.hears_of(network.ports[port].to));
        Report {
            next: if first == u64::MAX { first } else { first.max(position) },
            posted,
            hears,
            now_ps,
            hopeful: hosts.hopes(),
            waiting: hosts.remote.as_ref().map_or(0, |remote| remote.waiting),
            incomplete_until_ps: part.incomplete_until_ps,
            sent: network.sent,
            packets: network.packets_here(),
            events: self.events,
            begun: hosts.begun,
            finished: hosts.finished,
            cancelled: part.number == 0 && progress.is_cancelled(),
            steps: hosts.remote.as_mut().map(|remote| remote.take_steps()).unwrap_or_default(),
        }
    }

    /// Lets the events of a window happen.
    fn run_window(&mut self, bounds: &Bounds) -> Result<(), SimulationError> {
        while self.hosts.hopes() + bounds.hopeful_others > 0 {
            let key = self.network.queue.first_key();
            if key >= bounds.until {
                break;
            }
            let Some((now_ps, source)) = self.network.queue.first() else { break };
            let Some(crossing) = &self.network.crossing else { break };
            let position = key.max(crossing.position);
            if self.depends(source, &Next { now_ps, position, known: bounds.known }) {
                break;
            }
            debug_assert!(now_ps >= self.network.now_ps, "time runs back");
            self.network.now_ps = now_ps;
            if let Some(crossing) = &mut self.network.crossing {
                crossing.position = position;
            }
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_REPORT) {
                self.crowded = self.is_crowded();
                self.network.attention |= self.crowded;
            }
            let port = source.wrapping_sub(source::PORTS);
            let is_heard = self.network.ports.get(port).is_some_and(|egress| self.hosts.hears_of(egress.to));
            if is_heard {
                self.hosts.delivered_elsewhere(port as u32, &mut self.network);
            } else if source >= source::PORTS {
                self.arrive(port);
            } else if source == source::TIMERS {
                self.timer()?;
            } else {
                self.hosts.serve_card(&mut self.network);
            }
            if self.wide {
                self.foresee_ports(source);
            }
            if self.network.attention {
                self.attend(if is_heard { source::TIMERS } else { source });
            }
        }
        let mut passed = bounds.until.min(self.network.queue.first_key());
        if self.hosts.hopes() + bounds.hopeful_others == 0
            && let Some(crossing) = &self.network.crossing
        {
            // The run has ended with this event: what would be sent after it is not.
            passed = passed.min(crossing.position);
        }
        if let Some(part) = &mut self.part {
            part.passed = passed;
        }
        Ok(())
    }

    /// Whether the next event depends on whether a connection is closed, which is not known yet.
    #[inline(always)]
    fn depends(&mut self, source: usize, next: &Next) -> bool {
        if source >= source::PORTS {
            let egress = &self.network.ports[source - source::PORTS];
            if egress.to >= self.hosts_count || egress.next_arrival_ps() > next.now_ps {
                return false;
            }
            let packet = *self.network.packets.get(egress.next_packet());
            return self.hosts.packet_depends(&packet, next, &mut self.network);
        }
        let timer = if source == source::TIMERS { self.network.next_timer() } else { None };
        timer.is_some_and(|timer| self.hosts.timer_depends(timer, next, &mut self.network))
    }
}
