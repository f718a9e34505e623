//! Entropy from outside: someone else's rule at hosts, which hears what comes back.

use crate::own::picker::PickedPacket;
use anabranch_sim::Opened;
use anabranch_split::picks::acknowledgement::Acknowledged;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Acknowledgement, as a [`HostRule`] is shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Bytes and marks, and the entropy value of the packet that caused it.
    pub acknowledged: Acknowledged,
    /// Time since that packet was sent.
    pub rtt_ns: u32,
}

/// Random bits of a host. A copy yields the same ones.
#[derive(Clone, Debug)]
pub struct RandomBits(pub(crate) Pcg32);

impl RandomBits {
    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
}

/// View of a sending host when its rule is asked.
#[derive(Clone, Debug)]
pub struct HostView {
    /// Now, in nanoseconds.
    pub now_ns: u64,
    /// Random bits of this host; the rule leaves them here for its next question.
    pub random: RandomBits,
}

/// A rule that gives packets the entropy value that switches hash beside the flow's identity, at the hosts that send
/// data. Acknowledgements have paths of their own.
///
/// Each hook may return the value of the connection's packets from then on; without one they keep theirs, zero at first,
/// which leaves them where ECMP sends them. A rule that cannot go on keeps its reason and cancels the
/// [`anabranch_sim::Progress`] of the simulation.
pub trait HostRule {
    /// A connection opens, with its first flow.
    fn opened(&mut self, flow: &Opened, host: &mut HostView) -> Option<u16>;

    /// Another flow begins on a connection that is open.
    fn resumed(&mut self, flow: &Opened);

    /// A packet of the connection is about to leave.
    fn send(&mut self, connection: u32, packet: &PickedPacket, host: &mut HostView) -> Option<u16>;

    /// An acknowledgement came.
    fn acknowledged(&mut self, connection: u32, ack: &Acknowledgement, host: &mut HostView) -> Option<u16>;

    /// The retransmission timer expired.
    fn timed_out(&mut self, connection: u32, host: &mut HostView) -> Option<u16>;

    /// The connection ended.
    fn closed(&mut self, connection: u32);
}
