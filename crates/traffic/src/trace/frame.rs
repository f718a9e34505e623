//! Packet of a capture, before its headers are read.

use crate::header::LinkType;

/// Packet as the container gives it.
pub(super) struct Frame<'w> {
    pub(super) time_ns: u64,
    pub(super) original_bytes: u64,
    pub(super) link_type: LinkType,
    /// Captured bytes of the packet.
    pub(super) bytes: &'w [u8],
}
