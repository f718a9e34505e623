//! All tables of a run, and its totals.

use crate::column::{Column, ns};
use crate::events::event_columns;
use crate::flows::flow_columns;
use crate::ports::{port_columns, queue_columns, window_columns};
use crate::requests::request_columns;
use crate::steps::{critical_columns, jobs, step_columns};
use anabranch_fabric::Fabric;
use anabranch_sim::{Outcome, Settings, Totals};
use anabranch_traffic::{Flow, FlowSource};

/// Tables of a run by name, in the order in which they are written.
#[must_use]
pub fn tables<B>(
    fabric: &Fabric,
    settings: &Settings<B>,
    flows: &[Flow],
    outcome: &Outcome,
) -> [(&'static str, Vec<Column>); 8] {
    let (framing, measure) = (settings.framing, settings.observe.measure);
    let of_flows = flow_columns(fabric, framing, &settings.transports, flows, &outcome.flows, measure);
    let [ports, queues, windows, events, steps, critical, requests] =
        tables_beside_flows(fabric, settings, &flows, outcome);
    [("flows", of_flows), ports, queues, windows, events, steps, critical, requests]
}

/// Tables of a run by name, without that of its flows.
#[must_use]
pub fn tables_beside_flows<B>(
    fabric: &Fabric,
    settings: &Settings<B>,
    flows: &dyn FlowSource,
    outcome: &Outcome,
) -> [(&'static str, Vec<Column>); 7] {
    let jobs = jobs(fabric, settings, flows, outcome);
    [
        ("ports", port_columns(fabric, &outcome.ports)),
        ("queues", queue_columns(fabric, &outcome.queues)),
        ("windows", window_columns(&outcome.windows)),
        ("events", event_columns(&outcome.events)),
        ("steps", step_columns(&jobs)),
        ("critical", critical_columns(&jobs)),
        ("requests", request_columns(&jobs)),
    ]
}

/// Totals of a run: its end in nanoseconds, and counts by name.
#[must_use]
pub fn totals(totals: &Totals) -> (f64, [(&'static str, u64); 9]) {
    let counts = [
        ("packet_hops", totals.packet_hops),
        ("events", totals.events),
        ("flows_finished", totals.flows_finished),
        ("dropped_packets", totals.dropped_packets),
        ("lost_packets", totals.lost_packets),
        ("marked_packets", totals.marked_packets),
        ("packets_peak", totals.packets_peak),
        ("packets_left", totals.packets_left),
        ("connections_peak", totals.connections_peak),
    ];
    (ns(totals.end_ps), counts)
}
