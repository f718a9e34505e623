//! `[record]`: what is written down on the way.

use anabranch_form::Form;
use anabranch_form::unit::{Count, Name, Named, OneOrMore, Time, Whole};

const PS_PER_MS: u64 = 1_000_000_000;

/// Records to write during the run, with ports still by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Length of the intervals of port records, in picoseconds.
    pub interval_ps: u64,
    /// Time from which payload counts as received, in picoseconds; the start where it is not said.
    pub omit_ps: Option<u64>,
    /// Ports whose backlog is sampled.
    pub queues: Vec<Named>,
    /// Time between two samples, in picoseconds.
    pub queue_interval_ps: u64,
    /// Flows whose congestion window is written down.
    pub windows: Vec<u32>,
    /// Ports whose packets are captured.
    pub captures: Vec<Named>,
    /// Most packets captured at one port.
    pub capture_packets: u64,
    /// Most events of packets written down, of each kind; none are where it is not said.
    pub events: Option<u64>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            interval_ps: PS_PER_MS,
            omit_ps: None,
            queues: Vec::new(),
            queue_interval_ps: PS_PER_MS / 100,
            windows: Vec::new(),
            captures: Vec::new(),
            capture_packets: 100_000,
            events: None,
        }
    }
}

const PORTS: Name = Name { wants: "a port such as \"leaf0>spine1\", or a node for all of its ports" };

/// The keys.
pub(crate) fn visit(form: &mut impl Form, record: &mut Record) {
    form.key(
        "interval",
        Time,
        &mut record.interval_ps,
        "Length of the intervals of `ports.parquet`; \"0 s\" makes one of the whole run.",
    );
    form.optional(
        "omit",
        Time,
        &mut record.omit_ps,
        "Time from which `received_bytes` of `flows.parquet` counts, as with iPerf3's `-O`. Default: from the start.",
    );
    form.key(
        "queues",
        OneOrMore(PORTS),
        &mut record.queues,
        "Ports whose backlog is sampled: `leaf0>spine1`, or a node for all of its ports.",
    );
    form.key(
        "queue_interval",
        Time,
        &mut record.queue_interval_ps,
        "Time between two samples of those ports.",
    );
    if record.queue_interval_ps == 0 {
        form.refuse(
            "queue_interval",
            "`0 s` would sample without end".to_owned(),
            "give a time such as \"10 us\"".to_owned(),
        );
    }
    form.key(
        "windows",
        OneOrMore(Count { least: 0, most: u32::MAX }),
        &mut record.windows,
        "Flows, by number, whose congestion window and rate are written down at each change, under every control.",
    );
    form.key(
        "captures",
        OneOrMore(PORTS),
        &mut record.captures,
        "Ports whose packets are written as pcapng as they leave.",
    );
    form.key(
        "capture_packets",
        Whole { least: 1, most: 1 << 32 },
        &mut record.capture_packets,
        "Most packets captured at one port.",
    );
    form.optional(
        "events",
        Whole { least: 1, most: 1 << 28 },
        &mut record.events,
        "Most events of single packets written to `events.parquet`, of each kind: drops, losses, marks, changes of path; \
         some 200 bytes of memory each.",
    );
}
