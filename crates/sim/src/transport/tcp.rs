//! Settings of TCP, and what its halves take them with.

use super::Pace;
use super::protocol::{Protocol, Refusal};
use crate::{Framing, marks};

/// Settings of TCP. Times in picoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// Congestion control.
    pub control: Control,
    /// Initial window, in segments (10: RFC 6928).
    pub initial_window: u32,
    /// Largest window, in bytes: the least of the receiver's and the sender's buffers.
    pub window_max_bytes: u64,
    /// Selective acknowledgement (RFC 2018, recovery by RFC 6675); without it NewReno's recovery (RFC 6582).
    pub sack: bool,
    /// Duplicate acknowledgements that mean a loss (3: RFC 5681).
    pub dup_ack_threshold: u32,
    /// Time-based loss detection (RACK, RFC 8985) instead of the threshold; needs `sack`.
    pub rack: bool,
    /// Receivers report what arrives twice (DSACK, RFC 2883), and senders learn of it how needless their retransmissions
    /// are: RACK's window grows, and a reduction for nothing is taken back, as by Linux; needs `rack`.
    pub dsack: bool,
    /// Segments per acknowledgement (2: RFC 5681; 1: every segment).
    pub ack_every: u32,
    /// Longest wait of a delayed acknowledgement.
    pub ack_delay_ps: u64,
    /// Least retransmission timeout (RFC 6298 says 1 s, Linux 200 ms, datacenters less).
    pub rto_min_ps: u64,
    /// Timeout before the first measurement.
    pub rto_initial_ps: u64,
    /// Largest timeout after back-off.
    pub rto_max_ps: u64,
    /// ECN (RFC 3168; DCTCP's own echo, RFC 8257).
    pub ecn: bool,
    /// Whether a flow opens its connection by SYN and SYN-ACK; otherwise it starts open.
    pub handshake: bool,
    /// Whether flows between two hosts use idle connections again, with the window they left.
    pub persistent: bool,
    /// Reordering layer between the network and TCP at the receiver.
    pub reorder: Reorder,
    /// Rate at which the application writes; all at once if `None`.
    pub pace: Option<Pace>,
    /// Largest payload of a segment, where it is less than [`Framing::payload_bytes_max`].
    pub payload_bytes_max: Option<u16>,
}

impl Tcp {
    /// The plainest TCP of a datacenter's simulations: initial window 10, SACK, an acknowledgement per segment, a
    /// least timeout of 5 ms, no handshake, ECN where the control is DCTCP's.
    #[must_use]
    pub const fn plain(control: Control) -> Self {
        const MS: u64 = 1_000_000_000;
        Self {
            control,
            initial_window: 10,
            window_max_bytes: 1 << 30,
            sack: true,
            dup_ack_threshold: 3,
            rack: false,
            dsack: false,
            ack_every: 1,
            ack_delay_ps: 0,
            rto_min_ps: 5 * MS,
            rto_initial_ps: 5 * MS,
            rto_max_ps: 1_000 * MS,
            ecn: matches!(control, Control::Dctcp { .. }),
            handshake: false,
            persistent: false,
            reorder: Reorder::None,
            pace: None,
            payload_bytes_max: None,
        }
    }
}

impl Protocol for Tcp {
    fn payload_bytes_max(&self) -> Option<u16> {
        self.payload_bytes_max
    }

    fn set_payload_bytes_max(&mut self, bytes: Option<u16>) {
        self.payload_bytes_max = bytes;
    }

    fn set_pace(&mut self, pace: Pace) -> Result<(), Refusal> {
        self.pace = Some(pace);
        Ok(())
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.pace.is_some_and(|pace| pace.burst_bytes == 0) {
            return Err(("an application that writes 0 bytes at once", "let it write at least one"));
        }
        Ok(())
    }

    fn is_persistent(&self) -> bool {
        self.persistent
    }

    fn expected_answers(&self, segments: u64, _wire_bytes: u64) -> u64 {
        segments.div_ceil(self.ack_every.into())
    }
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// RFC 5681, RFC 6582.
    NewReno,
    /// RFC 9438, as Linux does it (HyStart where `hystart`).
    Cubic {
        /// Leave slow start by delay (RFC 9406's ancestor in Linux).
        hystart: bool,
    },
    /// RFC 8257.
    Dctcp {
        /// Gain g of the moving average of marked bytes (1/16).
        gain: f64,
    },
}

/// Reordering layer between the network and TCP at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reorder {
    /// Nothing.
    None,
    /// A gap is held open until it fills or for so long.
    Hold {
        /// Longest hold.
        timeout_ps: u64,
    },
    /// Presto's: a gap inside a flowcell is a loss and is passed on at once; one at its border is held open.
    Flowcell {
        /// Payload of a flowcell (65,536), as the sender counts it.
        cell_bytes: u64,
        /// Longest hold, whatever reordering took before (100 us).
        timeout_ps: u64,
    },
}

/// Context of every step of a half.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) tcp: &'a Tcp,
    pub(super) framing: Framing,
}

impl Context<'_> {
    /// Payload of a full segment (SMSS).
    #[inline(always)]
    pub(super) fn segment(self) -> u64 {
        u64::from(self.tcp.payload_bytes_max.unwrap_or(self.framing.payload_bytes_max))
    }

    /// Whether losses are found by time, which needs SACK (RFC 8985, section 4).
    #[inline(always)]
    pub(super) fn rack(self) -> bool {
        self.tcp.rack & self.tcp.sack
    }

    /// Whether receivers report duplicates, and senders learn of them.
    #[inline(always)]
    pub(super) fn dsack(self) -> bool {
        self.tcp.dsack & self.rack()
    }

    /// Marks of what is no new data. RFC 3168, sections 5.2, 6.1.1, 6.1.4 and 6.1.5, has neither SYN nor
    /// acknowledgement nor retransmission capable of marks; under DCTCP all are, as in Linux and ns-3, since a port
    /// that marks early would drop them.
    #[inline(always)]
    pub(super) fn control_marks(self) -> u8 {
        if self.tcp.ecn && matches!(self.tcp.control, Control::Dctcp { .. }) { marks::CAPABLE } else { 0 }
    }
}
