//! Workload graphs from Python: read, checked, described, timed by LogGOPS.

use crate::error::AnabranchError;
use anabranch_work::Accelerator;
use anabranch_work::chakra::{Context, Groups, read_groups, read_ranks};
use anabranch_work::loggops::{LogGops, end_times_ns};
use anabranch_work::read::{Format, Settings, read_bytes};
use anabranch_work::{Graph, WorkError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Ranks, nodes, messages, bytes of all messages, warnings.
type Described = (u32, usize, u64, u64, Vec<String>);

/// Describes the graph of a file, with its end times under LogGOPS if parameters are given; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (file, size_bytes, loggops=None, groups=None, dimensions=Vec::new(), accelerator=None))]
pub(crate) fn describe_work(
    py: Python<'_>,
    file: PathBuf,
    size_bytes: u64,
    loggops: Option<[u64; 6]>,
    groups: Option<PathBuf>,
    dimensions: Vec<u32>,
    accelerator: Option<(u64, u64)>,
) -> PyResult<(Described, Option<Vec<u64>>)> {
    let accelerator =
        accelerator.map(|(flops, memory_bytes_per_s)| Accelerator { flops, memory_bytes_per_s });
    let traces = Context { groups: Groups::default(), dimensions, accelerator };
    let groups = groups.map(|groups| groups.display().to_string());
    let described = py.detach(|| {
        let settings = Settings { bytes: size_bytes, traces, start_unit: None, ranks: None };
        let graph = read(&file.display().to_string(), groups, settings)?;
        graph.check()?;
        let (messages, bytes) = graph.messages();
        let ends = loggops.map(
            |[latency_ns, overhead_ns, gap_ns, gap_ns_per_byte, overhead_ns_per_byte, eager_bytes]| {
                let model = LogGops {
                    latency_ns,
                    overhead_ns,
                    gap_ns,
                    gap_ns_per_byte,
                    overhead_ns_per_byte,
                    eager_bytes,
                };
                end_times_ns(&graph, model)
            },
        );
        Ok((
            (graph.ranks(), graph.nodes().len(), messages, bytes, graph.warnings().to_vec()),
            ends.transpose()?,
        ))
    });
    described.map_err(|error: WorkError| AnabranchError::new_err(error.to_string()))
}

/// Reads a file, or those of all ranks of a Chakra trace with the groups that `groups` names or that are beside it.
fn read(name: &str, groups: Option<String>, mut settings: Settings) -> Result<Graph, WorkError> {
    let format = Format::of_name(name)?;
    let content = |name: &str| {
        std::fs::read(name)
            .map_err(|error| WorkError::new(name, error.to_string(), "give a file that can be read"))
    };
    let contents = if format == Format::Chakra {
        let contents = read_ranks(Path::new(""), name)?;
        let groups = match groups {
            Some(groups) => Some((groups.clone(), content(&groups)?)),
            None => read_groups(Path::new(""), name)?,
        };
        if let Some((name, content)) = groups {
            settings.traces.groups = Groups::read(&content, &name)?;
        }
        contents
    } else {
        vec![(name.to_owned(), content(name)?)]
    };
    read_bytes(&contents, format, &settings)
}
