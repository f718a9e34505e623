//! What a trace yields.

use anabranch_split::FiveTuple;

/// One packet as the split sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Time of capture, in nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// Bytes on the wire: the original length, whatever the capture kept of it.
    pub bytes: u64,
    /// The connection it belongs to, in its own direction.
    pub tuple: FiveTuple,
}
