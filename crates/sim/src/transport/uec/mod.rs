//! The transport of Ultra Ethernet 1.0 as `uet-htsim` has it (commit 40ccb05, `sim/uec.cpp`), one packet delivery context
//! for each flow: packets may take any path, the receiver keeps whatever arrives and names it, ports trim what they have no
//! room for, and the receiver asks for that again at once.

mod credit;
mod grants;
mod pacer;
mod receiver;
mod sender;
mod timeout;

pub(crate) use pacer::{Pacer, Turn};
pub(crate) use receiver::UecReceiver;
pub(crate) use sender::UecSender;

use super::carrier::{Carrier, MessagePosition};
use super::control::{Law, PathFacts};
use super::protocol::{Completion, POSTED_WHOLE, Protocol, Refusal, empty_round_trip_ps};
use super::{Host, Pace, QueuePairs};
use crate::Framing;
use crate::transport::UEC_PORT;
use anabranch_fabric::{Change, Fabric};
use anabranch_split::protocol::UDP;

/// Settings of credit that receivers grant (RCCC).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Credits {
    /// Share of its host's link for which a receiver grants credit, above 0 and at most 1.
    pub share: f64,
    /// Most bytes of one grant, a multiple of 256.
    pub grant_bytes: u32,
    /// Bytes that a flow may send before it hears from its receiver, and most credit that a sender holds; what its link
    /// carries in one and a half round trips if `None`.
    pub most_bytes: Option<u64>,
}

impl Credits {
    /// Defaults of `uet-htsim`.
    pub const DEFAULT: Self = Self { share: 0.99, grant_bytes: 16_384, most_bytes: None };

    /// Most credit that a sender holds whose link carries `bdp_bytes` in a round trip.
    fn most(&self, bdp_bytes: u64, frame_bytes: u64) -> u64 {
        self.most_bytes.unwrap_or((1.5 * bdp_bytes as f64) as u64).max(frame_bytes)
    }

    /// Time of a quantum of credit on a link, in picoseconds (`UecPullPacer`: cut off, too).
    pub(crate) fn quantum_ps(&self, link_bps: u64) -> u64 {
        (8.0 * credit::QUANTUM_BYTES as f64 * 1e12 / link_bps as f64 / self.share) as u64
    }
}

/// Settings of UEC. Times in picoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Uec {
    /// Congestion control at senders.
    pub law: Law,
    /// Credit that receivers grant; `None` if senders need none.
    pub credits: Option<Credits>,
    /// Bytes of frames that arrive between two acknowledgements, where nothing asks for one at once.
    pub ack_bytes: u32,
    /// Timeout of a packet; computed from the fabric's slowest port if zero.
    pub rto_ps: u64,
    /// Frame of an answer.
    pub answer_bytes: u16,
    /// When a flow has finished.
    pub completion: Completion,
    /// Packet delivery contexts of messages.
    pub queue_pairs: QueuePairs,
    /// Longest round trip of the empty fabric; computed if zero.
    pub rtt_ps: u64,
    /// Largest payload of a packet, where it is less than [`crate::Framing::payload_bytes_max`].
    pub payload_bytes_max: Option<u16>,
}

impl Uec {
    /// The path of a half that runs on `host`.
    fn path<H: Host>(&self, framing: Framing, host: &H) -> PathFacts {
        let payload_bytes = self.payload_bytes_max.unwrap_or(framing.payload_bytes_max);
        PathFacts {
            rate_bps: host.link_bps(),
            rtt_ps: self.rtt_ps,
            frame_bytes: framing.frame_bytes(payload_bytes).into(),
            header_bytes: framing.header_bytes.into(),
            began_ps: host.now_ps(),
        }
    }

    /// Defaults of `uet-htsim`.
    pub const DEFAULT: Self = Self {
        law: Law::Nscc(super::control::NsccSettings::DEFAULT),
        credits: None,
        ack_bytes: 16_384,
        rto_ps: 0,
        answer_bytes: 64,
        completion: Completion::Delivered,
        queue_pairs: QueuePairs::ONE,
        rtt_ps: 0,
        payload_bytes_max: None,
    };
}

impl Protocol for Uec {
    fn service(&self) -> (u8, u16) {
        (UDP, UEC_PORT)
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

    fn set_times(&mut self, fabric: &Fabric, changes: &[Change], framing: Framing) {
        if self.rtt_ps == 0 {
            self.rtt_ps = empty_round_trip_ps(fabric, framing, self.payload_bytes_max, self.answer_bytes);
        }
        if self.rto_ps == 0 {
            let payload_bytes = self.payload_bytes_max.unwrap_or(framing.payload_bytes_max);
            self.rto_ps =
                timeout::timeout_ps(fabric, changes, framing.frame_bytes(payload_bytes), self.rtt_ps);
        }
    }

    fn takes_trimmed(&self) -> bool {
        true
    }

    fn needs_credit(&self) -> bool {
        self.credits.is_some()
    }

    fn queue_pairs(&self) -> Option<QueuePairs> {
        Some(self.queue_pairs)
    }

    fn completion(&self) -> Completion {
        self.completion
    }

    fn carrier(&self, position: MessagePosition) -> Carrier {
        Carrier::Uec(position)
    }

    fn expected_answers(&self, segments: u64, wire_bytes: u64) -> u64 {
        let granted = self.credits.map_or(0, |credits| wire_bytes / u64::from(credits.grant_bytes));
        // The first packet and the last are answered at once.
        segments.min(2 + wire_bytes / u64::from(self.ack_bytes)) + granted
    }
}
