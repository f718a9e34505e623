//! Unit of traffic that is kept on one path.

use anabranch_split::capability;
use anabranch_split::picks::byte_deficit::Boundary;
use anabranch_split::picks::flowcell::Numbered;
use anabranch_split::picks::{Flowcell, Flowlet};

/// Unit of traffic that is kept on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// All packets of a flow.
    Flow,
    /// Packets of a flow without a pause between them (LetFlow, NSDI 2017).
    Flowlet {
        /// Longest pause within a flowlet, in nanoseconds.
        gap_ns: u64,
    },
    /// A number of consecutive bytes of a flow (Presto, SIGCOMM 2015).
    Flowcell {
        /// Payload of a flowcell, in bytes.
        bytes: u64,
    },
    /// Each packet by itself: spraying.
    Packet,
}

impl Granularity {
    /// Flowlets with the default gap.
    pub const FLOWLET: Self = Self::Flowlet { gap_ns: Flowlet::GAP_NS };
    /// Flowcells of the default size.
    pub const FLOWCELL: Self = Self::Flowcell { bytes: Flowcell::BYTES as u64 };
    /// Every granularity with the defaults of its parameters.
    pub const ALL: [Self; 4] = [Self::Flow, Self::FLOWLET, Self::FLOWCELL, Self::Packet];

    /// Unit in a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Flowlet { .. } => "flowlet",
            Self::Flowcell { .. } => "flowcell",
            Self::Packet => "packet",
        }
    }

    /// Bits of [`capability`] that keeping such units together takes.
    pub(crate) const fn needs(self) -> u32 {
        match self {
            Self::Flowlet { .. } => Flowlet::NEEDS | capability::RANDOM,
            Self::Flowcell { .. } => Numbered::NEEDS | capability::RANDOM,
            Self::Packet => capability::RANDOM,
            Self::Flow => 0,
        }
    }
}
