//! Settings of a simulation, besides its fabric and its flows.

use crate::Nic;
use crate::transport::Transport;
use anabranch_fabric::Change;
use anabranch_traffic::PlacedWork;

/// All settings. `B` chooses the load balancer; the engine passes it on and reads nothing of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings<B> {
    /// Fixes every random number.
    pub seed: u64,
    /// The load balancer, as the crates above name it.
    pub balancing: B,
    /// Transports that flows name by index.
    pub transports: Vec<Transport>,
    /// Workload graphs whose messages are among the flows, in the order by which flows name them.
    pub works: Vec<PlacedWork>,
    /// Network cards of hosts.
    pub nic: Nic,
    /// Bytes around a payload.
    pub framing: Framing,
    /// Changes while it runs, by ascending time.
    pub changes: Vec<Change>,
    /// Time from a change to the other switches' knowing of it, in picoseconds. The switch at the port knows at once.
    pub routing_delay_ps: u64,
    /// End of the simulation, in picoseconds, if flows have not ended it before.
    pub end_ps: u64,
    /// Records to write during the run.
    pub observe: Observe,
}

/// Bytes around a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Largest payload of a segment: the MSS after options, 1448 on Ethernet with timestamps.
    pub payload_bytes_max: u16,
    /// Headers and checksum around a payload: 70 on Ethernet (18 + 20 + 20 + 12 of timestamps).
    pub header_bytes: u16,
    /// Shortest frame: 64 on Ethernet.
    pub frame_bytes_min: u16,
    /// Preamble and gap that occupy the link beside each frame: 20 on Ethernet. They wait in no queue.
    pub gap_bytes: u16,
    /// Whether a frame takes whole nanoseconds on a link, rounded down, as in ns-3.
    pub whole_ns: bool,
}

impl Framing {
    /// Ethernet, IPv4, TCP with timestamps: 1448 bytes of payload in 1518 on 1538.
    pub const ETHERNET: Self = Self {
        payload_bytes_max: 1448,
        header_bytes: 70,
        frame_bytes_min: 64,
        gap_bytes: 20,
        whole_ns: false,
    };

    /// The frame around `payload` bytes.
    #[inline(always)]
    #[must_use]
    pub fn frame_bytes(self, payload: u16) -> u16 {
        (payload + self.header_bytes).max(self.frame_bytes_min)
    }
}

/// Records to write during the run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Observe {
    /// Length of the intervals of port records, in picoseconds; one interval for the whole run if zero.
    pub interval_ps: u64,
    /// Time from which [`crate::FlowRecord::received_bytes`] counts, in picoseconds.
    pub omit_ps: u64,
    /// Ports whose backlog is written down at each sample.
    pub queue_ports: Vec<u32>,
    /// Time between two samples of those ports, in picoseconds.
    pub queue_sample_ps: u64,
    /// Flows whose congestion window is written down at each change.
    pub window_flows: Vec<u32>,
    /// Ports whose packets are captured as they leave.
    pub capture_ports: Vec<u32>,
    /// Most packets captured at one port.
    pub capture_packets_max: u64,
    /// Most events of packets written down, of each [`crate::EventKind`]; none if zero.
    pub events_max: u64,
    /// Window of measurement; intervals of port records end at its ends.
    pub measure: Window,
}

/// Window of measurement: flows that begin in it are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start, in picoseconds.
    pub from_ps: u64,
    /// End, in picoseconds, itself outside; `u64::MAX` if there is none.
    pub to_ps: u64,
}

impl Window {
    /// Window without an end on either side.
    pub const ALL: Self = Self { from_ps: 0, to_ps: u64::MAX };

    /// Whether a flow counts that begins at a time; `u64::MAX` if it never did.
    #[must_use]
    pub fn holds(self, start_ps: u64) -> bool {
        self.from_ps <= start_ps && (start_ps < self.to_ps || self.to_ps == u64::MAX)
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::ALL
    }
}
