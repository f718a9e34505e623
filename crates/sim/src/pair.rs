//! Pairs of hosts as connections and queue pairs know them.

/// What messages have alike that one connection can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) transport: u8,
    pub(crate) stream: Stream,
}

/// Which messages of two hosts follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stream {
    /// Those of no graph, and of graphs whose messages do not.
    Any,
    /// Those of a graph, by its number.
    Work(u32),
    /// The small ones of a graph by which sender and receiver meet: NCCL writes them over the receiver's own queue pair.
    Words(u32),
}

impl Stream {
    /// Number of its own, for hashes.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Any => 0,
            Self::Work(work) => 1 + 2 * work,
            Self::Words(work) => 2 + 2 * work,
        }
    }
}
