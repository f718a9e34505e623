//! Table of events of single packets.

use crate::column::{Column, Values, column, ns};
use anabranch_sim::{EventKind, PacketEvent};

/// One row per event, by time.
#[must_use]
pub fn event_columns(events: &[PacketEvent]) -> Vec<Column> {
    let of_path = |event: &PacketEvent| (event.what == EventKind::OtherPath).then_some(event.path.into());
    vec![
        column("time_ns", "When.", Values::F64(events.iter().map(|event| ns(event.time_ps)).collect())),
        column(
            "event",
            "`drop`: refused for want of room, by RED or by a meter. `loss`: a dead port, a lossy link, a blackhole, no \
             path. `mark`: a congestion mark set. `trim`: payload cut off for want of room. `path`: a segment arrived by \
             another path than the one before it on its connection, or was the first of its flow there. `discard`: a \
             segment arrived and its receiver discarded it, behind a gap under go-back-N or without a posted receive.",
            Values::Word(events.iter().map(|event| word(event.what)).collect()),
        ),
        column(
            "port",
            "The port at which it happened; null if at none: meters, blackholes, no path, arrivals.",
            Values::OptionalU64(events.iter().map(|event| event.port.map(u64::from)).collect()),
        ),
        column(
            "flow",
            "Flow of the packet; null if it is of none.",
            Values::OptionalU64(events.iter().map(|event| event.flow.map(u64::from)).collect()),
        ),
        column(
            "packet",
            "Kind of the packet: `data` (a segment with payload), `ack`, `syn`, `syn-ack`, `datagram`, `probe` (a load \
             balancer's message) or `pause` (PFC).",
            Values::Word(events.iter().map(|event| event.kind.name()).collect()),
        ),
        column(
            "path",
            "Number of the path by which a segment arrived: at each switch with n choices, n times the number before plus \
             the choice, modulo 65,536; null for other events.",
            Values::OptionalU64(events.iter().map(of_path).collect()),
        ),
    ]
}

fn word(what: EventKind) -> &'static str {
    match what {
        EventKind::Dropped => "drop",
        EventKind::Lost => "loss",
        EventKind::Marked => "mark",
        EventKind::Trimmed => "trim",
        EventKind::OtherPath => "path",
        EventKind::Discarded => "discard",
    }
}
