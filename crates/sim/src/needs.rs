//! What a load balancer cannot do without, from the constants of the schemes that it runs.

use crate::balancer::{
    ConWeave, Conga, Deficit, HashIntervals, Hula, LuopanBalancer, MinMove, ShortestQueue, TdlbBalancer, Wcmp,
};
use crate::edge::{CloveHypervisor, HermesEdge, VirtualSwitch};
use anabranch_plan::{Balancing, Granularity, Scheme, Table};
use anabranch_split::capability;
use anabranch_split::scheme::byte_deficit::Boundary;
use anabranch_split::scheme::flowcell::Numbered;
use anabranch_split::scheme::{
    Bitmap, Cycle, FlowBender, Flowlet, Mixed, Oblivious, Omniscient, Plb, Presto, Recycle, Reps,
    Scheme as Picks, Score, Score16, Uniform,
};

/// Bits of [`anabranch_split::capability`] that a choice takes.
#[must_use]
pub fn needs(balancing: &Balancing) -> u32 {
    let own = match &balancing.scheme {
        Scheme::Table | Scheme::Ideal => 0,
        Scheme::FlowBender(_) => FlowBender::NEEDS,
        Scheme::Plb(_) => Plb::NEEDS,
        Scheme::UecOblivious(_) => Oblivious::NEEDS,
        Scheme::UecBitmap(_) => Bitmap::<Box<[u8]>>::NEEDS,
        Scheme::UecMixed(_) => Mixed::<Box<[u16]>, Box<[u8]>>::NEEDS,
        Scheme::Reps(_) => Reps::NEEDS,
        Scheme::RepsLegacy(_) => Recycle::<Box<[u16]>>::NEEDS,
        Scheme::Presto(_) => <Presto>::NEEDS,
        Scheme::Clove(_) => CloveHypervisor::NEEDS,
        Scheme::Vms(_) => VirtualSwitch::NEEDS,
        Scheme::Hermes(_) => HermesEdge::NEEDS,
        Scheme::Conga(_) => Conga::NEEDS,
        Scheme::Hula(_) => Hula::NEEDS,
        Scheme::Luopan(_) => LuopanBalancer::NEEDS,
        Scheme::Dbb(dbb) => dbb.switches.needs(),
        Scheme::Saps(saps) => saps.hosts.needs(),
        Scheme::Wino(wino) => wino.switches.needs(),
        Scheme::Omniscient(_) => Omniscient::<[[u16; 1]]>::NEEDS,
        Scheme::Tdlb(_) => TdlbBalancer::NEEDS,
        Scheme::ConWeave(_) => ConWeave::NEEDS,
    };
    let boundary = match balancing.granularity {
        Granularity::Flowlet { .. } => Flowlet::NEEDS | capability::RANDOM,
        Granularity::Flowcell { .. } => Numbered::NEEDS | capability::RANDOM,
        Granularity::Packet => capability::RANDOM,
        Granularity::Flow => 0,
    };
    own | boundary
        | match balancing.table {
            Table::Uniform => <Uniform>::NEEDS,
            Table::MinMove => MinMove::NEEDS,
            Table::Wcmp { .. } => Wcmp::NEEDS,
            Table::WcmpScoring { .. } | Table::Scoring => Score16::NEEDS,
            Table::Intervals => HashIntervals::NEEDS,
            Table::Valo => <Score>::NEEDS,
            Table::Turns { .. } => <Cycle>::NEEDS,
            Table::Deficit => Deficit::NEEDS,
            Table::ShortestQueue { .. } => ShortestQueue::NEEDS,
        }
}
