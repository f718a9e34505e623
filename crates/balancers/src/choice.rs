//! The choice of a load balancer: granularity, weights and table, which combine freely, and what decides beside them.

use crate::granularity::Granularity;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::tables::Planned;
use crate::tables::WCMP_ENTRIES;
use crate::tables::planned::{Deficit, HashIntervals, MinMove, ShortestQueue, Wcmp};
use anabranch_fabric::PathTable;
use anabranch_plan::Weighing;
use anabranch_split::Pick as _;
use anabranch_split::picks::{Cycle, Score, Score16, Uniform};
use std::sync::Arc;

/// The whole choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Balancing {
    /// Unit that is kept on one path.
    pub granularity: Granularity,
    /// Source of the weights of a group.
    pub weighing: Weighing,
    /// How weights become picks.
    pub table: Table,
    /// Load balancer that decides beside, or instead of, the tables of the switches.
    pub scheme: Scheme,
    /// Explicit paths, for a load balancer that follows them ([`LoadBalancer::follows_paths`]).
    pub paths: Option<Arc<PathTable>>,
}

impl Balancing {
    /// ECMP: a flow's hash over equal next hops.
    pub const ECMP: Self = Self {
        granularity: Granularity::Flow,
        weighing: Weighing::Equal,
        table: Table::Uniform,
        scheme: Scheme::TABLES,
        paths: None,
    };
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

impl Table {
    /// DRILL(2, 1), the setting that its authors recommend.
    pub const DRILL: Self = Self::ShortestQueue { samples: 2, memory: 1 };
    /// Smooth weighted round robin.
    pub const SMOOTH: Self = Self::Turns { block: false };

    /// Name of the table in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::MinMove => "min-move",
            Self::Wcmp { .. } => "wcmp",
            Self::WcmpScoring { .. } => "wcmp-scoring",
            Self::Intervals => "intervals",
            Self::Valo => "valo",
            Self::Scoring => "scoring",
            Self::Turns { .. } => "turns",
            Self::Deficit => "deficit",
            Self::ShortestQueue { .. } => "shortest-queue",
        }
    }

    /// Every table with the defaults of its parameters, in the order of the reference page.
    pub const ALL: [Self; 10] = [
        Self::Uniform,
        Self::MinMove,
        Self::Wcmp { entries: WCMP_ENTRIES },
        Self::WcmpScoring { entries: WCMP_ENTRIES },
        Self::Intervals,
        Self::Valo,
        Self::Scoring,
        Self::SMOOTH,
        Self::Deficit,
        Self::DRILL,
    ];

    /// Whether picks depend on the hash ([`crate::Planned::HASHES`]).
    const fn hashes(self) -> bool {
        match self {
            Self::Uniform => <Uniform as Planned>::HASHES,
            Self::MinMove => MinMove::HASHES,
            Self::Wcmp { .. } => Wcmp::HASHES,
            Self::WcmpScoring { .. } | Self::Scoring => <Score16 as Planned>::HASHES,
            Self::Intervals => HashIntervals::HASHES,
            Self::Valo => <Score as Planned>::HASHES,
            Self::Turns { .. } => <Cycle as Planned>::HASHES,
            Self::Deficit => Deficit::HASHES,
            Self::ShortestQueue { .. } => ShortestQueue::HASHES,
        }
    }

    /// Bits of [`capability`] that the table takes.
    fn needs(self) -> u32 {
        match self {
            Self::Uniform => <Uniform>::NEEDS,
            Self::MinMove => MinMove::NEEDS,
            Self::Wcmp { .. } => Wcmp::NEEDS,
            Self::WcmpScoring { .. } | Self::Scoring => Score16::NEEDS,
            Self::Intervals => HashIntervals::NEEDS,
            Self::Valo => <Score>::NEEDS,
            Self::Turns { .. } => <Cycle>::NEEDS,
            Self::Deficit => Deficit::NEEDS,
            Self::ShortestQueue { .. } => ShortestQueue::NEEDS,
        }
    }
}

impl Balancing {
    /// Whether switches choose by a hash of header fields alone, so that they can be configured to one
    /// ([`anabranch_sim::SwitchHash`]).
    #[must_use]
    pub fn hashes_headers(&self) -> bool {
        self.scheme.is_tables() && self.granularity == Granularity::Flow && self.table.hashes()
    }

    /// Bits of [`capability`] that this choice takes.
    #[must_use]
    pub fn needs(&self) -> u32 {
        self.scheme.get().map_or(0, LoadBalancer::needs) | self.granularity.needs() | self.table.needs()
    }
}
