//! Workloads of AICB (`.txt`): a step of training, layer by layer, which all ranks do alike.
//!
//! The first line names how layers depend on each other and the sizes of the groups, the second one the number of layers;
//! then each has its name, a number without use, three times a time, a collective and its size (forward, input gradients,
//! weight gradients), and the time that follows each collective. Written by aliyun/aicb, read by aliyun/SimAI
//! (`astra-sim/workload/Workload.cc`, `initialize_workload`); ASTRA-sim 1.0 had the same files without groups of experts.
//! Times are nanoseconds, sizes those of nccl-tests, as SimAI computes with them (`Layer.cc`, `compute_time`).

mod groups;
mod header;
mod layer;
mod schedule;

use crate::{Graph, WorkError};

/// Reads a workload. `ranks` is the number of ranks, where the file does not say it.
///
/// # Errors
/// The first line at fault.
pub fn read(text: &str, file: &str, ranks: Option<u32>) -> Result<Graph, WorkError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let (number, line) = lines
        .next()
        .ok_or_else(|| WorkError::at_line(file, 1, "an empty file", "give a workload of AICB or SimAI"))?;
    let header = header::read(line, (file, number), ranks)?;
    let layers = layer::read_all(lines, file)?;
    header.check_layers(layers.len(), (file, number))?;
    schedule::graph(&header, &layers, file)
}
