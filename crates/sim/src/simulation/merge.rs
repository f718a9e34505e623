//! Outcome of a run whose fabric is in parts, of what each part has.

use super::Simulation;
use super::sums::Sums;
use crate::cut::Cut;
use crate::door::SwitchBalancer;
use crate::hosts::RemoteOutcome;
use crate::network::recorder::{Recorder, records};
use crate::{
    FlowRecord, FlowSink, Outcome, PortRecord, QueueSample, Settings, SimulationError, Totals, WindowSample,
    WorkRecord, partition,
};
use anabranch_traffic::{FlowSource, PlacedWork};
use anabranch_work::NodeTimes;
use rustc_hash::FxHashMap;
use std::io;
use std::sync::Arc;

/// Records that are passed to a sink at once.
const PIECE: usize = 1 << 12;

/// Outcome of one part, beside the records of ports. Samples are those of its own ports; records of flows are as many as the
/// whole has, and blank where the part knows nothing.
pub(super) struct PartOutcome {
    end_ps: u64,
    sums: Sums,
    connections_peak: u64,
    packets_peak: u64,
    counts: Vec<(&'static str, u64)>,
    queues: Vec<QueueSample>,
    windows: Vec<WindowSample>,
    flows: Vec<FlowRecord>,
    works: Vec<WorkRecord>,
    /// Connections whose sender it has, each with its flow, and what became of segments that no half counted.
    named: Vec<(u32, u32)>,
    ends: FxHashMap<u32, FlowRecord>,
    recorder: Option<Box<Recorder>>,
}

impl<B: SwitchBalancer> Simulation<'_, B> {
    /// Outcome of this part when the run is over.
    pub(super) fn part_outcome(mut self) -> Result<PartOutcome, SimulationError> {
        self.end_records();
        let end_ps = self.network.now_ps;
        let sums = self.sums();
        let RemoteOutcome { named, ends, peak: connections_peak } = self.hosts.take_remote(&mut self.network);
        let works = self.hosts.work_records();
        let mut counts = self.forwarding.balancer.counts();
        self.network.with_host_balancer(|host, _| counts.extend(host.counts()));
        let (flows, windows) = self.hosts.into_records()?;
        Ok(PartOutcome {
            end_ps,
            sums,
            connections_peak,
            packets_peak: self.network.packets.peak() as u64,
            counts,
            queues: self.queue_samples,
            windows,
            flows,
            works,
            named,
            ends,
            recorder: self.network.recorder,
        })
    }
}

/// The outcome of the whole, with these records of `ports`.
///
/// # Errors
/// Records that the sink cannot take.
pub(super) fn merge<C>(
    mut parts: Vec<PartOutcome>,
    cut: &Cut,
    (source, settings): (&dyn FlowSource, &Settings<C>),
    ports: Vec<PortRecord>,
    sink: Option<Arc<dyn FlowSink>>,
) -> Result<Outcome, SimulationError> {
    let recorders = parts.iter_mut().filter_map(|part| part.recorder.take().map(|recorder| *recorder));
    let (captures, events) = records(recorders.collect());
    let parts = &parts;
    let Some(one) = parts.first() else { return Ok(Outcome::default()) };
    let mut samples: Vec<_> = parts.iter().map(|part| part.queues.iter()).collect();
    let sampled = settings.observe.queue_ports.iter().map(|&port| cut.part_of_port(port) as usize);
    let count = parts.iter().map(|part| part.queues.len()).sum();
    let queues = sampled.cycle().take(count).filter_map(|part| samples[part].next().copied()).collect();
    // All samples of one flow are of its sender's part.
    let mut windows = Vec::from_iter(parts.iter().flat_map(|part| part.windows.iter().copied()));
    windows.sort_by_key(WindowSample::rank);
    let mut sums = Sums::default();
    parts.iter().for_each(|part| sums += part.sums);
    let totals = Totals {
        packets_peak: parts.iter().map(|part| part.packets_peak).sum(),
        connections_peak: one.connections_peak,
        ..sums.totals(&ports, one.end_ps)
    };
    let mut counts = partition::sums(parts.iter().map(|part| part.counts.clone()));
    counts.extend(sums.counts());
    let mut flows = Vec::with_capacity(one.flows.len());
    for (index, flow) in source.pass().enumerate() {
        let finishes_at = settings.transports[usize::from(flow.transport)].finishes_at(&flow);
        let at = |host| &parts[cut.part_of(host) as usize].flows[index];
        let [src, dst] = [flow.src, flow.dst].map(at);
        flows.push(FlowRecord {
            fct_ps: at(finishes_at).fct_ps,
            delivered_bytes: dst.delivered_bytes,
            delivered_packets: dst.delivered_packets,
            received_bytes: dst.received_bytes,
            reordered_packets: dst.reordered_packets,
            marked_packets: dst.marked_packets,
            paths: dst.paths,
            ..*src
        });
    }
    for ends in parts.iter().filter(|part| !part.ends.is_empty()).map(|part| &part.ends) {
        for &(name, flow) in parts.iter().flat_map(|part| &part.named) {
            if let Some(ends) = ends.get(&name) {
                flows[flow as usize].add_ends(ends);
            }
        }
    }
    if let Some(sink) = sink {
        let write = |(piece, records): (usize, &[FlowRecord])| sink.write((piece * PIECE) as u32, records);
        let written: io::Result<()> = flows.chunks(PIECE).enumerate().try_for_each(write);
        written.map_err(|error| SimulationError::records_unwritten(&error))?;
        flows = Vec::new();
    }
    let works =
        (0..).zip(&settings.works).map(|(number, work)| merge_work(number, work, parts, cut)).collect();
    Ok(Outcome { works, flows, ports, queues, windows, captures, events, counts, totals, replay: None })
}

/// What has happened to the nodes of a graph: each starts, and ends, where its rank is; a message ends where it is received.
fn merge_work(number: usize, work: &PlacedWork, parts: &[PartOutcome], cut: &Cut) -> WorkRecord {
    let graph = &work.graph;
    let part_of = |rank: u32| &parts[cut.part_of(work.hosts[rank as usize]) as usize].works[number];
    let mut record = WorkRecord::default();
    for rank in 0..graph.ranks() {
        let own = part_of(rank);
        for node in graph.nodes_of(rank) {
            let (index, ends) = (node as usize, part_of(graph.ends_at(node)));
            record.times.push(NodeTimes { end_ps: ends.times[index].end_ps, ..own.times[index] });
            record.causes.push(own.causes[index]);
            record.start_causes.push(own.start_causes[index]);
        }
    }
    record
}
