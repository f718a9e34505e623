//! What hosts do to spread packets, below their transports: hypervisors, virtual switches, network cards.
//!
//! An edge sees every packet that leaves or reaches a host. It chooses a path by labels, or an entropy that switches
//! hash, and learns from what comes back: it writes into [`Packet::tag`] at one end and reads it at the other.

use crate::Packet;
use crate::network::{Address, Network};
use anabranch_fabric::LinkState;
use anabranch_traffic::Flow;

/// A flow begins on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opened {
    /// The flow's number.
    pub flow: u32,
    /// The connection, as in [`Packet::connection`].
    pub connection: u32,
    /// Whether the connection is new; a persistent one carries flows one after the other.
    pub fresh: bool,
    /// Host that sends.
    pub src: u32,
    /// Host that receives.
    pub dst: u32,
    /// Payload of the flow.
    pub size_bytes: u64,
}

impl Opened {
    /// On a new connection without a number yet.
    pub fn of(number: u32, flow: &Flow) -> Self {
        let &Flow { src, dst, size_bytes, .. } = flow;
        Self { flow: number, connection: 0, fresh: true, src, dst, size_bytes }
    }

    /// The host at the other end.
    #[must_use]
    pub fn peer(&self, host: u32) -> u32 {
        if host == self.src { self.dst } else { self.src }
    }
}

/// Load balancing at hosts. Every hook but the first may be left out.
pub trait HostBalancer {
    /// A packet of a connection leaves its host. Labels, entropy and tag are the edge's to set; `from` has the defaults.
    /// Flows that are pinned to a path are not asked about.
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network);

    /// The run begins: set the timers of `host`. Called for every host in turn.
    fn begin(&mut self, _host: u32, _network: &mut Network) {}

    /// A flow begins that `host` sends or receives; its first packet has not been sent yet. Called for the sender first,
    /// then for the receiver.
    fn opened(&mut self, _host: u32, _flow: &Opened, _network: &mut Network) {}

    /// A packet of an open connection reached `host`; its transport sees it next.
    fn receive(&mut self, _host: u32, _packet: &mut Packet, _network: &mut Network) {}

    /// A [`crate::Kind::HostProbe`] reached `host`.
    fn probe(&mut self, _host: u32, _packet: &Packet, _network: &mut Network) {}

    /// The retransmission timer of a connection's sender expired; it has not sent again yet.
    fn timed_out(&mut self, _from: &Address, _network: &mut Network) {}

    /// A connection of `host` ended; its slot may be used again, with another generation. Called for the sender first, then
    /// for the receiver.
    fn closed(&mut self, _host: u32, _connection: u32) {}

    /// A timer of `host` rang that [`Network::wake_host`] set.
    fn timer(&mut self, _host: u32, _token: u32, _network: &mut Network) {}

    /// Sums of what it counted at the hosts it serves, each with its meaning.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Routing learned that links died, came back or changed their rate, and tells all hosts.
    fn links_changed(&mut self, _links: &LinkState, _network: &mut Network) {}
}
