//! How a switch spreads what it forwards: three choices that combine freely.

/// The whole choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Balancing {
    /// What is kept together.
    pub granularity: Granularity,
    /// Where the weights of a group come from.
    pub weighing: Weighing,
    /// How weights become picks.
    pub table: Table,
}

/// What is kept on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// All packets of a flow.
    Flow,
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
    /// Gravity weights under scoring (VALO).
    Valo,
    /// Scoring by the weights themselves, as Open vSwitch's `selection_method=hash` does.
    Scoring,
    /// Each next hop in turn by smooth weighted round robin; per packet only.
    Turns,
}
