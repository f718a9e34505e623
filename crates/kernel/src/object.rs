//! Names and compiled objects of the programs.

/// One of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A table of 4,096 slots.
    Slots,
    /// A table of 65,536 slots.
    SlotsLarge,
    /// Scoring; with gravities VALO.
    Score,
    /// Logarithmic rendezvous.
    Rendezvous,
    /// Slots at random for each packet.
    Spray,
    /// Slots at random for each flowlet.
    Flowlet,
    /// A dispatching cycle with one counter on each processor.
    Cycle,
    /// A dispatching cycle with a counter for each flow.
    FlowCycle,
    /// Flowcells over a list of paths.
    Presto,
}

impl Object {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Slots,
        Self::SlotsLarge,
        Self::Score,
        Self::Rendezvous,
        Self::Spray,
        Self::Flowlet,
        Self::Cycle,
        Self::FlowCycle,
        Self::Presto,
    ];

    /// The program's name in its object.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::SlotsLarge => "slots_large",
            Self::Score => "score",
            Self::Rendezvous => "rendezvous",
            Self::Spray => "spray",
            Self::Flowlet => "flowlet",
            Self::Cycle => "cycle",
            Self::FlowCycle => "flow_cycle",
            Self::Presto => "presto",
        }
    }

    /// Whether its plans are tables of slots, which have a home.
    #[must_use]
    pub fn has_slots(self) -> bool {
        matches!(self, Self::Slots | Self::SlotsLarge | Self::Spray | Self::Flowlet)
    }

    /// The program, as `ebpf/build` compiled it.
    #[must_use]
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Slots => include_bytes!("../objects/slots"),
            Self::SlotsLarge => include_bytes!("../objects/slots_large"),
            Self::Score => include_bytes!("../objects/score"),
            Self::Rendezvous => include_bytes!("../objects/rendezvous"),
            Self::Spray => include_bytes!("../objects/spray"),
            Self::Flowlet => include_bytes!("../objects/flowlet"),
            Self::Cycle => include_bytes!("../objects/cycle"),
            Self::FlowCycle => include_bytes!("../objects/flow_cycle"),
            Self::Presto => include_bytes!("../objects/presto"),
        }
    }
}
