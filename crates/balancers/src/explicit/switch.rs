//! Explicit paths in switches: a packet carries the number of its path and how much of it lies behind, as an SRv6 header
//! carries its segments, and every switch sends it to the next link. No table of routing is asked.

use anabranch_fabric::{Fabric, PathTable};
use anabranch_sim::{Choice, GroupPlan, Junction, Network, PacketId, Route, SwitchBalancer, marks};
use anabranch_split::PlanError;
use std::sync::Arc;

const NUMBER_BITS: u32 = 24;
const BACK: u32 = 1 << 31;

/// A path as [`anabranch_sim::Packet::labels`] carries it: its number plus one, the links that lie behind, and whether it is
/// followed from its end to its beginning. Zero: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried(pub(crate) u32);

impl Carried {
    /// A path from its beginning.
    pub(crate) const fn forth(path: u32) -> Self {
        Self(path + 1)
    }

    /// A path from its end to its beginning.
    pub(crate) const fn back(path: u32) -> Self {
        Self((path + 1) | BACK)
    }

    /// Number of the path, if there is one.
    pub(crate) const fn path(self) -> Option<u32> {
        (self.0 & ((1 << NUMBER_BITS) - 1)).checked_sub(1)
    }

    /// Whether it is followed from its end to its beginning.
    pub(crate) const fn is_back(self) -> bool {
        self.0 & BACK != 0
    }

    const fn links_behind(self) -> usize {
        ((self.0 & !BACK) >> NUMBER_BITS) as usize
    }

    const fn advanced(self) -> Self {
        Self(self.0 + (1 << NUMBER_BITS))
    }
}

/// Switches that follow the paths of packets.
pub(crate) struct ExplicitSwitches {
    table: Arc<PathTable>,
    /// Port at the other end of each port's link.
    reverse: Box<[u32]>,
}

impl ExplicitSwitches {
    pub(crate) fn new(table: Arc<PathTable>, fabric: &Fabric) -> Self {
        Self { table, reverse: fabric.ports().iter().map(|port| port.reverse).collect() }
    }

    fn next(&self, carried: Carried) -> Option<u32> {
        let (ports, behind) = (self.table.ports(carried.path()?), carried.links_behind());
        if carried.is_back() {
            let port = ports.get(ports.len().checked_sub(behind + 1)?)?;
            return Some(self.reverse[*port as usize]);
        }
        ports.get(behind).copied()
    }
}

impl SwitchBalancer for ExplicitSwitches {
    const ROUTES: bool = true;

    fn plan(&mut self, _asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        Ok(())
    }

    /// Only packets of flows that are pinned to a shortest path ask, where that is dead.
    fn choose(&mut self, _at: &Junction<'_>, _id: PacketId, _network: &mut Network) -> Choice {
        Choice::NoPath
    }

    #[inline]
    fn route(&mut self, _switch: u32, id: PacketId, network: &mut Network) -> Route {
        let packet = network.packet(id);
        if packet.marks & marks::LABELLED != 0 {
            return Route::Tables;
        }
        let carried = Carried(packet.labels);
        let Some(port) = self.next(carried) else { return Route::NoPath };
        packet.labels = carried.advanced().0;
        Route::Port(port)
    }
}
