//! Flows that must arrive: streams whose ends are joined by live links after the last change, given enough time.

use crate::broken::Broken;
use anabranch_balancers::{LoadBalancer, Settings};
use anabranch_fabric::{Fabric, LinkState, Marking, NextHops, What};
use anabranch_scenario::{Resolved, Weights};
use anabranch_sim::transport::{QueuePairs, Reorder, Tcp, Transport};
use anabranch_sim::{Outcome, horizon_ps};
use anabranch_traffic::{Flow, PlacedWork, Start};
use anabranch_work::Act;

/// Loss rate of a link above which a stream may take any time to arrive.
const LOSS_MAX: f64 = 0.2;
/// Time that load balancers hold packets back or wait by themselves; drawn parameters are in proportion to the traffic.
const HELD_PS: u128 = 20_000_000_000;

/// Fabric after all changes.
struct Final {
    state: LinkState,
    loss: Vec<f64>,
    blackhole: bool,
}

impl Final {
    /// Applies all changes: a link carries if it was not taken down and the nodes at both ends are up.
    fn of(fabric: &Fabric, settings: &Settings) -> Self {
        let ports = fabric.ports().len();
        let (mut port_up, mut node_up) = (vec![true; ports], vec![true; fabric.nodes().len()]);
        let mut last = Self { state: LinkState::of(fabric), loss: vec![0.0; ports], blackhole: false };
        let mut blackholes = vec![0.0; fabric.nodes().len()];
        for change in &settings.changes {
            match change.what {
                What::PortDown(port) => port_up[port as usize] = false,
                What::PortUp(port) => port_up[port as usize] = true,
                What::NodeDown(node) => node_up[node as usize] = false,
                What::NodeUp(node) => node_up[node as usize] = true,
                What::PortRate(port, rate) => last.state.rate[port as usize] = rate,
                What::PortLoss(port, loss) => last.loss[port as usize] = loss,
                What::NodeBlackhole(node, fraction) => blackholes[node as usize] = fraction,
            }
        }
        for (index, port) in fabric.ports().iter().enumerate() {
            last.state.up[index] = port_up[index] && node_up[port.from as usize] && node_up[port.to as usize];
        }
        last.blackhole = blackholes.iter().any(|&fraction| fraction > 0.0);
        last
    }
}

/// Bytes of each part of a flow: one for each queue pair that carries any, or the whole.
pub(crate) fn parts(settings: &Settings, flow: &Flow) -> impl Iterator<Item = u64> {
    let pairs = settings.transports[usize::from(flow.transport)].queue_pairs();
    pairs.unwrap_or(QueuePairs::ONE).parts(flow.size_bytes)
}

/// Number of frames of a flow's payload.
pub(crate) fn frames(settings: &Settings, flow: &Flow) -> u64 {
    let transport = &settings.transports[usize::from(flow.transport)];
    let most_bytes = transport.payload_bytes_max(settings.framing).into();
    parts(settings, flow).map(|bytes| bytes.div_ceil(most_bytes)).sum()
}

/// Least number of bytes that a flow's payload occupies on a link.
pub(crate) fn wire_bytes(settings: &Settings, flow: &Flow) -> u64 {
    let (framing, frames) = (settings.framing, frames(settings, flow));
    let whole = flow.size_bytes + frames * u64::from(framing.header_bytes);
    whole.max(frames * u64::from(framing.frame_bytes_min)) + frames * u64::from(framing.gap_bytes)
}

fn streams(settings: &Settings) -> impl Iterator<Item = &Tcp> {
    settings.transports.iter().filter_map(Transport::tcp)
}

/// Longest time that a packet may take: everything else is before it, on the slowest link that ever exists, and it is stored on
/// twenty links there and back.
pub(crate) fn wait_ps(fabric: &Fabric, settings: &Settings, flows: &[Flow]) -> u128 {
    let changed = settings.changes.iter().filter_map(|change| match change.what {
        What::PortRate(_, rate) => Some(rate),
        _ => None,
    });
    let slowest = fabric.ports().iter().map(|port| port.rate).chain(changed).min();
    let stored = 20 * u64::from(settings.framing.frame_bytes(settings.framing.payload_bytes_max));
    let wire = stored + flows.iter().map(|flow| 2 * wire_bytes(settings, flow) + 4000).sum::<u64>();
    let sent_ps = slowest.map_or(0, |rate| u128::from(rate.serialization().bytes_ps(wire)));
    let signal_ps: u128 = fabric.ports().iter().map(|port| u128::from(port.delay_ps)).max().unwrap_or(0) * 20;
    let hold_ps = streams(settings).map(|tcp| match tcp.reorder {
        Reorder::None => 0,
        Reorder::Hold { timeout_ps } | Reorder::Flowcell { timeout_ps, .. } => u128::from(timeout_ps),
    });
    let ack_ps = streams(settings).map(|tcp| u128::from(tcp.ack_delay_ps)).max().unwrap_or(0);
    let paced = |flow: &Flow| {
        u128::from(match &settings.transports[usize::from(flow.transport)] {
            Transport::Udp(udp) => udp.rate.serialization().bytes_ps(wire_bytes(settings, flow)),
            Transport::Tcp(Tcp { pace: Some(pace), .. }) => {
                pace.rate.serialization().bytes_ps(flow.size_bytes + pace.burst_bytes)
            }
            _ => 0,
        })
    };
    let paced_ps: u128 = flows.iter().map(paced).sum();
    sent_ps + signal_ps + hold_ps.max().unwrap_or(0) + ack_ps + paced_ps
}

/// Time at which everything that is known beforehand has begun and changed, and routing has learned of it.
pub(crate) fn settled_ps(settings: &Settings, flows: &[Flow]) -> u128 {
    let changed = settings.changes.iter().map(|change| change.at_ps).max().unwrap_or(0);
    let begun = flows.iter().map(|flow| match flow.start {
        Start::At(at_ps) => at_ps,
        Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => 0,
    });
    let computed: u128 = flows
        .iter()
        .map(|flow| match flow.start {
            Start::At(_) | Start::Ready { .. } => 0,
            Start::After { delay_ps, .. } | Start::AfterJob { delay_ps, .. } => u128::from(delay_ps),
        })
        .sum();
    let begin = settings.works.iter().filter(|work| work.start_ps != PlacedWork::NEVER_PS);
    let worked: u128 = begin
        .map(|work| {
            let calculated = work.graph.nodes().iter().map(|node| match node.act {
                Act::Calc { ps } | Act::Wait { ps } => u128::from(ps),
                Act::Send { .. } | Act::Recv { .. } => 0,
            });
            u128::from(work.start_ps) + calculated.sum::<u128>()
        })
        .sum();
    let known = changed.max(begun.max().unwrap_or(0));
    u128::from(known) + u128::from(settings.routing_delay_ps) + computed + worked
}

/// Time at which every stream that can arrive has long arrived: a timeout and the longest wait for each packet, twice.
pub(crate) fn needed_ps(resolved: &Resolved, flows: &[Flow]) -> u64 {
    let settings = resolved.settings();
    let packets: u64 = flows.iter().map(|flow| frames(settings, flow) + 4).sum();
    let timeout_ps = streams(settings).map(|tcp| u128::from(tcp.rto_max_ps)).max().unwrap_or(0);
    let each_ps = 4 * wait_ps(resolved.fabric(), settings, flows) + timeout_ps + HELD_PS;
    let needed_ps = settled_ps(settings, flows) + 2 * each_ps * u128::from(packets + 50);
    u64::try_from(needed_ps).unwrap_or(u64::MAX)
}

/// Refuses a stream that began, could arrive, had the time, and did not.
pub(crate) fn check(resolved: &Resolved, flows: &[Flow], outcome: &Outcome) -> Result<(), Broken> {
    let (fabric, settings) = (resolved.fabric(), resolved.settings());
    let end_ps = settings.end_ps.min(horizon_ps(fabric));
    let records = &outcome.flows;
    if records.iter().all(|record| record.fct_ps != u64::MAX) || end_ps < needed_ps(resolved, flows) {
        return Ok(());
    }
    let last = Final::of(fabric, settings);
    let framing = settings.framing;
    let frame_bytes = u32::from(framing.frame_bytes(framing.payload_bytes_max));
    let tiny = fabric.ports().iter().any(|port| port.buffer.bytes < frame_bytes);
    // Where a port holds one frame, the same neighbour may take its place at each attempt: another sender's handshake or
    // timeout in step, unless jitter breaks the step; or the probes that a packet after a pause sets off itself, which
    // jitter does not move against its acknowledgement.
    // RED's ramp drops behind one frame what cannot be marked.
    let narrow = fabric.ports().iter().any(|port| {
        let ramp_bytes = match port.marking {
            Marking::Ramp { high_bytes, .. } => high_bytes,
            _ => u32::MAX,
        };
        let bytes = u64::from(port.buffer.bytes.min(ramp_bytes));
        port.buffer.packets < 2 || bytes < 2 * u64::from(frame_bytes)
    });
    let probes = outcome.counts.iter().any(|&(what, count)| what == "probes sent" && count > 0);
    let locked = narrow && (probes || !settings.nic.jitter);
    let weightless = matches!(&resolved.scenario().routing.weights, Weights::Given(given) if given.iter().any(|row| row.1 == 0));
    let wait_ps = wait_ps(fabric, settings, flows);
    let hasty = streams(settings).any(|tcp| u128::from(tcp.rto_max_ps) < 2 * wait_ps);
    // Paths of a table may all be dead where others live, and nothing else routes.
    let follows = settings.balancing.scheme.get().is_some_and(LoadBalancer::follows_paths);
    let has_fixed_paths = follows && !settings.changes.is_empty();
    // What RDMA sends again, and how often, is bounded by nothing that is known here.
    let rdma = settings
        .transports
        .iter()
        .any(|transport| matches!(transport, Transport::Roce(_) | Transport::Uec(_)));
    if last.blackhole
        || rdma
        || last.loss.iter().any(|&loss| loss > LOSS_MAX)
        || tiny
        || locked
        || weightless
        || hasty
        || has_fixed_paths
    {
        return Ok(());
    }
    let hops = NextHops::shortest(fabric, &last.state);
    let joined = |src: u32, dst: u32| {
        let host_up = |host: u32| last.state.link_up(fabric, fabric.ports_of(host)[0]);
        let destination = hops.leaves.binary_search(&fabric.leaf_of(dst)).ok();
        let reached = fabric.leaf_of(src) == fabric.leaf_of(dst)
            || destination.is_some_and(|leaf| hops.ports(fabric.leaf_of(src), leaf as u32).next().is_some());
        host_up(src) && host_up(dst) && reached
    };
    for (index, (flow, record)) in flows.iter().zip(records).enumerate() {
        let stream = settings.transports[usize::from(flow.transport)].tcp().is_some();
        let unfinished = record.start_ps != u64::MAX && record.fct_ps == u64::MAX;
        // Two whose timeouts have grown to the limit send in step from one host, in the same order each time: jitter moves
        // no frame past another, and the first may be for a host that never answers.
        let open = flows
            .iter()
            .zip(records)
            .filter(|(other, record)| other.src == flow.src && record.fct_ps == u64::MAX);
        let blocked = narrow && open.count() > 1;
        if stream && unfinished && !blocked && joined(flow.src, flow.dst) && joined(flow.dst, flow.src) {
            return Err(Broken::new(
                "every stream arrives",
                format!("flow {index}, {flow:?}, did not, in {} ps: {record:?}", settings.end_ps),
            ));
        }
    }
    Ok(())
}
