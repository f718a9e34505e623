//! Ports that receivers wait at.

/// Port that connections of TCP and UDP are opened to.
pub const SERVER_PORT: u16 = 5001;
/// UDP port of RoCE v2 (InfiniBand specification, annex A17).
pub const ROCE_PORT: u16 = 4791;
/// UDP port of Ultra Ethernet.
pub const UEC_PORT: u16 = 4793;
