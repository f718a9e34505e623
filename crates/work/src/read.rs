//! Files of all formats.

use crate::chakra::{self, Context};
use crate::connection_matrix::StartUnit;
use crate::msccl::{self, Buffer};
use crate::{Graph, WorkError, aicb, connection_matrix, goal};

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GOAL as text.
    Goal,
    /// GOAL as `txt2bin` writes it.
    GoalBinary,
    /// Chakra execution traces, one file a rank.
    Chakra,
    /// MSCCL algorithms.
    Msccl,
    /// Connection matrices of htsim.
    Matrix,
    /// Workloads of AICB, which SimAI reads.
    Aicb,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] =
        [Self::Goal, Self::GoalBinary, Self::Chakra, Self::Msccl, Self::Matrix, Self::Aicb];

    /// Endings of names.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Goal => &[".goal"],
            Self::GoalBinary => &[".bin"],
            Self::Chakra => &[".et"],
            Self::Msccl => &[".xml"],
            Self::Matrix => &[".cm", ".tm"],
            Self::Aicb => &[".txt"],
        }
    }

    /// Format of a file, by the end of its name.
    ///
    /// # Errors
    /// A name with another ending.
    pub fn of_name(name: &str) -> Result<Self, WorkError> {
        let found =
            Self::ALL.into_iter().find(|format| format.endings().iter().any(|end| name.ends_with(end)));
        found.ok_or_else(|| {
            let endings: Vec<&str> = Self::ALL.iter().flat_map(|format| format.endings()).copied().collect();
            let hint = format!("name a file that ends in one of {}", endings.join(", "));
            WorkError::new(name, "this is no workload graph by its name", hint)
        })
    }
}

/// Meaning of what files leave open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Buffer that an MSCCL algorithm divides into chunks, and bytes of a connection of htsim that has no end.
    pub bytes: u64,
    /// Facts that Chakra traces leave out.
    pub traces: Context,
    /// Unit of starts in a matrix of htsim.
    pub start_unit: Option<StartUnit>,
    /// Number of ranks, for workloads of AICB that do not state it.
    pub ranks: Option<u32>,
}

/// Reads a graph from the files of all ranks, or the only one, each with the name that errors state.
///
/// # Errors
/// The first place at fault. Whether the graph can end is for [`Graph::check`] to say.
pub fn read_bytes(
    files: &[(String, Vec<u8>)],
    format: Format,
    settings: &Settings,
) -> Result<Graph, WorkError> {
    let &Settings { bytes, start_unit, .. } = settings;
    let Some((name, content)) = files.first() else {
        return Err(WorkError::new("workload graph", "no file", "name a file"));
    };
    let text = || {
        std::str::from_utf8(content).map_err(|error| {
            WorkError::at_byte(name, error.valid_up_to(), "this is no text in UTF-8", "give a text file")
        })
    };
    match format {
        Format::Goal => goal::read_text(text()?, name),
        Format::GoalBinary => goal::read_binary(content, name),
        Format::Chakra => chakra::graph(files, &settings.traces),
        Format::Msccl => msccl::read(text()?, name, Buffer { bytes, reduce_ps_per_byte: 0.0 }),
        Format::Matrix => {
            let settings = connection_matrix::Settings { start_unit, endless_bytes: bytes };
            connection_matrix::read(text()?, name, settings)
        }
        Format::Aicb => aicb::read(text()?, name, settings.ranks),
    }
}
