//! Table of flows: one row each, in the order of the flow list.

use crate::column::{Column, Values, column, ns};
use crate::ideals::Ideals;
use anabranch_fabric::Fabric;
use anabranch_sim::transport::Transport;
use anabranch_sim::{FlowRecord, Framing, Settings, Window};
use anabranch_traffic::Flow;

/// Time of an event that did not happen.
const NONE: u64 = u64::MAX;

/// Columns of all flows. A flow that did not begin has neither start nor FCT; one that did not end has no FCT.
#[must_use]
pub fn flow_columns(
    fabric: &Fabric,
    framing: Framing,
    transports: &[Transport],
    flows: &[Flow],
    records: &[FlowRecord],
    measure: Window,
) -> Vec<Column> {
    let mut ideals = Ideals::new(fabric);
    let ideal = flows.iter().map(|flow| ideals.fct_ps(fabric, framing, transports, flow));
    columns(0, flows, records, &ideal.collect::<Vec<_>>(), transports, measure)
}

/// The same columns for one part of the flows after the other.
pub struct FlowPieces {
    ideals: Ideals,
    /// Number of the first flow of the next piece.
    next: u64,
}

impl FlowPieces {
    /// Before the first flow.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Self {
        Self { ideals: Ideals::new(fabric), next: 0 }
    }

    /// Number of the flow with which the next piece begins.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.next
    }

    /// Columns of the next flows, on the same fabric.
    pub fn next<B>(
        &mut self,
        fabric: &Fabric,
        settings: &Settings<B>,
        flows: &[Flow],
        records: &[FlowRecord],
    ) -> Vec<Column> {
        let Settings { framing, transports, observe, .. } = settings;
        let first = self.next;
        self.next += flows.len() as u64;
        let ideal = flows.iter().map(|flow| self.ideals.fct_ps(fabric, *framing, transports, flow));
        columns(first, flows, records, &ideal.collect::<Vec<_>>(), transports, observe.measure)
    }
}

fn columns(
    first: u64,
    flows: &[Flow],
    records: &[FlowRecord],
    ideal: &[u64],
    transports: &[Transport],
    measure: Window,
) -> Vec<Column> {
    let time = |ps: u64| (ps != NONE).then(|| ns(ps));
    let slowdown = |(record, &ideal): (&FlowRecord, &u64)| time(record.fct_ps).map(|fct| fct / ns(ideal));
    let of_flow = |value: fn(&Flow) -> u64| Values::U64(flows.iter().map(value).collect());
    let node = |value: fn(&Flow) -> u32| Values::Node(flows.iter().map(value).collect());
    let protocol =
        |flow: &Flow| transports.get(usize::from(flow.transport)).is_some_and(Transport::is_reliable);
    let mut columns = vec![
        column(
            "flow",
            "Number of the flow, in the order of the list.",
            Values::U64((first..first + flows.len() as u64).collect()),
        ),
        column("src", "Host that sends, by its number in the fabric.", of_flow(|flow| flow.src.into())),
        column("dst", "Host that receives.", of_flow(|flow| flow.dst.into())),
        column("src_name", "Name of the host that sends.", node(|flow| flow.src)),
        column("dst_name", "Name of the host that receives.", node(|flow| flow.dst)),
        column("size_bytes", "Payload.", of_flow(|flow| flow.size_bytes)),
        column(
            "start_ns",
            "When the sender was told to send; null if it never was.",
            Values::OptionalF64(records.iter().map(|record| time(record.start_ps)).collect()),
        ),
        column(
            "fct_ns",
            "From the start to the arrival of the last byte, in order, at the receiver; null if unfinished.",
            Values::OptionalF64(records.iter().map(|record| time(record.fct_ps)).collect()),
        ),
        column(
            "ideal_fct_ns",
            "The same flow alone on the fabric as built: all frames sent at once, over all shortest paths together. No load \
             balancer can be faster, unless a link becomes faster than built or a failure opens, or the balancer takes, longer paths of faster \
             links.",
            Values::F64(ideal.iter().map(|&ps| ns(ps)).collect()),
        ),
        column(
            "slowdown",
            "fct_ns / ideal_fct_ns; null if unfinished.",
            Values::OptionalF64(records.iter().zip(ideal).map(slowdown).collect()),
        ),
    ];
    columns.extend(
        FlowRecord::COUNTS.iter().map(|count| {
            column(count.name, count.meaning, Values::U64(records.iter().map(count.of).collect()))
        }),
    );
    columns.extend([
        column(
            "job",
            "The incast or collective it belongs to; null if none.",
            Values::OptionalU64(flows.iter().map(|flow| flow.job.map(u64::from)).collect()),
        ),
        column(
            "stream",
            "Whether it is acknowledged: a TCP stream or a message of RDMA; datagrams otherwise.",
            Values::Bool(flows.iter().map(protocol).collect()),
        ),
        column(
            "finished",
            "Whether its last byte arrived before the simulation ended.",
            Values::Bool(records.iter().map(|record| record.fct_ps != NONE).collect()),
        ),
        column(
            "measured",
            "Whether it began in the window of `measure`: statistics are of these flows alone.",
            Values::Bool(records.iter().map(|record| measure.holds(record.start_ps)).collect()),
        ),
    ]);
    columns
}
