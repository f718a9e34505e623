#![doc = include_str!("mptcp.md")]

mod lia;
mod prefix;
mod stream;

pub(crate) use lia::interval_bytes;
pub(crate) use stream::DataStream;

use super::protocol::{Protocol, Refusal};
use super::{Control, Pace as ApplicationPace, Tcp};

/// Settings of MPTCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Mptcp {
    /// Settings of each subflow; the largest window is that of the whole flow as well. Subflows are not
    /// persistent.
    pub tcp: Tcp,
    /// Subflows of a flow, at least one (8: the evaluations of CONGA and of HULA).
    pub subflows: u8,
    /// How the subflows' windows grow.
    pub coupling: Coupling,
}

impl Mptcp {
    /// The page of it, in Markdown.
    pub const PAGE: &str = include_str!("mptcp.md");

    /// Eight subflows of [`Tcp::plain`], linked.
    #[must_use]
    pub const fn plain() -> Self {
        Self { tcp: Tcp::plain(Control::NewReno), subflows: 8, coupling: Coupling::Lia }
    }
}

impl Protocol for Mptcp {
    fn payload_bytes_max(&self) -> Option<u16> {
        self.tcp.payload_bytes_max()
    }

    fn set_payload_bytes_max(&mut self, bytes: Option<u16>) {
        self.tcp.set_payload_bytes_max(bytes);
    }

    fn set_pace(&mut self, _pace: ApplicationPace) -> Result<(), Refusal> {
        Err((
            "MPTCP's connections share what a flow has to send",
            "leave it out, or take a transport of one connection",
        ))
    }

    fn check(&self) -> Result<(), Refusal> {
        self.tcp.check()?;
        if self.tcp.pace.is_some() {
            return Err(("MPTCP with a rate of its application", "take a transport of one connection"));
        }
        if self.subflows == 0 {
            return Err(("MPTCP over no subflow", "give it at least one"));
        }
        if self.tcp.persistent {
            return Err(("persistent subflows", "set persistent = false"));
        }
        if self.coupling == Coupling::Lia && self.tcp.control != Control::NewReno {
            return Err((
                "linked increases are those of NewReno",
                "set the control to NewReno or the coupling to none",
            ));
        }
        Ok(())
    }

    fn expected_answers(&self, segments: u64, wire_bytes: u64) -> u64 {
        self.tcp.expected_answers(segments, wire_bytes)
    }
}

/// How the windows of a flow's subflows grow in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// Linked increases (RFC 6356). Subflows follow NewReno in all else.
    Lia,
    /// Each by itself, as so many connections of TCP would.
    Uncoupled,
}

/// A subflow's window in bytes and its smoothed round trip in picoseconds, once there is one.
pub(crate) type Pace = Option<(u64, u64)>;
