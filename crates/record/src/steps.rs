//! Tables of workload graphs: completion of jobs, steps and collectives, and the critical path.

use crate::card_loads::CardLoads;
use crate::column::{Column, Values, column, ns};
use crate::ideals::Ideals;
use anabranch_fabric::Fabric;
use anabranch_sim::{Outcome, Settings, WorkRecord};
use anabranch_traffic::{FlowSource, PlacedWork, Start};
use anabranch_work::links::{Links, Message, run};
use anabranch_work::{Act, Graph, NEVER_PS, NodeId, NodeTimes, Request};
use std::collections::BTreeMap;

/// Rows of one graph.
pub struct Job<'a> {
    rows: Vec<Row>,
    path: Vec<NodeId>,
    placed: &'a PlacedWork,
    record: &'a WorkRecord,
    /// Start and end of each node if every message took the time of its flow alone.
    ideal: Vec<NodeTimes>,
    /// Flow of each node that sends to another rank.
    messages: Vec<Option<Carried>>,
}

/// Flow that carries a message.
#[derive(Clone, Copy, Debug)]
struct Carried {
    flow: u32,
    /// Its ideal completion time.
    ideal_ps: u64,
}

/// One job, step or part of a step.
#[derive(Clone, Debug, Default)]
struct Row {
    step: Option<u32>,
    kind: &'static str,
    ranks: u32,
    bytes: u64,
    bus: Option<f64>,
    start_ps: u64,
    /// When each rank ended its part in it; `NEVER_PS` if it did not.
    ends_ps: Vec<(u64, u32)>,
    ideal_ps: u64,
    /// Nodes of the critical path within it.
    path: Vec<NodeId>,
}

impl Row {
    fn end_ps(&self) -> Option<u64> {
        self.ends_ps.iter().map(|&(end_ps, _)| end_ps).max().filter(|&end_ps| end_ps != NEVER_PS)
    }

    fn time_ns(&self) -> Option<f64> {
        self.end_ps().map(|end_ps| ns(end_ps - self.start_ps))
    }

    /// Rank that ended last, and how long after the median rank.
    fn straggler(&self) -> Option<(u32, u64)> {
        let end_ps = self.end_ps()?;
        let mut ends = self.ends_ps.clone();
        ends.sort_unstable();
        let median_ps = ends[(ends.len() - 1) / 2].0;
        ends.iter().find(|&&(of, _)| of == end_ps).map(|&(_, rank)| (rank, end_ps - median_ps))
    }

    fn rate_bps(&self) -> Option<f64> {
        self.time_ns().filter(|&time| time > 0.0).map(|time| self.bytes as f64 * 8e9 / time)
    }
}

/// Every message takes as long as its flow would alone on the fabric.
struct Alone<'a>(&'a [Option<Carried>]);

impl Links for Alone<'_> {
    fn arrival_ps(&mut self, start_ps: u64, message: Message) -> u64 {
        start_ps + self.0[message.send as usize].map_or(0, |carried| carried.ideal_ps)
    }
}

/// Name of a part for the table: that of its collective, or of its dimension in training or inference.
fn kind(graph: &Graph, part: usize) -> &'static str {
    let part = &graph.parts()[part];
    let collective = anabranch_work::collective::Kind::ALL
        .into_iter()
        .find(|kind| part.bus.is_some() && part.name.starts_with(kind.name()));
    let dimensions = anabranch_work::training::PARTS.into_iter().chain(anabranch_work::inference::PARTS);
    let dimension = dimensions.filter(|_| part.bus.is_none()).find(|name| *name == part.name);
    collective.map(anabranch_work::collective::Kind::name).or(dimension).unwrap_or("graph")
}

/// What each part spans, by part: first start, and end of each rank.
fn spans(graph: &Graph, times: &[NodeTimes]) -> Vec<(u64, Vec<(u64, u32)>)> {
    let mut spans: Vec<(u64, Vec<(u64, u32)>)> = vec![(NEVER_PS, Vec::new()); graph.parts().len()];
    for rank in 0..graph.ranks() {
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        for node in graph.nodes_of(rank) {
            let (part, time) = (graph.node(node).part, times[node as usize]);
            let end_ps = ends.entry(part).or_insert(0);
            *end_ps = time.end_ps.max(*end_ps);
            let start_ps = &mut spans[part as usize].0;
            // Receives are posted early: a part begins with what is sent or computed.
            if !matches!(graph.node(node).act, Act::Recv { .. }) {
                *start_ps = time.start_ps.min(*start_ps);
            }
        }
        for (part, end_ps) in ends {
            spans[part as usize].1.push((end_ps, rank));
        }
    }
    spans
}

/// Nodes of the critical path, the first one first: the node that ended last, what it had waited for last, and so on.
/// Receives are left out; their message stands for them.
fn critical_path(graph: &Graph, record: &WorkRecord) -> Vec<NodeId> {
    let ended = |node: &NodeId| record.times[*node as usize].end_ps != NEVER_PS;
    let nodes = (0..graph.nodes().len() as u32).filter(ended);
    let mut path = Vec::new();
    let mut next = nodes.max_by_key(|&node| (record.times[node as usize].end_ps, std::cmp::Reverse(node)));
    // Whether what follows waited for the end of `next`, or only for its start (`irequires` of GOAL).
    let mut by_end = true;
    while let Some(node) = next {
        // A receive ends by its message; everything else ends by itself once it has started.
        let causes = if by_end { &record.causes } else { &record.start_causes };
        let cause = causes[node as usize];
        // Times do not tell: a message that takes none ends its receive at the time at which it started.
        by_end = graph.after_end(cause).contains(&node) || !graph.after_start(cause).contains(&node);
        let passes = match graph.node(node).act {
            Act::Recv { .. } => true,
            Act::Wait { ps } | Act::Calc { ps } => ps == 0,
            Act::Send { .. } => false,
        };
        if !passes {
            path.push(node);
        }
        next = (cause != node).then_some(cause);
    }
    path.reverse();
    path
}

/// Rows of all graphs of a run.
pub(crate) fn jobs<'a, B>(
    fabric: &Fabric,
    settings: &'a Settings<B>,
    flows: &dyn FlowSource,
    outcome: &'a Outcome,
) -> Vec<Job<'a>> {
    if settings.works.is_empty() {
        return Vec::new();
    }
    let messages = messages(fabric, settings, flows);
    let placed = settings.works.iter().zip(&outcome.works);
    placed.zip(messages).map(|((placed, record), messages)| job(placed, record, messages, fabric)).collect()
}

/// Flows that carry the messages of each graph, by node.
fn messages<B>(fabric: &Fabric, settings: &Settings<B>, flows: &dyn FlowSource) -> Vec<Vec<Option<Carried>>> {
    let nodes = |placed: &PlacedWork| vec![None; placed.graph.nodes().len()];
    let mut messages: Vec<Vec<Option<Carried>>> = settings.works.iter().map(nodes).collect();
    let mut ideals = Ideals::new(fabric);
    for (number, flow) in (0..).zip(flows.pass()) {
        if let Start::Ready { work, node } = flow.start {
            let ideal_ps = ideals.fct_ps(fabric, settings.framing, &settings.transports, &flow);
            messages[work as usize][node as usize] = Some(Carried { flow: number, ideal_ps });
        }
    }
    messages
}

fn job<'a>(
    placed: &'a PlacedWork,
    record: &'a WorkRecord,
    messages: Vec<Option<Carried>>,
    fabric: &Fabric,
) -> Job<'a> {
    let graph = &*placed.graph;
    let path = critical_path(graph, record);
    let real = spans(graph, &record.times);
    let ideal_times = run(graph, &mut Alone(&messages));
    let ideal = spans(graph, &ideal_times);
    let sent = sent_bytes(graph);
    let loads = CardLoads::of(placed, fabric);
    let mut rows: Vec<Row> = Vec::new();
    let sum = |parts: &[usize], step: Option<u32>, kind: &'static str| {
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        for &part in parts {
            for &(end_ps, rank) in &real[part].1 {
                let end = ends.entry(rank).or_insert(0);
                *end = end_ps.max(*end);
            }
        }
        let first = |spans: &[(u64, Vec<(u64, u32)>)]| {
            parts.iter().map(|&part| spans[part].0).min().unwrap_or(NEVER_PS)
        };
        let ideal_end_ps = parts.iter().flat_map(|&part| &ideal[part].1).map(|&(end_ps, _)| end_ps).max();
        let alone_ps = ideal_end_ps.unwrap_or(0).saturating_sub(first(&ideal));
        let of = |node: &&NodeId| parts.contains(&(graph.node(**node).part as usize));
        let alone = &graph.parts()[parts[0]];
        let single = parts.len() == 1 && kind != "job" && kind != "step";
        let bytes =
            if single && alone.bytes > 0 { alone.bytes } else { parts.iter().map(|&part| sent[part]).sum() };
        Row {
            step,
            kind,
            ranks: ends.len() as u32,
            bytes,
            bus: alone.bus.filter(|_| single).map(|(over, under)| f64::from(over) / f64::from(under)),
            start_ps: first(&real),
            ends_ps: ends.into_iter().map(|(rank, end_ps)| (end_ps, rank)).collect(),
            ideal_ps: alone_ps.max(loads.busiest_ps(parts, fabric)),
            path: if kind == "job" { path.clone() } else { path.iter().filter(of).copied().collect() },
        }
    };
    let parts: Vec<usize> = (0..graph.parts().len()).filter(|&part| !real[part].1.is_empty()).collect();
    if !parts.is_empty() {
        rows.push(sum(&parts, None, "job"));
    }
    let mut steps: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &part in &parts {
        steps.entry(graph.parts()[part].step).or_default().push(part);
    }
    for (step, parts) in steps {
        rows.push(sum(&parts, Some(step), "step"));
        rows.extend(parts.iter().map(|&part| sum(&[part], Some(step), kind(graph, part))));
    }
    Job { rows, path, placed, record, ideal: ideal_times, messages }
}

/// Bytes of the messages of each part.
fn sent_bytes(graph: &Graph) -> Vec<u64> {
    let mut sums = vec![0; graph.parts().len()];
    for node in graph.nodes() {
        if let Act::Send { bytes, .. } = node.act {
            sums[node.part as usize] += bytes;
        }
    }
    sums
}

impl Job<'_> {
    /// Requests that it serves.
    pub(crate) fn requests(&self) -> &[Request] {
        self.placed.graph.requests()
    }

    /// Start and end of each node.
    pub(crate) fn times(&self) -> &[NodeTimes] {
        &self.record.times
    }

    /// The same if every message took the time of its flow alone.
    pub(crate) fn ideal_times(&self) -> &[NodeTimes] {
        &self.ideal
    }

    /// Flow of a message; `None` if there is none.
    fn flow(&self, node: NodeId) -> Option<u64> {
        self.messages[node as usize].map(|carried| carried.flow.into())
    }

    fn time_ps(&self, node: NodeId) -> u64 {
        let NodeTimes { start_ps, end_ps } = self.record.times[node as usize];
        end_ps - start_ps
    }

    /// Name of a node's part.
    fn part(&self, node: NodeId) -> &'static str {
        let graph = &self.placed.graph;
        kind(graph, graph.node(node).part as usize)
    }

    fn is_message(&self, node: NodeId) -> bool {
        matches!(self.placed.graph.node(node).act, Act::Send { .. })
    }

    /// Message of a row's critical path that took longest.
    fn slowest(&self, row: &Row) -> Option<NodeId> {
        let messages = row.path.iter().copied().filter(|&node| self.is_message(node));
        messages.max_by_key(|&node| (self.time_ps(node), std::cmp::Reverse(node)))
    }

    fn path_ns(&self, row: &Row, messages: bool) -> f64 {
        let nodes = row.path.iter().filter(|&&node| self.is_message(node) == messages);
        ns(nodes.map(|&node| self.time_ps(node)).sum())
    }
}

/// Columns of jobs, steps and parts of steps.
#[must_use]
pub fn step_columns(jobs: &[Job<'_>]) -> Vec<Column> {
    let rows: Vec<(u64, &Job<'_>, &Row)> = (0..)
        .zip(jobs)
        .flat_map(|(number, job)| job.rows.iter().map(move |row| (number, job, row)))
        .collect();
    let real = |value: &dyn Fn(&Job<'_>, &Row) -> Option<f64>| {
        Values::OptionalF64(rows.iter().map(|(_, job, row)| value(job, row)).collect())
    };
    let count = |value: &dyn Fn(&Job<'_>, &Row) -> Option<u64>| {
        Values::OptionalU64(rows.iter().map(|(_, job, row)| value(job, row)).collect())
    };
    let whole =
        |value: &dyn Fn(&Row) -> u64| Values::U64(rows.iter().map(|(_, _, row)| value(row)).collect());
    let started = |row: &Row| (row.start_ps != NEVER_PS).then(|| ns(row.start_ps));
    vec![
        column(
            "job",
            "Number of the workload graph, in the order of `[[traffic]]`.",
            Values::U64(rows.iter().map(|&(number, ..)| number).collect()),
        ),
        column(
            "step",
            "Number of the step; null for the whole job.",
            count(&|_, row| row.step.map(u64::from)),
        ),
        column(
            "kind",
            "What the row is about: the whole `job`, a whole `step`, or a part of it: `compute`, the collective, \
             `tensor`, `expert`, `pipeline` or `data` of training, `arrival`, `prefill`, `decode`, `tensor`, `expert` or \
             `cache` of inference, `graph` for a file.",
            Values::Word(rows.iter().map(|(_, _, row)| row.kind).collect()),
        ),
        column("ranks", "Ranks that take part.", whole(&|row| row.ranks.into())),
        column(
            "size_bytes",
            "Size of a collective as nccl-tests states it; else the bytes of all messages.",
            whole(&|row| row.bytes),
        ),
        column("start_ns", "When its first rank began; null if none did.", real(&|_, row| started(row))),
        column(
            "end_ns",
            "When its last rank ended; null if it is unfinished.",
            real(&|_, row| row.end_ps().map(ns)),
        ),
        column("time_ns", "Completion time: end_ns - start_ns.", real(&|_, row| row.time_ns())),
        column(
            "ideal_time_ns",
            "The same work if every message took the time of its flow alone on the fabric as built; at least the time that \
             the busiest network card needs for its payload. No load balancer can be faster.",
            Values::F64(rows.iter().map(|(_, _, row)| ns(row.ideal_ps)).collect()),
        ),
        column(
            "slowdown",
            "time_ns / ideal_time_ns; null if unfinished.",
            real(&|_, row| row.time_ns().filter(|_| row.ideal_ps > 0).map(|time| time / ns(row.ideal_ps))),
        ),
        column(
            "algorithm_bps",
            "Algorithm bandwidth of a collective: size_bytes over time_ns.",
            real(&|_, row| row.bus.and(row.rate_bps())),
        ),
        column(
            "bus_bps",
            "Bus bandwidth, as nccl-tests defines it: algorithm bandwidth times 2(n-1)/n for an all-reduce, (n-1)/n for \
             all-gather, reduce-scatter and all-to-all, 1 for a broadcast.",
            real(&|_, row| row.bus.and_then(|factor| row.rate_bps().map(|rate| rate * factor))),
        ),
        column(
            "last_rank",
            "Rank that ended last.",
            count(&|_, row| row.straggler().map(|(rank, _)| rank.into())),
        ),
        column(
            "last_host",
            "Its host.",
            count(&|job, row| row.straggler().map(|(rank, _)| job.placed.hosts[rank as usize].into())),
        ),
        column(
            "straggler_ns",
            "How long after the median rank it ended.",
            real(&|_, row| row.straggler().map(|(_, ps)| ns(ps))),
        ),
        column(
            "slowest_flow",
            "Flow of the message on the critical path that took longest; null if there is none.",
            count(&|job, row| job.slowest(row).and_then(|node| job.flow(node))),
        ),
        column(
            "slowest_ns",
            "How long that message took.",
            real(&|job, row| job.slowest(row).map(|node| ns(job.time_ps(node)))),
        ),
        column(
            "path_network_ns",
            "Time that the critical path spends in messages.",
            Values::F64(rows.iter().map(|(_, job, row)| job.path_ns(row, true)).collect()),
        ),
        column(
            "path_compute_ns",
            "Time that it spends computing or waiting for a start.",
            Values::F64(rows.iter().map(|(_, job, row)| job.path_ns(row, false)).collect()),
        ),
    ]
}

/// Columns of critical paths.
#[must_use]
pub fn critical_columns(jobs: &[Job<'_>]) -> Vec<Column> {
    let nodes: Vec<(u64, &Job<'_>, NodeId)> = (0..)
        .zip(jobs)
        .flat_map(|(number, job)| job.path.iter().map(move |&node| (number, job, node)))
        .collect();
    let whole = |value: &dyn Fn(&Job<'_>, NodeId) -> u64| {
        Values::U64(nodes.iter().map(|&(_, job, node)| value(job, node)).collect())
    };
    let time = |value: fn(NodeTimes) -> u64| {
        Values::F64(nodes.iter().map(|&(_, job, node)| ns(value(job.record.times[node as usize]))).collect())
    };
    let word = |job: &Job<'_>, node: NodeId| match job.placed.graph.node(node).act {
        Act::Send { .. } | Act::Recv { .. } => "message",
        Act::Calc { .. } => "compute",
        Act::Wait { .. } => "wait",
    };
    vec![
        column(
            "job",
            "Number of the workload graph, in the order of `[[traffic]]`.",
            Values::U64(nodes.iter().map(|&(number, ..)| number).collect()),
        ),
        column("step", "Number of the step.", whole(&|job, node| job.placed.graph.step_of(node).into())),
        column(
            "kind",
            "What stands on the path: a `message`, `compute`, or a `wait` for a start.",
            Values::Word(nodes.iter().map(|&(_, job, node)| word(job, node)).collect()),
        ),
        column(
            "part",
            "Part of the step that it belongs to, as in `kind` of `steps.parquet`.",
            Values::Word(nodes.iter().map(|&(_, job, node)| job.part(node)).collect()),
        ),
        column(
            "rank",
            "Rank that sends or computes.",
            whole(&|job, node| job.placed.graph.rank_of(node).into()),
        ),
        column(
            "flow",
            "Flow of the message; null if there is none.",
            Values::OptionalU64(nodes.iter().map(|&(_, job, node)| job.flow(node)).collect()),
        ),
        column("start_ns", "When it started.", time(|times| times.start_ps)),
        column("end_ns", "When it ended.", time(|times| times.end_ps)),
    ]
}
