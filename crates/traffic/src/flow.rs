//! Flow: the unit that a simulation carries from one host to another.

use std::num::NonZeroU16;

/// Start of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Starts at a time, in picoseconds since the start of the simulation.
    At(u64),
    /// Starts when another flow has been received whole and a delay has passed.
    After {
        /// Flow that is waited for, an index into the same list; smaller than the waiting flow's own.
        flow: u32,
        /// Time from its last byte's arrival to this flow's start, in picoseconds.
        delay_ps: u64,
    },
    /// Starts when every flow of a job has been received whole and a delay has passed: a barrier.
    AfterJob {
        /// Job that is waited for; all its flows precede the waiting one.
        job: u32,
        /// Time from the last byte's arrival to this flow's start, in picoseconds.
        delay_ps: u64,
    },
    /// Starts when a node of a workload graph does: it is that node's message.
    Ready {
        /// Workload graph, an index into the simulation's list of them.
        work: u32,
        /// Node that sends it.
        node: u32,
    },
}

/// Ports of a flow's first connection. Those that are not given its hosts choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Source port; further connections of the flow have those after it.
    pub source: Option<NonZeroU16>,
    /// Destination port.
    pub destination: Option<NonZeroU16>,
}

impl Ports {
    /// None is given.
    pub const CHOSEN: Self = Self { source: None, destination: None };
}

/// One flow. Its identity is its index in the list that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Host that sends, by its number in the fabric, from zero.
    pub src: u32,
    /// Host that receives; another one than `src`.
    pub dst: u32,
    /// Payload in bytes, at least one.
    pub size_bytes: u64,
    /// Start of the flow.
    pub start: Start,
    /// Number of the path, among those from `src` to `dst`, to which all its packets are pinned, whatever the load
    /// balancer picks. ACKs take the path of the same number backwards.
    pub path: Option<u32>,
    /// Job it belongs to (an incast, an all-reduce): a job ends with its last flow.
    pub job: Option<u32>,
    /// Index into the simulation's list of transports.
    pub transport: u8,
    /// Ports, which count where switches are configured to hash header fields.
    pub ports: Ports,
}
