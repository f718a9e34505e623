//! Records that a trace yields.

use anabranch_split::FiveTuple;

/// Packet with the fields that a split needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Time of capture, in nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// Bytes on the wire: the original length, even if the capture kept less.
    pub bytes: u64,
    /// Connection it belongs to, in the packet's own direction.
    pub tuple: FiveTuple,
}
