//! Transports of captured packets, for the headers that they have outside the simulator.

use super::semantics::Semantics;

/// Transport of a captured packet, with what its headers say and [`crate::Packet`] does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Carrier {
    /// TCP or UDP, or none: load balancers' messages and pauses.
    #[default]
    Stream,
    /// RoCE, for a message with these semantics.
    Roce(MessagePosition, Semantics),
    /// UEC.
    Uec(MessagePosition),
}

impl Carrier {
    /// Place of the message, if it is RDMA's.
    #[must_use]
    pub const fn position(&self) -> Option<&MessagePosition> {
        match self {
            Self::Stream => None,
            Self::Roce(position, _) | Self::Uec(position) => Some(position),
        }
    }
}

/// Place of a message, or a part of one, on its queue pair of RoCE or packet delivery context of UEC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePosition {
    /// Name of the queue pair: that of its first connection, as in [`crate::Packet::connection`].
    pub queue_pair: u32,
    /// Messages that it carried before.
    pub messages_before: u32,
    /// Packets of those messages, modulo 2^32.
    pub packets_before: u32,
    /// Payload of the message.
    pub message_bytes: u64,
    /// Payload of each of its packets but the last.
    pub packet_bytes: u16,
}
