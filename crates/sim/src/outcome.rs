//! Results of a simulation.

use crate::transport::Carrier;
use crate::{FlowRecord, Header, Kind, Packet};

/// Nodes of a workload graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkRecord {
    /// Start and end of each node, in picoseconds; `u64::MAX` of what has not happened.
    pub times: Vec<anabranch_work::NodeTimes>,
    /// Last node that each node waited for before it ended; itself if there was none.
    pub causes: Vec<u32>,
    /// Last node that each node waited for before it started; itself if there was none. It differs for receives alone.
    pub start_causes: Vec<u32>,
}

/// Taker of the records of flows as they end, so that memory need not hold them all.
pub trait FlowSink: std::fmt::Debug + Send + Sync {
    /// Takes the records of the flows from number `first` on. By the end of a run, the record of every flow has been
    /// written; of those that are written several times, the last one counts.
    ///
    /// # Errors
    /// Records that cannot be kept; they end the run.
    fn write(&self, first: u32, records: &[FlowRecord]) -> std::io::Result<()>;
}

/// One port in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PortRecord {
    /// The port.
    pub port: u32,
    /// Start of the interval, in picoseconds.
    pub start_ps: u64,
    /// Length of the interval, in picoseconds.
    pub length_ps: u64,
    /// Frame bytes whose transmission began in it.
    pub sent_bytes: u64,
    /// Frames whose transmission began in it.
    pub sent_packets: u64,
    /// Frames refused for want of room or by RED.
    pub dropped_packets: u64,
    /// Frames lost to a dead port or a lossy link.
    pub lost_packets: u64,
    /// Frames marked.
    pub marked_packets: u64,
    /// Frames cut to a header for want of room.
    pub trimmed_packets: u64,
    /// Pause frames that it sent, repetitions included (PFC).
    pub pauses_sent: u64,
    /// Time in which it was paused, in picoseconds; each class is counted by itself.
    pub paused_ps: u64,
    /// Largest backlog, in bytes, the frame in service included.
    pub backlog_max_bytes: u64,
    /// Integral of the backlog over the interval, in byte-picoseconds; divided by the length it is the mean.
    pub backlog_byte_ps: u128,
    /// Time in which it was sending, preambles and gaps included, in picoseconds.
    pub busy_ps: u64,
}

/// Sums over a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Totals {
    /// Frames that began transmission on a port, data and acknowledgements alike.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Simulated time at the end, in picoseconds.
    pub end_ps: u64,
    /// Flows finished.
    pub flows_finished: u64,
    /// Packets that hosts sent: each was delivered, dropped or lost, or is left.
    pub sent_packets: u64,
    /// Packets that reached their host.
    pub delivered_packets: u64,
    /// Frames refused for want of room, by RED or by meters.
    pub dropped_packets: u64,
    /// Frames lost to failures: a dead port, a lossy link, a blackhole, no path.
    pub lost_packets: u64,
    /// Frames marked.
    pub marked_packets: u64,
    /// Most packets in the fabric at once.
    pub packets_peak: u64,
    /// Packets in the fabric at the end.
    pub packets_left: u64,
    /// Most open connections at once.
    pub connections_peak: u64,
}

/// The backlog of a port at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// The port.
    pub port: u32,
    /// When, in picoseconds.
    pub time_ps: u64,
    /// Bytes waiting, the frame in service included.
    pub backlog_bytes: u64,
}

/// Window and rate that congestion control gives a flow from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSample {
    /// The flow.
    pub flow: u32,
    /// When it became so, in picoseconds.
    pub time_ps: u64,
    /// Window in bytes; of a control that has a rate only, what that sends in a round trip of the empty fabric. `None`
    /// where no round trip is known.
    pub window_bytes: Option<u64>,
    /// Rate in bits per second, at most the link's; of a control that has a window only, the window in each round trip:
    /// TCP's smoothed one, otherwise the one measured last. `None` before TCP has measured one.
    pub rate_bps: Option<u64>,
}

impl WindowSample {
    /// Place among others: by time, then flow. Of one flow and time the earlier comes first.
    pub(crate) fn rank(&self) -> (u64, u32) {
        (self.time_ps, self.flow)
    }
}

/// A packet as it left a port that is captured.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket {
    /// The port.
    pub port: u32,
    /// When its first bit left, in picoseconds.
    pub time_ps: u64,
    /// The packet.
    pub packet: Packet,
    /// The host it came from.
    pub src: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// What its headers are made of besides.
    pub carrier: Carrier,
    /// Header fields that it was hashed by, where switches are configured to hash them.
    pub header: Option<Header>,
}

/// What an event did to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// It was refused for want of room, by RED or by a meter.
    Dropped,
    /// A failure took it: a dead port, a lossy link, a blackhole, no path.
    Lost,
    /// A port marked it.
    Marked,
    /// A port cut its payload off.
    Trimmed,
    /// It arrived by another path than the segment before it on its connection, or was the first of its flow there.
    OtherPath,
    /// It arrived and its receiver discarded it: behind a gap under go-back-N, or without a posted receive.
    Discarded,
}

impl EventKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Dropped, Self::Lost, Self::Marked, Self::Trimmed, Self::OtherPath, Self::Discarded];
}

/// An event of a single packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketEvent {
    /// When, in picoseconds.
    pub time_ps: u64,
    /// What happened.
    pub what: EventKind,
    /// The port at which it happened, if it was at one.
    pub port: Option<u32>,
    /// The flow, if the packet is of one.
    pub flow: Option<u32>,
    /// Kind of the packet.
    pub kind: Kind,
    /// Number of the path that it took so far, as in [`Packet::path`].
    pub path: u16,
}

impl PacketEvent {
    /// Place among others: by time, at ports before others, and then by what tells them apart.
    pub(crate) fn rank(&self) -> (u64, u32, u8, Option<u32>, u8, u16) {
        let Self { time_ps, what, port, flow, kind, path } = *self;
        (time_ps, port.unwrap_or(u32::MAX), what as u8, flow, kind as u8, path)
    }
}

/// Everything a simulation yields.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// One per flow; none if [`crate::Progress::send_flows_to`] sent them elsewhere.
    pub flows: Vec<FlowRecord>,
    /// One per port and interval, by interval, then port.
    pub ports: Vec<PortRecord>,
    /// Backlogs, by time, then port.
    pub queues: Vec<QueueSample>,
    /// Congestion windows, by time, then flow.
    pub windows: Vec<WindowSample>,
    /// One per workload graph.
    pub works: Vec<WorkRecord>,
    /// Captured packets, by time, then port.
    pub captures: Vec<CapturedPacket>,
    /// Events of packets, by time; of one time, those at ports first, by port.
    pub events: Vec<PacketEvent>,
    /// Counters of the load balancer, each with its meaning.
    pub counts: Vec<(&'static str, u64)>,
    /// Messages that were replayed, if the settings have replay.
    pub replay: Option<crate::ReplayRecord>,
    /// Sums.
    pub totals: Totals,
}
