//! Nodes of a graph.

/// Identity of a node: its index in [`crate::Graph::nodes`], rank by rank.
pub type NodeId = u32;

/// Action of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sends a message. It has ended when its last byte is delivered.
    Send {
        /// Rank that receives.
        to: u32,
        /// Size, at least one byte.
        bytes: u64,
        /// Tag by which the receiver knows it.
        tag: u32,
    },
    /// Waits for a message.
    Recv {
        /// Rank that sends; any if `None`.
        from: Option<u32>,
        /// Size that is expected. Messages are matched by source and tag alone, as in MPI.
        bytes: u64,
        /// Tag of the message; any if `None`.
        tag: Option<u32>,
    },
    /// Computes: occupies a processor of its rank.
    Calc {
        /// Duration in picoseconds.
        ps: u64,
    },
    /// Lets time pass without a processor.
    Wait {
        /// Duration in picoseconds.
        ps: u64,
    },
}

/// One node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Action.
    pub act: Act,
    /// Processor of its rank that computes, and that sends under LogGOPS.
    pub cpu: u8,
    /// Network card of its rank, under LogGOPS.
    pub nic: u8,
    /// Part of the work to which it belongs, an index into [`crate::Graph::parts`].
    pub part: u32,
    /// Line of the file, or number in it, where it stands; 0 if there is none.
    pub line: u32,
}
