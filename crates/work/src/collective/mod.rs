//! Collectives by name, expanded into messages.
//!
//! Sizes are those of nccl-tests: the whole vector of an all-reduce, a reduce or a broadcast, all parts together of an
//! all-gather, a reduce-scatter, a gather or a scatter, what one rank holds for an all-to-all; of a barrier, each message.

mod all_to_all;
mod barrier;
mod double_tree;
mod expand;
mod expansion;
mod halving_doubling;
mod hierarchical;
mod ring;
mod steps;
mod tree;

pub use expand::{expand, expand_with_moves};
pub use expansion::Move;
pub use steps::steps;

use crate::Part;

/// Result of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Every rank gets the sum of all vectors.
    AllReduce,
    /// Every rank gets all parts.
    AllGather,
    /// Every rank gets one part of the sum.
    ReduceScatter,
    /// Every rank gets the vector of the first.
    Broadcast,
    /// Every rank sends a block to each other.
    AllToAll,
    /// The first rank gets the sum of all vectors.
    Reduce,
    /// The first rank gets all parts.
    Gather,
    /// Every rank gets one part of the first's vector.
    Scatter,
    /// No rank goes on before all have come.
    Barrier,
}

/// Way of coming to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Parts travel around a ring (Patarasuk and Yuan, JPDC 2009); a broadcast along a chain.
    Ring,
    /// Recursive halving of the vector, then recursive doubling (Thakur, Rabenseifner, Gropp, IJHPCA 2005).
    HalvingDoubling,
    /// Two binary trees, each for half of the vector; the leaves of one are inner nodes of the other (Sanders, Speck,
    /// Träff, Parallel Computing 2009).
    DoubleTree,
    /// Reduce-scatter within groups, all-reduce across them, all-gather within.
    Hierarchical,
    /// Binomial tree.
    Tree,
    /// Every block straight to its rank, all at once.
    Direct,
    /// Every block straight to its rank, one partner after the other.
    Pairwise,
    /// In round k to the rank 2^k further (Hensgen, Finkel, Manber, International Journal of Parallel Programming 1988).
    Dissemination,
}

impl Kind {
    /// All kinds; a name that another begins with stands after it.
    pub const ALL: [Self; 9] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::Broadcast,
        Self::AllToAll,
        Self::Reduce,
        Self::Gather,
        Self::Scatter,
        Self::Barrier,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all-to-all",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Barrier => "barrier",
        }
    }

    /// Kind of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Algorithms for it, the usual one first.
    #[must_use]
    pub fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{
            Direct, Dissemination, DoubleTree, HalvingDoubling, Hierarchical, Pairwise, Ring, Tree,
        };
        match self {
            Self::AllReduce => &[Ring, HalvingDoubling, DoubleTree, Hierarchical],
            Self::AllGather | Self::ReduceScatter => &[Ring, HalvingDoubling, Direct],
            Self::Broadcast => &[Tree, Ring],
            Self::AllToAll => &[Direct, Pairwise, Ring],
            Self::Reduce => &[Tree],
            Self::Gather | Self::Scatter => &[Direct],
            Self::Barrier => &[Dissemination],
        }
    }

    /// Factor from algorithm to bus bandwidth, as a fraction (nccl-tests, `doc/PERFORMANCE.md`).
    #[must_use]
    pub fn bus_factor(self, ranks: u32) -> (u32, u32) {
        match self {
            Self::AllReduce => (2 * (ranks - 1), ranks),
            Self::AllGather | Self::ReduceScatter | Self::AllToAll | Self::Gather | Self::Scatter => {
                (ranks - 1, ranks)
            }
            Self::Broadcast | Self::Reduce => (1, 1),
            // No data, no bandwidth.
            Self::Barrier => (0, 1),
        }
    }
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 8] = [
        Self::Ring,
        Self::HalvingDoubling,
        Self::DoubleTree,
        Self::Hierarchical,
        Self::Tree,
        Self::Direct,
        Self::Pairwise,
        Self::Dissemination,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::HalvingDoubling => "halving-doubling",
            Self::DoubleTree => "double-tree",
            Self::Hierarchical => "hierarchical",
            Self::Tree => "tree",
            Self::Direct => "direct",
            Self::Pairwise => "pairwise",
            Self::Dissemination => "dissemination",
        }
    }

    /// Algorithm of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// A collective and its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Result.
    pub kind: Kind,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Size, as nccl-tests states it.
    pub bytes: u64,
    /// Parts that go their ways side by side; every other ring runs backwards.
    pub channels: u32,
    /// Pieces of each part that follow each other, one after the other on each way.
    pub segments: u32,
    /// Ranks of a group, for [`Algorithm::Hierarchical`].
    pub group: u32,
    /// Time that summing takes, in picoseconds per byte.
    pub reduce_ps_per_byte: f64,
    /// Sizes of the blocks of an all-to-all by source and destination, row by row, where they differ; 0 is no message.
    pub blocks: Option<Vec<u64>>,
}

impl Collective {
    /// A collective in one channel and one segment, in which summing takes no time.
    #[must_use]
    pub fn new(kind: Kind, algorithm: Algorithm, bytes: u64) -> Self {
        Self {
            kind,
            algorithm,
            bytes,
            channels: 1,
            segments: 1,
            group: 1,
            reduce_ps_per_byte: 0.0,
            blocks: None,
        }
    }

    /// Part of a graph that it is, of so many ranks.
    #[must_use]
    pub fn part(&self, step: u32, ranks: u32) -> Part {
        let name = format!("{} {}", self.kind.name(), self.algorithm.name());
        Part { step, name, bytes: self.bytes, ranks, bus: (ranks > 0).then(|| self.kind.bus_factor(ranks)) }
    }
}
