//! Workload graphs at hosts: messages are flows that begin when their node is ready, computing is a timer.

use super::Hosts;
use crate::WorkRecord;
use crate::network::Network;
use crate::pair::Stream;
use crate::timers::Timer;
use anabranch_traffic::{FlowSource, PlacedWork, Start};
use anabranch_work::{Effect, Execution, Graph};
use std::sync::Arc;

/// One graph and its state.
struct Running {
    execution: Execution<Arc<Graph>>,
    /// Host of each rank.
    hosts: Vec<u32>,
    /// Flow of each node that sends to another rank.
    flow_of: Vec<u32>,
    /// Number of this graph's first timer; the last is that of its beginning.
    first_timer: u32,
    start_ps: u64,
    /// Whether its messages between two ranks follow each other.
    ordered: bool,
}

/// All graphs of a simulation.
#[derive(Default)]
pub(super) struct Works {
    running: Vec<Running>,
    effects: Vec<Effect>,
}

impl Works {
    pub(super) fn new(works: &[PlacedWork], flows: &dyn FlowSource) -> Self {
        if works.is_empty() {
            return Self::default();
        }
        let mut first_timer = 0;
        let mut running = Vec::with_capacity(works.len());
        for work in works {
            let nodes = work.graph.nodes().len() as u32;
            running.push(Running {
                execution: Execution::new(Arc::clone(&work.graph)),
                hosts: work.hosts.clone(),
                flow_of: vec![u32::MAX; nodes as usize],
                first_timer,
                start_ps: work.start_ps,
                ordered: work.ordered,
            });
            first_timer += nodes + 1;
        }
        for (index, flow) in (0..).zip(flows.pass()) {
            if let Start::Ready { work, node } = flow.start
                && let Some(running) = running.get_mut(work as usize)
            {
                running.flow_of[node as usize] = index;
            }
        }
        Self { running, effects: Vec::new() }
    }

    /// Whether a message may go to its receive: that of a graph needs one that was posted and that no other takes; all
    /// others, and the words of rendezvous, find one.
    pub(super) fn accept(&mut self, start: Start) -> bool {
        match start {
            Start::Ready { work, node } => {
                let execution = &mut self.running[work as usize].execution;
                !execution.graph().needs_receive(node) || execution.accept(node)
            }
            Start::At(_) | Start::After { .. } | Start::AfterJob { .. } => true,
        }
    }

    /// Hosts of what waits for the end of a node.
    pub(super) fn hosts_after(&self, work: u32, node: u32) -> impl Iterator<Item = u32> + '_ {
        let Running { execution, hosts, .. } = &self.running[work as usize];
        let graph = execution.graph();
        graph.after_end(node).iter().map(|&after| hosts[graph.rank_of(after) as usize])
    }

    /// When a graph begins, in picoseconds.
    pub(super) fn start_ps(&self, work: u32) -> u64 {
        self.running[work as usize].start_ps
    }

    /// Which messages follow each other with that of a node.
    pub(super) fn stream(&self, work: u32, node: u32) -> Stream {
        let running = &self.running[work as usize];
        match (running.ordered, running.execution.graph().needs_receive(node)) {
            (false, _) => Stream::Any,
            (true, true) => Stream::Work(work),
            (true, false) => Stream::Words(work),
        }
    }

    pub(super) fn records(&self) -> Vec<WorkRecord> {
        let record = |running: &Running| {
            let execution = &running.execution;
            let nodes = 0..execution.graph().nodes().len() as u32;
            WorkRecord {
                times: execution.times().to_vec(),
                causes: nodes.clone().map(|node| execution.cause(node).unwrap_or(node)).collect(),
                start_causes: nodes.map(|node| execution.start_cause(node).unwrap_or(node)).collect(),
            }
        };
        self.running.iter().map(record).collect()
    }
}

impl Hosts<'_> {
    /// What has happened to the nodes of each graph.
    pub(crate) fn work_records(&self) -> Vec<WorkRecord> {
        self.works.records()
    }

    /// Sets the timers with which graphs begin.
    pub(super) fn schedule_works(&mut self, network: &mut Network) {
        for running in self.works.running.iter().filter(|running| running.start_ps != PlacedWork::NEVER_PS) {
            self.hopeful += 1;
            let timer = running.first_timer + running.flow_of.len() as u32;
            network.wake_at(running.start_ps, Timer::Work(timer));
        }
    }

    /// A timer of a graph is due: it begins, or the time of a node is over.
    pub(super) fn work_due(&mut self, timer: u32, network: &mut Network) {
        let index = self.works.running.partition_point(|running| running.first_timer <= timer) - 1;
        let running = &mut self.works.running[index];
        let node = timer - running.first_timer;
        self.hopeful -= 1;
        if node as usize == running.flow_of.len() {
            let Running { execution, hosts, .. } = running;
            let here = |rank: u32| network.has_node(hosts[rank as usize]);
            execution.begin(here, network.now_ps, &mut self.works.effects);
            if let Some(remote) = &mut self.remote {
                // One event of the whole.
                remote.repeated += u64::from(!network.is_first_part());
            }
        } else {
            running.execution.elapsed(node, network.now_ps, &mut self.works.effects);
        }
        self.follow(index, network);
    }

    /// A message of a flow has been delivered whole, here or in another part of the fabric.
    pub(super) fn message_delivered(&mut self, flow: u32, (work, node): (u32, u32), network: &mut Network) {
        let elsewhere = self.is_received_elsewhere(flow);
        let Works { running, effects } = &mut self.works;
        let execution = &mut running[work as usize].execution;
        if elsewhere {
            execution.delivered_elsewhere(node, network.now_ps, effects);
        } else {
            execution.delivered(node, network.now_ps, effects);
        }
        self.follow(work as usize, network);
    }

    /// Does what an execution asks for.
    fn follow(&mut self, index: usize, network: &mut Network) {
        let Works { running, effects } = &mut self.works;
        let running = &running[index];
        for effect in effects.drain(..) {
            self.hopeful += 1;
            match effect {
                Effect::Carry(node) => {
                    network.wake_at(network.now_ps, Timer::Start(running.flow_of[node as usize]));
                }
                Effect::Time(node, ps) => {
                    network.wake_at(network.now_ps + ps, Timer::Work(running.first_timer + node));
                }
            }
        }
    }
}
