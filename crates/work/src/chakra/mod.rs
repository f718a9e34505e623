//! Chakra execution traces (MLCommons, `et_def.proto`): one file a rank, messages behind their lengths.

mod compute;
mod group_files;
mod groups;
mod meetings;
mod rank;
mod rank_files;
mod trace;
mod wire;

pub use group_files::read_groups;
pub use groups::Groups;
pub use rank_files::read_ranks;
pub use trace::{Attribute, Kind, Metadata, Setting, Trace, TraceNode};

use crate::{Accelerator, Builder, Graph, Part, WorkError};
use groups::Directory;
use meetings::Meetings;
use rank::Untimed;

/// Facts about a job that its traces leave out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Ranks of communicator groups.
    pub groups: Groups,
    /// Sizes of the dimensions that `involved_dim` speaks of, the first that of neighbouring ranks; empty if unknown.
    pub dimensions: Vec<u32>,
    /// Speed of what computes; none if all nodes have durations.
    pub accelerator: Option<Accelerator>,
}

/// Makes one graph of the traces of all ranks: their files in their order, each with the name that errors state. One trace
/// is in memory at a time. The k-th collectives that ranks of a group ask for are
/// one; they are expanded by their usual algorithm, from or to the rank that `root` names. Nodes that neither communicate
/// nor take time pass at once; the graph warns of those that compute, load or store for no time, and of groups whose ranks
/// nothing lists.
///
/// # Errors
/// The first byte or node at fault, with its file, and the first rank without a trace.
pub fn graph(files: &[(String, Vec<u8>)], context: &Context) -> Result<Graph, WorkError> {
    let file = files.first().map_or("Chakra trace", |(name, _)| name);
    let ranks = files.len() as u32;
    let mut builder = Builder::new(file, ranks)?;
    builder.begin_part(Part { step: 0, name: "trace".to_owned(), bytes: 0, ranks, bus: None });
    let mut directory = Directory::new(context, file, ranks)?;
    let mut meetings = Meetings::default();
    let mut untimed = Untimed::default();
    for (number, (name, content)) in (0..).zip(files) {
        let trace = &Trace::read(content, name)?;
        let rank = rank::Rank { number, trace, own_groups: directory.own_groups(trace)? };
        rank.add(&mut builder, &mut directory, &mut meetings, &mut untimed)?;
    }
    untimed.warn(&mut builder);
    meetings.expand(&mut builder, &directory)?;
    Ok(builder.finish())
}
