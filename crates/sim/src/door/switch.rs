//! What the switches of a fabric do to spread packets: one value for a set of switches, asked wherever there is a choice.
//!
//! The decisions themselves are those of `anabranch_split::picks`; what stands here lends them clock, queues, random
//! numbers and packets.

use crate::network::Network;
use crate::slab::PacketId;
use anabranch_fabric::LinkState;
use anabranch_split::PlanError;

/// Switch and group at which a packet meets a choice.
pub struct Junction<'a> {
    /// The switch, counted from the first.
    pub switch: u32,
    /// The leaf it goes to, as destinations are numbered.
    pub leaf: u32,
    /// The group there.
    pub group: u32,
    /// The ports of the group's members.
    pub ports: &'a [u32],
}

/// A group as it is to be from now on.
#[derive(Clone, Copy)]
pub struct GroupPlan<'a> {
    /// Its number: that of a group that was retired, or the next; groups count from zero.
    pub group: u32,
    /// Its switch, counted from the first.
    pub switch: u32,
    /// The ports of its members.
    pub ports: &'a [u32],
    /// A weight for each; zero: not to be used.
    pub weights: &'a [u64],
    /// The group it continues, with the same members where that was possible; perhaps the group itself.
    pub heir_of: Option<u32>,
}

/// Fate of a packet at a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It goes by this member of the group.
    Member(u16),
    /// A meter of the balancer's drops it.
    Policed,
    /// The balancer has no path for it, or its path is dead.
    NoPath,
    /// The balancer keeps it and will hand it to a port itself.
    Kept,
}

/// Where a route that a packet carries leads at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Out of this port, dead or alive.
    Port(u32),
    /// Nowhere: it carries none.
    NoPath,
    /// Wherever the tables of routing lead.
    Tables,
}

/// Load balancing in switches. Every hook but the first two may be left out.
pub trait SwitchBalancer {
    /// Whether [`Self::depart`] is to be called.
    const DEPARTS: bool = false;
    /// Whether [`Self::deliver`] is to be called.
    const DELIVERS: bool = false;
    /// Whether [`crate::Kind::Probe`] packets are its own, for [`Self::probe`].
    const PROBES: bool = false;
    /// Whether [`Self::route`] is asked before the tables of routing.
    const ROUTES: bool = false;
    /// Whether [`Self::towards`] is to be called.
    const DETOURS: bool = false;

    /// Whether [`Self::choose`] depends on packets by [`Network::selection_hash`] alone, so that switches can be configured
    /// to hash header fields.
    fn hashes_headers(&self) -> bool {
        false
    }

    /// A group was made, or its weights changed: by routing, or because a port of its switch died or came back.
    ///
    /// # Errors
    /// Weights that the scheme cannot hold.
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError>;

    /// Routing uses a group no more. Its number may be given to another.
    fn retire(&mut self, _group: u32) {}

    /// The member that takes the packet `id`. Asked where a group has several members, one of them at least
    /// with a positive weight, for packets without labels, or whose label leads to a dead port. A balancer that routes
    /// at the source sets labels: the one for this choice is not among them.
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice;

    /// Where the packet `id` goes at a switch that is not the leaf of its host, by the route that it carries.
    fn route(&mut self, _switch: u32, _id: PacketId, _network: &mut Network) -> Route {
        Route::Tables
    }

    /// The leaf to which `switch` forwards the packet `id` by a shortest path: `leaf`, where its destination is, or one on a
    /// detour. Asked at every switch but the destination's leaf, and never answered with the switch itself.
    fn towards(&mut self, _switch: u32, leaf: u32, _id: PacketId, _network: &mut Network) -> u32 {
        leaf
    }

    /// The run begins: set the timers of `switch`. Called for every switch in turn.
    fn begin(&mut self, _switch: u32, _network: &mut Network) {}

    /// The packet `id` is about to enter `port` of `switch`, whoever chose it, a host's port included.
    /// The port may still drop it.
    fn depart(&mut self, _switch: u32, _port: u32, _id: PacketId, _network: &mut Network) {}

    /// The packet `id` is at the leaf of its host, `port` leads to it. Whether it goes on; if not, the balancer
    /// keeps it and will hand it to the port itself.
    fn deliver(&mut self, _switch: u32, _port: u32, _id: PacketId, _network: &mut Network) -> bool {
        true
    }

    /// A probe came to `switch` by the link of port `from` (the port at the other end). `onward` is where its labels send
    /// it; nothing at the leaf of its destination, or if it has no labels. The balancer hands it to a port or consumes it.
    fn probe(&mut self, _switch: u32, _from: u32, _onward: Option<u32>, id: PacketId, network: &mut Network) {
        network.consume(id);
    }

    /// A timer of `switch` rang that [`Network::wake_switch`] set.
    fn timer(&mut self, _switch: u32, _token: u32, _network: &mut Network) {}

    /// Ports of `switch` died, came back or changed otherwise just now.
    fn ports_changed(&mut self, _switch: u32, _ports: &[u32], _network: &mut Network) {}

    /// Sums of what it counted at the switches it serves, each with its meaning.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Routing learned that links died, came back or changed their rate, and tells all switches.
    fn links_changed(&mut self, _links: &LinkState, _network: &mut Network) {}
}
