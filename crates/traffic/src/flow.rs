//! What a simulation is asked to carry: one flow from one host to another.

/// When a flow begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a time, in picoseconds since the start of the simulation.
    At(u64),
    /// When another flow (an index into the same list) has been received whole, and a delay has passed.
    After {
        /// Index of the flow that is waited for; smaller than the waiting flow's own.
        flow: u32,
        /// Time from its last byte's arrival to this flow's start, in picoseconds.
        delay_ps: u64,
    },
    /// When every flow of a job has been received whole, and a delay has passed: a barrier.
    AfterJob {
        /// The job that is waited for; all its flows stand before the waiting one.
        job: u32,
        /// Time from the last byte's arrival to this flow's start, in picoseconds.
        delay_ps: u64,
    },
}

/// One flow. Its identity is its index in the list it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Host that sends, numbered leaf by leaf from zero.
    pub src: u32,
    /// Host that receives; another one than `src`.
    pub dst: u32,
    /// Payload in bytes, at least one.
    pub size_bytes: u64,
    /// When it begins.
    pub start: Start,
    /// A path of the list from `src` to `dst` to which all its packets are pinned, whatever the load balancer says.
    /// ACKs take the path of the same number backwards.
    pub path: Option<u32>,
    /// The job it belongs to (an incast, an all-reduce): a job ends with its last flow.
    pub job: Option<u32>,
    /// Index into the simulation's list of transports.
    pub transport: u8,
}
