//! Registry entries of load balancers that are a granularity, weights and a table.

use crate::choice::Table;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, KernelProgram, Runs};
use crate::granularity::Granularity;

/// Entries of a WCMP table where none are given: a group of sixteen members fits with room for weights.
pub const WCMP_ENTRIES: u32 = 64;
const EVERY_QUEUE: Table = Table::ShortestQueue { samples: u16::MAX, memory: 0 };
/// Longest pause within a flowlet in the kernel: LetFlow's, at 10 Gbit/s (NSDI 2017).
const PAUSE_NS: u64 = 500_000;
const FLOW: Granularity = Granularity::Flow;
const FLOWLET: Granularity = Granularity::FLOWLET;
const FLOWCELL: Granularity = Granularity::FLOWCELL;
const PACKET: Granularity = Granularity::Packet;

const PROGRAM: KernelProgram =
    KernelProgram { programs: &[], unit: "flow", weighted: true, pause_ns: None, output: "" };
const FLOWLETS: KernelProgram =
    KernelProgram { programs: &["flowlet"], unit: "flowlet", pause_ns: Some(PAUSE_NS), ..PROGRAM };
const SPRAY: KernelProgram = KernelProgram { programs: &["spray"], unit: "packet", ..PROGRAM };
const CYCLE: KernelProgram = KernelProgram { programs: &["cycle"], unit: "turn", ..PROGRAM };

const fn slots(weighted: bool) -> KernelProgram {
    KernelProgram { programs: &["slots", "slots_large"], weighted, ..PROGRAM }
}

const fn score(weighted: bool) -> KernelProgram {
    KernelProgram { programs: &["score"], weighted, ..PROGRAM }
}

/// All of them, in the order in which they are listed.
pub static TABLES: [Descriptor; 16] = [
    Descriptor {
        name: "ecmp",
        page: include_str!("ecmp.md"),
        weights: DefaultWeights::Equal,
        runs: Runs {
            technique: None,
            open_vswitch: Some("hash"),
            linux: true,
            kernel: Some(slots(false)),
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::Uniform)
    },
    Descriptor {
        name: "random",
        page: include_str!("ecmp.md"),
        weights: DefaultWeights::Equal,
        runs: Runs {
            technique: Some("random"),
            open_vswitch: Some("hash-gravity"),
            linux: false,
            kernel: Some(score(false)),
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::Valo)
    },
    Descriptor {
        name: "weighted",
        page: include_str!("weighted.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs {
            technique: Some("min-move"),
            open_vswitch: Some("multipath"),
            linux: true,
            kernel: Some(slots(true)),
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::MinMove)
    },
    Descriptor {
        name: "weighted-random",
        page: include_str!("weighted-random.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs {
            technique: Some("weighted-random"),
            open_vswitch: Some("hash-gravity"),
            linux: false,
            kernel: Some(score(true)),
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::Intervals)
    },
    Descriptor {
        name: "wrr",
        page: include_str!("wrr.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs {
            technique: Some("wrr"),
            open_vswitch: None,
            linux: false,
            kernel: None,
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::Turns { block: true })
    },
    Descriptor {
        name: "wcmp",
        page: include_str!("wcmp.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs {
            technique: Some("wcmp"),
            open_vswitch: Some("multipath"),
            linux: true,
            kernel: Some(slots(true)),
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::Wcmp { entries: WCMP_ENTRIES })
    },
    Descriptor {
        name: "scoring",
        page: include_str!("scoring.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs {
            technique: Some("scoring"),
            open_vswitch: Some("hash"),
            linux: false,
            kernel: Some(score(true)),
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::Scoring)
    },
    Descriptor {
        name: "valo",
        page: include_str!("valo.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs {
            technique: Some("valo"),
            open_vswitch: Some("hash-gravity"),
            linux: false,
            kernel: Some(score(true)),
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::Valo)
    },
    Descriptor {
        name: "deficit",
        page: include_str!("deficit.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs {
            technique: Some("deficit"),
            open_vswitch: None,
            linux: false,
            kernel: None,
            ..Runs::SIMULATOR
        },
        ..row(FLOW, Table::Deficit)
    },
    Descriptor {
        name: "letflow",
        page: include_str!("letflow.md"),
        weights: DefaultWeights::Equal,
        runs: Runs {
            technique: None,
            open_vswitch: None,
            linux: false,
            kernel: Some(FLOWLETS),
            ..Runs::SIMULATOR
        },
        ..row(FLOWLET, Table::Uniform)
    },
    Descriptor {
        name: "flowcell",
        page: include_str!("flowcell.md"),
        weights: DefaultWeights::Equal,
        runs: Runs { technique: None, open_vswitch: None, linux: false, kernel: None, ..Runs::SIMULATOR },
        ..row(FLOWCELL, Table::Uniform)
    },
    Descriptor {
        name: "local-sampling",
        page: include_str!("local-sampling.md"),
        weights: DefaultWeights::Equal,
        runs: Runs { technique: None, open_vswitch: None, linux: false, kernel: None, ..Runs::SIMULATOR },
        ..row(FLOWCELL, EVERY_QUEUE)
    },
    Descriptor {
        name: "spray",
        page: include_str!("spray.md"),
        weights: DefaultWeights::Equal,
        runs: Runs {
            technique: None,
            open_vswitch: None,
            linux: false,
            kernel: Some(SPRAY),
            ..Runs::SIMULATOR
        },
        ..row(PACKET, Table::Uniform)
    },
    Descriptor {
        name: "weighted-spray",
        page: include_str!("spray.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs {
            technique: None,
            open_vswitch: None,
            linux: false,
            kernel: Some(CYCLE),
            ..Runs::SIMULATOR
        },
        ..row(PACKET, Table::SMOOTH)
    },
    Descriptor {
        name: "drill",
        page: include_str!("drill.md"),
        weights: DefaultWeights::Equal,
        runs: Runs { technique: None, open_vswitch: None, linux: false, kernel: None, ..Runs::SIMULATOR },
        ..row(PACKET, Table::DRILL)
    },
    Descriptor {
        name: "weighted-drill",
        page: include_str!("drill.md"),
        weights: DefaultWeights::Capacity,
        runs: Runs { technique: None, open_vswitch: None, linux: false, kernel: None, ..Runs::SIMULATOR },
        ..row(PACKET, Table::DRILL)
    },
];

const fn row(granularity: Granularity, table: Table) -> Descriptor {
    Descriptor {
        name: "",
        granularity: granularity.name(),
        decider: Decider::Switches,
        page: "",
        weights: DefaultWeights::Equal,
        build: Build::Tables(granularity, table),
        runs: Runs::SIMULATOR,
        reads_elsewhere: None,
    }
}
