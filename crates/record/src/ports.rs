//! Tables of ports, queues and windows.

use crate::column::{Column, Values, column, ns};
use anabranch_fabric::Fabric;
use anabranch_sim::{PortRecord, QueueSample, WindowSample};

/// One row per port and interval.
#[must_use]
pub fn port_columns(fabric: &Fabric, records: &[PortRecord]) -> Vec<Column> {
    let count = |value: fn(&PortRecord) -> u64| Values::U64(records.iter().map(value).collect());
    let node = |value: fn(&anabranch_fabric::Port) -> u32| {
        Values::Node(records.iter().map(|record| value(&fabric.ports()[record.port as usize])).collect())
    };
    let end = |value: fn(&anabranch_fabric::Port) -> u32| {
        Values::U64(
            records.iter().map(|record| value(&fabric.ports()[record.port as usize]).into()).collect(),
        )
    };
    let mean = |record: &PortRecord| record.backlog_byte_ps as f64 / record.length_ps.max(1) as f64;
    let utilization = |record: &PortRecord| record.busy_ps as f64 / record.length_ps.max(1) as f64;
    vec![
        column("port", "The sending end of one direction of a link.", count(|record| record.port.into())),
        column("from", "Node that sends.", end(|port| port.from)),
        column("to", "Node that receives.", end(|port| port.to)),
        column("from_name", "Name of the node that sends.", node(|port| port.from)),
        column("to_name", "Name of the node that receives.", node(|port| port.to)),
        column(
            "start_ns",
            "Start of the interval.",
            Values::F64(records.iter().map(|r| ns(r.start_ps)).collect()),
        ),
        column(
            "length_ns",
            "Length of the interval.",
            Values::F64(records.iter().map(|r| ns(r.length_ps)).collect()),
        ),
        column(
            "sent_bytes",
            "Frames whose transmission began in it, without preamble and gap.",
            count(|r| r.sent_bytes),
        ),
        column("sent_packets", "Frames whose transmission began in it.", count(|record| record.sent_packets)),
        column(
            "dropped_packets",
            "Frames refused for want of room or by RED.",
            count(|record| record.dropped_packets),
        ),
        column(
            "lost_packets",
            "Frames lost to a dead port or a lossy link.",
            count(|record| record.lost_packets),
        ),
        column("marked_packets", "Congestion marks set.", count(|record| record.marked_packets)),
        column(
            "trimmed_packets",
            "Frames cut to a header for want of room.",
            count(|record| record.trimmed_packets),
        ),
        column(
            "pauses_sent",
            "Pause frames sent to the other end of the link, repetitions included (PFC).",
            count(|record| record.pauses_sent),
        ),
        column(
            "paused_ns",
            "Time in which the other end had paused the port (PFC); each class is counted by itself.",
            Values::F64(records.iter().map(|r| ns(r.paused_ps)).collect()),
        ),
        column(
            "backlog_mean_bytes",
            "Mean over time of the bytes waiting, the frame in service and, at a host, its network card included.",
            Values::F64(records.iter().map(mean).collect()),
        ),
        column("backlog_max_bytes", "Most bytes waiting.", count(|record| record.backlog_max_bytes)),
        column(
            "utilization",
            "Fraction of the interval in which the port was sending, preamble and gap included, at the rate it had then.",
            Values::F64(records.iter().map(utilization).collect()),
        ),
    ]
}

/// One row per sampled port and time.
#[must_use]
pub fn queue_columns(fabric: &Fabric, samples: &[QueueSample]) -> Vec<Column> {
    let node = |value: fn(&anabranch_fabric::Port) -> u32| {
        Values::Node(samples.iter().map(|sample| value(&fabric.ports()[sample.port as usize])).collect())
    };
    vec![
        column("port", "The port.", Values::U64(samples.iter().map(|s| s.port.into()).collect())),
        column("from_name", "Name of the node that sends.", node(|port| port.from)),
        column("to_name", "Name of the node that receives.", node(|port| port.to)),
        column("time_ns", "When.", Values::F64(samples.iter().map(|s| ns(s.time_ps)).collect())),
        column(
            "backlog_bytes",
            "Bytes waiting, the frame in service and, at a host, its network card included.",
            Values::U64(samples.iter().map(|s| s.backlog_bytes).collect()),
        ),
    ]
}

/// One row per change of what congestion control lets a watched flow send.
#[must_use]
pub fn window_columns(samples: &[WindowSample]) -> Vec<Column> {
    vec![
        column("flow", "The flow.", Values::U64(samples.iter().map(|s| s.flow.into()).collect())),
        column("time_ns", "From when on.", Values::F64(samples.iter().map(|s| ns(s.time_ps)).collect())),
        column(
            "window_bytes",
            "Congestion window. Where the control has a rate only (DCQCN, TIMELY, none): what that sends in the longest \
             round trip of the empty fabric; nothing for UDP.",
            Values::OptionalU64(samples.iter().map(|s| s.window_bytes).collect()),
        ),
        column(
            "rate_bps",
            "Rate at which the control lets the flow send, at most its link's. Where the control has a window only: the \
             window in each round trip, which is TCP's smoothed one (nothing before the first), otherwise the one \
             measured last.",
            Values::OptionalU64(samples.iter().map(|s| s.rate_bps).collect()),
        ),
    ]
}
