//! Congestion control of RDMA transports: what a sender may have in flight, and how fast it may send.
//!
//! Laws are state machines that know neither the fabric nor the transport's reliability: they are called with what came
//! back and tell a window and a rate. One file each. (TCP's laws are entangled with its recovery, see
//! [`super::congestion`].)

mod dcqcn;
mod hpcc;
mod nscc;
mod shared;
mod swift;
mod timely;

pub use crate::telemetry::Hop;
pub use dcqcn::{Dcqcn, DcqcnSettings};
pub use hpcc::{Hpcc, HpccSettings};
pub use nscc::{Nscc, NsccSettings};
pub(crate) use shared::SharedLaw;
pub use swift::{Swift, SwiftSettings};
pub use timely::{Timely, TimelySettings};

/// Path of a connection as its congestion control knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// Rate of the host's link, in bits per second.
    pub rate_bps: u64,
    /// Longest round trip of the empty fabric, in picoseconds.
    pub rtt_ps: u64,
    /// Largest frame of data, in bytes.
    pub frame_bytes: u64,
    /// Headers in it, in bytes.
    pub header_bytes: u64,
    /// When the flow began, in picoseconds.
    pub began_ps: u64,
}

impl PathFacts {
    /// Bytes that the host's link carries in one round trip, rounded down.
    #[must_use]
    pub fn bdp_bytes(&self) -> u64 {
        (u128::from(self.rtt_ps) * u128::from(self.rate_bps) / 8_000_000_000_000) as u64
    }
}

/// An acknowledgement, as laws take it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// When it came, in picoseconds.
    pub now_ps: u64,
    /// Bytes of frames that it acknowledges for the first time.
    pub bytes: u64,
    /// Whether it echoes a congestion mark.
    pub marked: bool,
    /// Round trip in picoseconds; `None` if the packet was sent more than once.
    pub rtt_ps: Option<u64>,
    /// First byte that is not acknowledged.
    pub una: u64,
    /// Next byte to be sent.
    pub next: u64,
    /// Bytes of frames in flight after it.
    pub in_flight_bytes: u64,
    /// Ports on the path of the packet that caused it, the first one first; empty without telemetry.
    pub hops: &'a [Hop],
}

/// Notice that a packet was trimmed, as laws take it.
#[derive(Clone, Copy, Debug)]
pub struct Trim {
    /// When it came, in picoseconds.
    pub now_ps: u64,
    /// Frame of the packet, in bytes.
    pub bytes: u64,
    /// Time since the packet was sent, in picoseconds.
    pub rtt_ps: u64,
    /// Bytes of frames in flight, those of the packet included.
    pub in_flight_bytes: u64,
    /// Whether somebody else looks after the place where it was trimmed: the receiver that grants credit after its own link.
    pub elsewhere: bool,
}

/// Law of one sender.
pub trait CongestionControl {
    /// Bytes of frames that may be in flight; `u64::MAX` if only the rate limits.
    fn window_bytes(&self) -> u64;

    /// Rate in bits per second; `u64::MAX` if only the window limits.
    fn rate_bps(&self) -> u64 {
        u64::MAX
    }

    /// An acknowledgement came.
    fn on_ack(&mut self, _answer: &Answer<'_>) {}

    /// A congestion notification came.
    fn on_mark(&mut self, _now_ps: u64) {}

    /// A packet was trimmed.
    fn on_trim(&mut self, _trim: &Trim) {}

    /// Packets are missing: those behind them arrived.
    fn on_loss(&mut self, _now_ps: u64) {}

    /// The retransmission timer expired for a frame of `bytes`.
    fn on_timeout(&mut self, _now_ps: u64, _bytes: u64) {}

    /// When window or rate may change by themselves, in picoseconds; `u64::MAX` if not.
    fn due_ps(&self) -> u64 {
        u64::MAX
    }

    /// Time has come up to `now_ps`.
    fn wake(&mut self, _now_ps: u64) {}

    /// Its sender has so many bytes of frames in flight. Laws of a sender alone learn that from [`Answer`].
    fn on_flight(&mut self, _bytes: u64) {}

    /// Bytes of frames that other senders of the same queue pair have in flight: of messages before.
    fn others_bytes(&self) -> u64 {
        0
    }

    /// The same law for another sender of the queue pair, if it is shared.
    fn share(&self) -> Option<Box<dyn CongestionControl + Send>> {
        None
    }

    /// The law within, if it was shared and no other sender has it any more.
    fn take_alone(&mut self) -> Option<Box<dyn CongestionControl + Send>> {
        None
    }
}

/// Law that a transport names, with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// None: the host's link and the transport's own window limit.
    None,
    /// [`Dcqcn`].
    Dcqcn(DcqcnSettings),
    /// [`Timely`].
    Timely(TimelySettings),
    /// [`Swift`].
    Swift(SwiftSettings),
    /// [`Hpcc`].
    Hpcc(HpccSettings),
    /// [`Nscc`].
    Nscc(NsccSettings),
}

impl Law {
    /// The state of a sender whose flow begins.
    #[must_use]
    pub fn begin(&self, path: &PathFacts) -> Box<dyn CongestionControl + Send> {
        match self {
            Self::None => Box::new(Unlimited),
            Self::Dcqcn(settings) => Box::new(Dcqcn::new(settings, path)),
            Self::Timely(settings) => Box::new(Timely::new(settings, path)),
            Self::Swift(settings) => Box::new(Swift::new(settings, path)),
            Self::Hpcc(settings) => Box::new(Hpcc::new(settings, path)),
            Self::Nscc(settings) => Box::new(Nscc::new(settings, path)),
        }
    }

    /// Whether it reads what ports tell of themselves ([`Answer::hops`]).
    #[must_use]
    pub const fn reads_telemetry(&self) -> bool {
        matches!(self, Self::Hpcc(_))
    }
}

/// No congestion control: the host's link and the transport's own window limit.
pub struct Unlimited;

impl CongestionControl for Unlimited {
    fn window_bytes(&self) -> u64 {
        u64::MAX
    }
}

/// State that a queue pair keeps from one message to the next.
pub(crate) struct Kept {
    pub(crate) law: Box<dyn CongestionControl + Send>,
    /// Payload of the messages so far: laws count bytes through all of them.
    pub(crate) sent_bytes: u64,
    /// When the rate allows the next packet, in picoseconds.
    pub(crate) next_at_ps: u64,
}

impl Kept {
    /// Nothing but a law: of a queue pair that has carried no message.
    pub(crate) fn fresh(law: Box<dyn CongestionControl + Send>) -> Self {
        Self { law, sent_bytes: 0, next_at_ps: 0 }
    }

    /// What is kept, as it is at `now_ps`, or a law that begins.
    pub(crate) fn or_begin(kept: Option<Self>, law: &Law, path: &PathFacts) -> Self {
        match kept {
            Some(mut kept) => {
                kept.law.wake(path.began_ps);
                kept
            }
            None => Self::fresh(law.begin(path)),
        }
    }
}

#[cfg(test)]
mod convergence;
#[cfg(test)]
mod traces;
