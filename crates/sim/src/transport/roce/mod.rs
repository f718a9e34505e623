//! RoCE: messages over reliable queue pairs (InfiniBand specification, annexes A16 and A17), one for each flow.
//!
//! Each packet is answered at once. Go-back-N, what most cards do: the receiver discards what comes out of order. IRN
//! (Mittal and others, SIGCOMM 2018): it keeps it, and the sender sends again only what is missing.

mod receiver;
mod sender;

pub(crate) use receiver::RoceReceiver;
pub(crate) use sender::RoceSender;

use super::carrier::{Carrier, MessagePosition};
use super::control::Law;
pub use super::protocol::Completion;
use super::protocol::{POSTED_WHOLE, Protocol, Refusal, empty_round_trip_ps};
pub use super::semantics::Semantics;
use super::{Pace, QueuePairs};
use crate::Framing;
use crate::transport::ROCE_PORT;
use anabranch_fabric::{Change, Fabric};
use anabranch_split::protocol::UDP;

/// Settings of RoCE. Times in picoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Roce {
    /// Congestion control.
    pub law: Law,
    /// What becomes of packets that arrive out of order.
    pub recovery: Recovery,
    /// Most payload in flight. If `None`, one round trip's worth of the host's link where recovery is selective, and else
    /// no limit.
    pub window_bytes: Option<u64>,
    /// Timeout without an answer.
    pub rto_ps: u64,
    /// Frame of an answer.
    pub answer_bytes: u16,
    /// Congestion notifications.
    pub cnp: Notification,
    /// When a flow has finished.
    pub completion: Completion,
    /// What a message needs at its receiver.
    pub semantics: Semantics,
    /// Queue pairs of messages.
    pub queue_pairs: QueuePairs,
    /// Longest round trip of the empty fabric; computed if zero.
    pub rtt_ps: u64,
    /// Largest payload of a packet, where it is less than [`crate::Framing::payload_bytes_max`].
    pub payload_bytes_max: Option<u16>,
}

impl Roce {
    /// Go-back-N without congestion control.
    #[must_use]
    pub const fn plain() -> Self {
        Self {
            law: Law::None,
            recovery: Recovery::GoBackN { nack_ps: 4_000_000 },
            window_bytes: None,
            rto_ps: 4_000_000_000,
            answer_bytes: 64,
            cnp: Notification { interval_ps: 50_000_000, in_answer: false, out_of_order: false },
            completion: Completion::Delivered,
            semantics: Semantics::Write,
            queue_pairs: QueuePairs::ONE,
            rtt_ps: 0,
            payload_bytes_max: None,
        }
    }
}

impl Protocol for Roce {
    fn service(&self) -> (u8, u16) {
        (UDP, ROCE_PORT)
    }

    fn payload_bytes_max(&self) -> Option<u16> {
        self.payload_bytes_max
    }

    fn set_payload_bytes_max(&mut self, bytes: Option<u16>) {
        self.payload_bytes_max = bytes;
    }

    fn set_pace(&mut self, _pace: Pace) -> Result<(), Refusal> {
        Err(POSTED_WHOLE)
    }

    fn set_times(&mut self, fabric: &Fabric, _changes: &[Change], framing: Framing) {
        if self.rtt_ps == 0 {
            self.rtt_ps = empty_round_trip_ps(fabric, framing, self.payload_bytes_max, self.answer_bytes);
        }
    }

    fn reads_telemetry(&self) -> bool {
        self.law.reads_telemetry()
    }

    fn needs_receives(&self) -> bool {
        matches!(self.semantics, Semantics::Send { .. })
    }

    fn queue_pairs(&self) -> Option<QueuePairs> {
        Some(self.queue_pairs)
    }

    fn completion(&self) -> Completion {
        self.completion
    }

    fn carrier(&self, position: MessagePosition) -> Carrier {
        Carrier::Roce(position, self.semantics)
    }
}

/// What becomes of packets that arrive out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// They are discarded: the receiver asks for everything from the first gap on.
    GoBackN {
        /// Time until it asks again for the same.
        nack_ps: u64,
    },
    /// They are kept: the sender sends the gaps again.
    Selective {
        /// Timeout while no more than three packets are in flight, too few to show a gap.
        rto_low_ps: u64,
    },
}

/// When and how a receiver of marked packets notifies the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Least time between two notifications.
    pub interval_ps: u64,
    /// Whether they are a bit of the answer instead of a packet.
    pub in_answer: bool,
    /// Whether packets that arrive out of order count as marked, as in `conweave-ns3`.
    pub out_of_order: bool,
}

#[cfg(test)]
mod tests;
