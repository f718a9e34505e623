//! The transport of Ultra Ethernet 1.0 as `uet-htsim` has it (commit 40ccb05, `sim/uec.cpp`), one packet delivery context
//! for each flow: packets may take any path, the receiver keeps whatever arrives and names it, ports trim what they have no
//! room for, and the receiver asks for that again at once.

mod receiver;
mod sender;

pub use receiver::UecReceiver;
pub use sender::UecSender;

use super::control::Law;
use super::roce::Completion;

/// Settings of UEC. Times in picoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Uec {
    /// Congestion control.
    pub law: Law,
    /// Bytes of frames that arrive between two acknowledgements, where nothing asks for one at once.
    pub ack_bytes: u32,
    /// Timeout of a packet.
    pub rto_ps: u64,
    /// Frame of an answer.
    pub answer_bytes: u16,
    /// When a flow has finished.
    pub completion: Completion,
    /// Longest round trip of the empty fabric; computed if zero.
    pub rtt_ps: u64,
    /// Largest payload of a packet, where it is less than [`crate::Framing::payload_bytes_max`].
    pub payload_bytes_max: Option<u16>,
}

impl Uec {
    /// Defaults of `uet-htsim`.
    pub const DEFAULT: Self = Self {
        law: Law::Nscc(super::control::NsccSettings::DEFAULT),
        ack_bytes: 16_384,
        rto_ps: 100_656_000,
        answer_bytes: 64,
        completion: Completion::Delivered,
        rtt_ps: 0,
        payload_bytes_max: None,
    };
}
