//! Settings of a simulation, besides its fabric and its flows.

use crate::transport::Transport;
use crate::{Framing, Nic, Replay, SwitchHash};
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
    /// Hash of each switch's configuration, by switch, and nothing for those that hash ideally. Empty: all do.
    pub switch_hashes: Vec<Option<SwitchHash>>,
    /// End of the simulation, in picoseconds, if flows have not ended it before.
    pub end_ps: u64,
    /// When messages of graphs are replayed; none is if this is `None`.
    pub replay: Option<Replay>,
    /// Records to write during the run.
    pub observe: Observe,
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
