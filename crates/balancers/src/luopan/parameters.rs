//! Settings of Luopan and of its omniscient ideal.

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

/// In what backlogs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Metric {
    /// Bytes.
    #[default]
    Bytes,
    /// Seven bits, in steps such that full buffers along the longest path fit.
    SevenBits,
}

/// Luopan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Luopan {
    /// Unit that follows one path.
    pub cells: Cells,
    /// How paths are sampled; the steps of the metric are the fabric's.
    pub sampling: luopan::Parameters,
    /// In what backlogs are compared.
    pub metric: Metric,
    /// A probe's frame, in bytes.
    pub probe_bytes: u16,
}

impl Default for Luopan {
    fn default() -> Self {
        Self {
            cells: Cells::default(),
            sampling: luopan::Parameters::default(),
            metric: Metric::default(),
            probe_bytes: probe::FRAME_BYTES,
        }
    }
}
