//! Transports: what end hosts do with a stream of bytes.
//!
//! A connection has two halves, [`Sender`] and [`Receiver`], in different hosts. A half knows neither the fabric nor
//! the other half: it is called with packets and wake-ups, and asks a [`Host`] for what it wants done.

mod alarm;
mod congestion;
pub mod control;
mod cubic;
mod datagrams;
mod dctcp;
mod delayed_ack;
mod echo;
mod hystart;
pub(crate) mod mptcp;
mod newreno;
mod pace;
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
mod sender;
#[cfg(test)]
mod tests;
pub mod uec;

pub use datagrams::{DatagramReceiver, Datagrams};
pub use mptcp::{Coupling, Mptcp};
pub use pace::Pace;
pub use queue_pairs::{QueuePairMode, QueuePairs};
pub use receiver::{Receiver, ReceiverCounters};
pub use sender::{Sender, SenderCounters};

use crate::{Framing, marks};

/// Host as seen by a half of a connection that runs on it.
pub trait Host {
    /// Now, in picoseconds.
    fn now_ps(&self) -> u64;
    /// Rate of the host's link, in bits per second.
    fn link_bps(&self) -> u64 {
        anabranch_fabric::Rate::MOST_BPS
    }
    /// Time that so many bytes take on the host's link, if its queue there has no bound: then nothing else keeps a
    /// half from sending more than the link carries.
    fn unbounded_frame_ps(&self, _wire_bytes: u32) -> Option<u64> {
        None
    }
    /// Hands a packet to the host's port. The half fills every field but those of addressing: `connection`,
    /// `destination`, `entropy`, `labels`, `path` are the host's.
    fn send(&mut self, packet: crate::Packet);
    /// Whether the host's card has room for another frame of this half's data. If not, the host calls
    /// [`Sender::push`] or [`Datagrams::resume`] when it has.
    #[inline(always)]
    fn room(&mut self, _frame_bytes: u16) -> bool {
        true
    }
    /// Senders that wait for their turn in the host's card, this one included.
    fn contenders(&mut self) -> u32 {
        1
    }
    /// When a packet that is sent now begins to leave the host: later than now where it waits behind others in the one queue
    /// of a FIFO card.
    fn leaves_ps(&self) -> u64 {
        self.now_ps()
    }
    /// Whether packets of this half have not left the host's card yet.
    fn waits(&mut self) -> bool {
        false
    }
    /// Wants [`Sender::wake`] or [`Receiver::wake`] at this time. Only the earliest wish is kept; a wake-up that
    /// comes earlier than the half needs (its deadline moved) is answered by wishing again.
    fn wake_at(&mut self, at_ps: u64);
    /// Bytes, at most `most`, that the sender may [`Self::take`] beyond what was written to it, as one segment.
    #[inline(always)]
    fn waiting(&mut self, _most: u64) -> u64 {
        0
    }
    /// The window has room for the bytes that are waiting: they become part of the sender's stream. False if the
    /// other end has no room for them now; the host calls [`Sender::push`] when it has.
    #[inline(always)]
    fn take(&mut self, _bytes: u64) -> bool {
        false
    }
    /// The retransmission timer expired; nothing has been sent again yet.
    fn timed_out(&mut self) {}
}

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

impl Transport {
    /// Settings of its connections, if those are TCP's.
    #[must_use]
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Self::Tcp(tcp) | Self::Mptcp(Mptcp { tcp, .. }) => Some(tcp),
            Self::Udp(_) | Self::Roce(_) | Self::Uec(_) => None,
        }
    }

    /// Whether its receiving half is given headers of trimmed packets ([`marks::TRIMMED`]). To others they mean nothing:
    /// the host discards them, and the payload counts as dropped.
    #[must_use]
    pub const fn takes_trimmed(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Mptcp(_) | Self::Udp(_) | Self::Roce(_) => false,
            Self::Uec(_) => true,
        }
    }

    /// Queue pairs of its messages, if it has any.
    #[must_use]
    pub const fn queue_pairs(&self) -> Option<QueuePairs> {
        match self {
            Self::Tcp(_) | Self::Mptcp(_) | Self::Udp(_) => None,
            Self::Roce(roce::Roce { queue_pairs, .. }) | Self::Uec(uec::Uec { queue_pairs, .. }) => {
                Some(*queue_pairs)
            }
        }
    }

    /// Whether it reads what the ports on a packet's path tell of themselves.
    #[must_use]
    pub const fn reads_telemetry(&self) -> bool {
        matches!(self, Self::Roce(roce::Roce { law, .. }) if law.reads_telemetry())
    }

    /// Largest payload of a segment or datagram.
    #[must_use]
    pub fn payload_bytes_max(&self, framing: Framing) -> u16 {
        match self {
            Self::Tcp(Tcp { payload_bytes_max, .. })
            | Self::Mptcp(Mptcp { tcp: Tcp { payload_bytes_max, .. }, .. })
            | Self::Udp(Udp { payload_bytes_max, .. })
            | Self::Roce(roce::Roce { payload_bytes_max, .. })
            | Self::Uec(uec::Uec { payload_bytes_max, .. }) => {
                payload_bytes_max.unwrap_or(framing.payload_bytes_max)
            }
        }
    }
}

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

/// Settings of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Rate of frames on the link, preamble and gap included; the host's own link bounds it.
    pub rate: anabranch_fabric::Rate,
    /// Largest payload of a datagram, where it is less than [`Framing::payload_bytes_max`].
    pub payload_bytes_max: Option<u16>,
}

/// Context of every step of a half.
#[derive(Clone, Copy)]
struct Context<'a> {
    tcp: &'a Tcp,
    framing: Framing,
}

impl Context<'_> {
    /// Payload of a full segment (SMSS).
    #[inline(always)]
    fn segment(self) -> u64 {
        u64::from(self.tcp.payload_bytes_max.unwrap_or(self.framing.payload_bytes_max))
    }

    /// Whether losses are found by time, which needs SACK (RFC 8985, section 4).
    #[inline(always)]
    fn rack(self) -> bool {
        self.tcp.rack & self.tcp.sack
    }

    /// Marks of what is no new data. RFC 3168, sections 5.2, 6.1.1, 6.1.4 and 6.1.5, has neither SYN nor
    /// acknowledgement nor retransmission capable of marks; under DCTCP all are, as in Linux and ns-3, since a port
    /// that marks early would drop them.
    #[inline(always)]
    fn control_marks(self) -> u8 {
        if self.tcp.ecn && matches!(self.tcp.control, Control::Dctcp { .. }) { marks::CAPABLE } else { 0 }
    }
}
