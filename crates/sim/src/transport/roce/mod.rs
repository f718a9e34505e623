//! RoCE: messages over reliable queue pairs (InfiniBand specification, annexes A16 and A17), one for each flow.
//!
//! Each packet is answered at once. Go-back-N, what most cards do: the receiver discards what comes out of order. IRN
//! (Mittal and others, SIGCOMM 2018): it keeps it, and the sender sends again only what is missing.

mod receiver;
mod sender;

pub use receiver::RoceReceiver;
pub use sender::RoceSender;

use super::QueuePairs;
use super::control::Law;

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

/// What a message needs at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// RDMA write: nothing, it goes into memory that the sender knows.
    Write,
    /// Send: a receive that was posted. Where there is none, the receiver answers its first packet with RNR NAK and
    /// discards the others, and the sender begins anew after `rnr_ps`, as often as it takes (InfiniBand specification,
    /// section 9.7.5.2.8, with retry count 7).
    Send {
        /// Time that the receiver asks for, one of [`Self::RNR_TIMERS_PS`].
        rnr_ps: u64,
    },
}

impl Semantics {
    /// Times that an RNR NAK can name (InfiniBand specification, table "Encoding for RNR NAK Timer Field"), ascending.
    pub const RNR_TIMERS_PS: [u64; 32] = {
        const UNIT_PS: u64 = 10_000_000;
        let units = [
            1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
            3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536,
        ];
        let mut times = [0; 32];
        let mut index = 0;
        while index < 32 {
            times[index] = units[index] * UNIT_PS;
            index += 1;
        }
        times
    };

    /// Timer 12, 0.64 ms, of NCCL and of the programs of `perftest`.
    pub const SEND: Self = Self::Send { rnr_ps: 640_000_000 };
}

/// When a flow has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// When its last byte is at the receiver: the completion of a receive.
    Delivered,
    /// When its sender knows of it: the completion of a write or send.
    Acknowledged,
}

#[cfg(test)]
mod tests;
