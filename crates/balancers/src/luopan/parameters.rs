//! Settings of Luopan, of its omniscient ideal and of random paths.

use crate::luopan::pick as luopan;
use crate::luopan::pick::probe;
use anabranch_split::picks::Flowcell;

/// Flowcells at a source leaf, which remembers where each went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Payload of a flowcell, in bytes.
    pub bytes: u64,
    /// Pause after which a flow is forgotten, in nanoseconds.
    pub idle_ns: u64,
}

impl Default for Cells {
    /// Luopan, section 3.2.
    fn default() -> Self {
        Self { bytes: Flowcell::BYTES.into(), idle_ns: 1_000_000 }
    }
}

/// In what paths are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Metric {
    /// Bytes that wait at all ports together.
    #[default]
    Bytes,
    /// The same in seven bits, in steps such that full buffers along the longest path fit.
    SevenBits,
    /// Thousandths of the busiest link's capacity, over the expiry.
    Utilisation,
}

/// How samples come to the source leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Probing {
    /// By packets, which travel and wait as all others.
    #[default]
    Packets,
    /// By probes that every port serves first: they travel as long as in an empty fabric, and take no room.
    Express,
    /// At once when a flowcell begins and the samples before have expired, as in no fabric: a yardstick for their age.
    Instant,
}

/// Luopan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Luopan {
    /// Unit that follows one path.
    pub cells: Cells,
    /// How paths are sampled; the steps of the metric are the fabric's.
    pub sampling: luopan::Parameters,
    /// In what paths are compared.
    pub metric: Metric,
    /// How samples come to the source leaf.
    pub probing: Probing,
    /// A probe's frame, in bytes.
    pub probe_bytes: u16,
}

impl Default for Luopan {
    fn default() -> Self {
        Self {
            cells: Cells::default(),
            sampling: luopan::Parameters::default(),
            metric: Metric::default(),
            probing: Probing::default(),
            probe_bytes: probe::FRAME_BYTES,
        }
    }
}
