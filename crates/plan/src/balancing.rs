//! How a fabric spreads what it forwards: choices that combine freely, and schemes that bring their own.

use crate::presto;
use anabranch_split::scheme::{clove, hermes, vms};
use anabranch_split::scheme::{conga, conweave, hula};
use anabranch_split::scheme::{flowbender, plb, reps, uec};

/// The whole choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Balancing {
    /// What is kept together.
    pub granularity: Granularity,
    /// Where the weights of a group come from.
    pub weighing: Weighing,
    /// How weights become picks.
    pub table: Table,
    /// What decides beside, or instead of, the tables of the switches.
    pub scheme: Scheme,
}

impl Balancing {
    /// ECMP: a flow's hash over equal next hops.
    pub const ECMP: Self = Self {
        granularity: Granularity::Flow,
        weighing: Weighing::Equal,
        table: Table::Uniform,
        scheme: Scheme::Table,
    };
}

/// What is kept on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// All packets of a flow.
    Flow,
    /// Packets of a flow without a pause between them (LetFlow, NSDI 2017).
    Flowlet {
        /// Longest pause within a flowlet, in nanoseconds.
        gap_ns: u64,
    },
    /// So many consecutive bytes of a flow (Presto, SIGCOMM 2015).
    Flowcell {
        /// Payload of a flowcell, in bytes.
        bytes: u64,
    },
    /// Each packet by itself: spraying.
    Packet,
}

/// Where the weights of a group come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weighing {
    /// Every next hop alike.
    Equal,
    /// The capacity of the paths behind each next hop (WCMP, EuroSys 2014, section 2).
    Capacity,
    /// As written: a weight for each port of a switch, by (node, neighbour); one where none is written. Parallel
    /// links share their neighbour's weight evenly.
    Given(Vec<(u32, u32, u64)>),
}

/// How weights become picks; the names are those of `anabranch schemes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Equal choice, weights ignored: ECMP's hash over a list.
    Uniform,
    /// Webster's slots in a table of 2^16 that changes by the fewest moves.
    MinMove,
    /// WCMP's reduction to at most so many entries.
    Wcmp {
        /// Most entries of the table.
        entries: u32,
    },
    /// WCMP's reduction, the reduced weights under scoring: what the VALO paper's artefact runs as WCMP.
    WcmpScoring {
        /// Most entries, were they a table.
        entries: u32,
    },
    /// Intervals of the hash, as wide as the weights: weighted random.
    Intervals,
    /// Gravity weights under scoring (VALO).
    Valo,
    /// Scoring by the weights themselves, as Open vSwitch's `selection_method=hash` does.
    Scoring,
    /// Each next hop in turn, by smooth weighted round robin or in blocks.
    Turns {
        /// All turns of a next hop one after the other, as the VALO paper's artefact does.
        block: bool,
    },
    /// The next hop furthest behind its share of what was placed.
    Deficit,
    /// The shortest of some queues (DRILL, SIGCOMM 2017).
    ShortestQueue {
        /// Queues drawn at random for a decision; [`u16::MAX`]: all.
        samples: u16,
        /// Best queues remembered, at most 8.
        memory: u16,
    },
}

/// What decides beside, or instead of, the tables of the switches.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheme {
    /// Nothing else: tables alone.
    Table,
    /// Flows are pinned in the order they begin, so that the flows of two leaves share the paths between them exactly by
    /// weight: the yardstick of the VALO paper.
    Ideal,
    /// Hosts change a flow's entropy when it is congested (CoNEXT 2014).
    FlowBender(flowbender::Parameters),
    /// Hosts change a flow's entropy when it stays congested (SIGCOMM 2022).
    Plb(plb::Parameters),
    /// Hosts give each packet the next entropy value.
    UecOblivious(uec::Parameters),
    /// Hosts give each packet the next entropy value that did not do badly.
    UecBitmap(uec::Parameters),
    /// Hosts use entropy values again that did well, or else those that did not do badly.
    UecMixed(uec::Parameters),
    /// Hosts use entropy values again that did well, and hold on to them after a timeout.
    Reps(reps::Parameters),
    /// Hosts use entropy values again that did well.
    RepsLegacy(uec::Parameters),
    /// Hypervisors move weights of paths by what the other end relays (CoNEXT 2017).
    Clove(clove::Parameters),
    /// Virtual switches move weights or windows of channels by what the other end relays (JSAC 2020).
    Vms(vms::Parameters),
    /// Hosts sense paths and move flows with caution (SIGCOMM 2017).
    Hermes(hermes::Parameters),
    /// Hosts send flowcells over all paths in turn (SIGCOMM 2015).
    Presto(presto::Settings),
    /// Leaves tell each other how congested their uplinks' ways are (CONGA, SIGCOMM 2014).
    Conga(conga::Parameters),
    /// Probes tell every switch the best hop (HULA, SOSR 2016).
    Hula(hula::Parameters),
    /// Leaves reroute flows and restore their order (ConWeave, SIGCOMM 2023).
    ConWeave(conweave::Parameters),
    /// Flowcells over the better of a few sampled paths.
    Luopan(crate::Luopan),
    /// Flowcells over the path with the least backlog at that moment.
    Omniscient(crate::Cells),
    /// Flowlets without blame leave congested paths.
    Tdlb(crate::Tdlb),
    /// DBB: dispatching cycles.
    Dbb(crate::Dbb),
    /// SAPS: symmetric virtual topologies.
    Saps(crate::Saps),
    /// Wino: microslices.
    Wino(crate::Wino),
}
