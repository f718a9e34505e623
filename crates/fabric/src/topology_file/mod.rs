//! Topologies that other programs wrote: GraphML, topologies of ns-3's RDMA simulators, and those of htsim.

mod attribute_graph;
mod attributes;
pub mod graphml;
pub mod htsim;
mod lines;
pub mod ns3;
mod pairing;
mod rates;

pub use attribute_graph::{AttributeEdge, AttributeGraph, AttributeNode, Attributes};
pub use rates::{DELAY_NAMES, RATE_NAMES};

use crate::Graph;
use crate::topology::LinkSettings;

/// Error in a topology file: its position, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {problem}; {hint}", line.map(|n| format!(":{n}")).unwrap_or_default())]
pub struct TopologyFileError {
    /// File, as the user named it.
    pub file: String,
    /// Line, counted from one; `None` if the fault is not in a single line.
    pub line: Option<u32>,
    /// Element and value at fault.
    pub problem: String,
    /// Values that would work.
    pub hint: String,
}

/// Program that writes such files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GraphML, of networkx, igraph, FNSS and the Topology Zoo.
    GraphMl,
    /// `topology.txt` of ns-3's RDMA simulators.
    Ns3,
    /// `.topo` of htsim.
    Htsim,
}

/// Topology as a file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyFile {
    /// Nodes and links.
    pub graph: Graph,
    /// Links that lose frames in both directions, by their index, each with the probability.
    pub losses: Vec<(u32, f64)>,
    /// What the file says and nothing reads.
    pub warnings: Vec<String>,
}

impl Format {
    /// Reads the topology that `text` describes; errors name the file `file`. Links have the settings of `defaults` where the
    /// file gives no others.
    ///
    /// # Errors
    /// Refuses what the format's reader does not understand, by its line.
    pub fn parse(
        self,
        text: &str,
        file: &str,
        defaults: &LinkSettings,
    ) -> Result<TopologyFile, TopologyFileError> {
        match self {
            Self::GraphMl => graphml::parse(text, file, defaults),
            Self::Ns3 => ns3::parse(text, file, defaults),
            Self::Htsim => htsim::parse(text, file, defaults),
        }
    }
}

/// Reads a graph that something else than a reader of this crate took from `file`; positions in it are lines, and 0 is
/// none.
///
/// # Errors
/// Refuses attributes that are not understood, edges to nodes that do not exist and a directed edge without one back.
pub fn understand(
    graph: &AttributeGraph<'_>,
    file: &str,
    defaults: &LinkSettings,
) -> Result<TopologyFile, TopologyFileError> {
    let (graph, warnings) = graph.understand(defaults).map_err(|fault| fault.in_file(file))?;
    Ok(TopologyFile { graph, losses: Vec::new(), warnings })
}

/// Fault and the position at which it was found: a byte of the text or a line, which the reader knows.
struct Fault {
    at: Option<usize>,
    problem: String,
    hint: String,
}

impl Fault {
    fn new(at: usize, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at: Some(at), problem: problem.into(), hint: hint.into() }
    }

    /// Makes it an error whose position is a line, of which 0 is none.
    fn in_file(self, file: &str) -> TopologyFileError {
        let line = self.at.filter(|&at| at > 0).map(|at| at as u32);
        TopologyFileError { file: file.to_owned(), line, problem: self.problem, hint: self.hint }
    }
}
