//! Transports of captured packets, for the headers that they have outside the simulator.

use crate::Framing;
use crate::transport::Transport;
use crate::transport::roce::Semantics;

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
    /// Carrier of a message that is alone on its queue pair. `queue_pair` is the name of its connection.
    pub(crate) fn of(transport: &Transport, framing: Framing, queue_pair: u32, message_bytes: u64) -> Self {
        let position = MessagePosition {
            queue_pair,
            messages_before: 0,
            packets_before: 0,
            message_bytes,
            packet_bytes: transport.payload_bytes_max(framing),
        };
        match transport {
            Transport::Tcp(_) | Transport::Mptcp(_) | Transport::Udp(_) => Self::Stream,
            Transport::Roce(roce) => Self::Roce(position, roce.semantics),
            Transport::Uec(_) => Self::Uec(position),
        }
    }

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
