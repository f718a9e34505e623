//! Workload graphs from Python: read, checked, described, timed by LogGOPS.

use crate::error::AnabranchError;
use anabranch_work::chakra::read_ranks;
use anabranch_work::loggops::{LogGops, end_times_ns};
use anabranch_work::read::{Format, read_bytes};
use anabranch_work::{Graph, WorkError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Ranks, nodes, messages, bytes of all messages, warnings.
type Described = (u32, usize, u64, u64, Vec<String>);

/// Describes the graph of a file, with its end times under LogGOPS if parameters are given; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (file, size_bytes, loggops=None))]
pub(crate) fn describe_work(
    py: Python<'_>,
    file: PathBuf,
    size_bytes: u64,
    loggops: Option<[u64; 6]>,
) -> PyResult<(Described, Option<Vec<u64>>)> {
    let described = py.detach(|| {
        let graph = read(&file.display().to_string(), size_bytes)?;
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

/// Reads a file, or those of all ranks of a Chakra trace.
fn read(name: &str, size_bytes: u64) -> Result<Graph, WorkError> {
    let format = Format::of_name(name)?;
    let unreadable =
        |error: std::io::Error| WorkError::new(name, error.to_string(), "give a file that can be read");
    let contents = if format == Format::Chakra {
        read_ranks(Path::new(""), name)?
    } else {
        vec![(name.to_owned(), std::fs::read(name).map_err(unreadable)?)]
    };
    read_bytes(&contents, format, size_bytes)
}
