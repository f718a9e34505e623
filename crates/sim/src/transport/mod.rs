//! Transports: what end hosts do with a stream of bytes.
//!
//! A connection has two halves, a sending and a receiving one, in different hosts. A half knows neither the fabric nor
//! the other half: it is called with packets and wake-ups ([`protocol`]), and asks a [`Host`] for what it wants done.
//! Hosts call halves of any transport by [`AnySender`] and [`AnyReceiver`].

mod acked;
mod alarm;
mod carrier;
mod congestion;
pub mod control;
mod counters;
mod cubic;
mod datagrams;
mod dctcp;
mod delayed_ack;
mod echo;
mod halves;
mod host;
mod hystart;
pub(crate) mod mptcp;
mod newreno;
mod pace;
mod protocol;
mod prr;
mod queue_pairs;
mod rack;
mod ranges;
mod receiver;
mod reorder;
pub mod roce;
mod rtt;
mod sack;
mod scoreboard;
mod semantics;
mod sender;
mod service;
mod tcp;
#[cfg(test)]
mod tests;
pub mod uec;
mod undo;

pub use carrier::{Carrier, MessagePosition};
pub(crate) use counters::{ReceiverCounters, SenderCounters};
pub use datagrams::Udp;
pub(crate) use halves::{AnyReceiver, AnySender};
pub(crate) use host::Host;
pub use mptcp::{Coupling, Mptcp};
pub use pace::Pace;
pub(crate) use protocol::{Bounds, Grant, Protocol, ReceivingHalf, Reception, SendingHalf, Stored};
pub use protocol::{Completion, Refusal};
pub use queue_pairs::{QueuePairMode, QueuePairs, SourcePorts};
pub(crate) use receiver::Receiver;
pub(crate) use sender::Sender;
pub use service::{ROCE_PORT, SERVER_PORT, UEC_PORT};
pub use tcp::{Control, Reorder, Tcp};

use crate::Framing;
use anabranch_traffic::Flow;

/// A transport that flows can name.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A stream with acknowledgements.
    Tcp(Tcp),
    /// A stream over several connections of TCP.
    Mptcp(Mptcp),
    /// Datagrams at a constant rate, counted when they arrive.
    Udp(Udp),
    /// Messages over reliable queue pairs.
    Roce(roce::Roce),
    /// Messages whose packets may take any path.
    Uec(uec::Uec),
}

#[deny(clippy::wildcard_enum_match_arm)] // A forgotten transport must not compile.
impl Transport {
    /// Its settings, as hosts ask them.
    pub(crate) fn protocol(&self) -> &dyn Protocol {
        match self {
            Self::Tcp(tcp) => tcp,
            Self::Mptcp(mptcp) => mptcp,
            Self::Udp(udp) => udp,
            Self::Roce(roce) => roce,
            Self::Uec(uec) => uec,
        }
    }

    /// Its settings, to be changed.
    pub(crate) fn protocol_mut(&mut self) -> &mut dyn Protocol {
        match self {
            Self::Tcp(tcp) => tcp,
            Self::Mptcp(mptcp) => mptcp,
            Self::Udp(udp) => udp,
            Self::Roce(roce) => roce,
            Self::Uec(uec) => uec,
        }
    }

    /// Settings of its connections, if those are TCP's.
    #[must_use]
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Self::Tcp(tcp) | Self::Mptcp(Mptcp { tcp, .. }) => Some(tcp),
            Self::Udp(_) | Self::Roce(_) | Self::Uec(_) => None,
        }
    }

    /// Settings as MPTCP, if a flow has several connections that share what it sends.
    pub(crate) fn mptcp(&self) -> Option<&Mptcp> {
        match self {
            Self::Mptcp(mptcp) => Some(mptcp),
            Self::Tcp(_) | Self::Udp(_) | Self::Roce(_) | Self::Uec(_) => None,
        }
    }

    /// Whether its senders learn what arrived, and send again what did not.
    #[must_use]
    pub fn is_reliable(&self) -> bool {
        self.protocol().is_reliable()
    }

    /// Whether a message needs a receive that its application has posted.
    #[must_use]
    pub fn needs_receives(&self) -> bool {
        self.protocol().needs_receives()
    }

    /// Whether it reads what the ports on a packet's path tell of themselves.
    pub(crate) fn reads_telemetry(&self) -> bool {
        self.protocol().reads_telemetry()
    }

    /// Queue pairs of its messages, if it has any.
    #[must_use]
    pub fn queue_pairs(&self) -> Option<QueuePairs> {
        self.protocol().queue_pairs()
    }

    /// Most connections that one flow has.
    pub(crate) fn connections_max(&self) -> u8 {
        if let Self::Mptcp(mptcp) = self {
            return mptcp.subflows.max(1);
        }
        self.queue_pairs().map_or(1, |pairs| pairs.count.max(1))
    }

    /// Whether two hosts keep their connections from flow to flow.
    pub(crate) fn keeps_connections(&self) -> bool {
        self.protocol().is_persistent() || self.queue_pairs().is_some_and(|pairs| pairs.persistent)
    }

    /// Host at which a flow finishes.
    pub(crate) fn finishes_at(&self, flow: &Flow) -> u32 {
        match self.protocol().completion() {
            Completion::Delivered => flow.dst,
            Completion::Acknowledged => flow.src,
        }
    }

    /// Largest payload of a segment or datagram.
    #[must_use]
    pub fn payload_bytes_max(&self, framing: Framing) -> u16 {
        self.protocol().payload_bytes_max().unwrap_or(framing.payload_bytes_max)
    }

    /// Frames with payload of a message, and answers to them, where nothing is lost.
    #[must_use]
    pub fn expected_frames(&self, framing: Framing, size_bytes: u64) -> u64 {
        let payload_bytes = self.payload_bytes_max(framing);
        let segments = size_bytes.div_ceil(payload_bytes.into());
        let wire_bytes = segments * u64::from(framing.frame_bytes(payload_bytes));
        segments + self.protocol().expected_answers(segments, wire_bytes)
    }

    /// Gives its segments or datagrams at most so much payload; the framing's if `None`.
    pub fn set_payload_bytes_max(&mut self, bytes: Option<u16>) {
        self.protocol_mut().set_payload_bytes_max(bytes);
    }

    /// Lets its application write at a rate.
    ///
    /// # Errors
    /// Why its applications have none, and a hint.
    pub fn set_pace(&mut self, pace: Pace) -> Result<(), Refusal> {
        self.protocol_mut().set_pace(pace)
    }
}
