//! Network cards of hosts, as settings say them.

use anabranch_fabric::Buffer;

/// The network card of every host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nic {
    /// Queueing discipline of the card.
    pub queueing: Queueing,
    /// Whether a random processing time of up to one frame's time follows each frame's transmission (Floyd and Jacobson
    /// 1992: without one, periodic senders keep the phase in which they began). It never reorders.
    pub jitter: bool,
}

/// How packets wait in a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queueing {
    /// Data wait in their connection; the card takes packets from the connections in turn, by bytes (deficit round
    /// robin; Linux: fq).
    Fair {
        /// Most that a connection's data may fill in the card at once, one packet at least (Linux: TCP Small Queues).
        limit: Buffer,
    },
    /// Whenever the port is free, the card calls the next connection in turn, which makes one packet (the queue pairs of an
    /// RDMA card): data wait in their connection, unmade.
    Rdma,
    /// One queue for all: what a window lets out waits at the port, which drops and marks as the fabric has it.
    Fifo,
}

impl Nic {
    /// A fair card with room for two packets of each connection, and jitter.
    pub const FAIR: Self =
        Self { queueing: Queueing::Fair { limit: Buffer { packets: 2, ..Buffer::UNLIMITED } }, jitter: true };

    /// An RDMA card without jitter.
    pub const RDMA: Self = Self { queueing: Queueing::Rdma, jitter: false };

    /// A FIFO without jitter: what closed formulas and other simulators assume.
    pub const FIFO: Self = Self { queueing: Queueing::Fifo, jitter: false };
}
