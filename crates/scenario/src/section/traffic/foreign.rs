//! Keys of a graph's file for what the formats of other programs leave open.

use anabranch_form::Form;
use anabranch_form::unit::{Choice, Count, MemoryRate, OneOrMore, Operations, Text};
use anabranch_work::Accelerator;
use anabranch_work::connection_matrix::StartUnit;
use anabranch_work::read::Format;

pub(super) const MANY: Count = Count { least: 1, most: 1 << 20 };
const START_UNITS: [&str; 2] = ["us", "ps"];

/// What Chakra traces leave out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSetting {
    /// File of communicator groups; where none is named, the one beside the traces.
    pub groups: Option<String>,
    /// Sizes of the ranks' dimensions.
    pub dimensions: Option<Vec<u32>>,
    /// Speed of what computes.
    pub accelerator: Option<Accelerator>,
}

/// Keys of Chakra traces; a step of training shares their accelerator.
pub(super) fn visit_traces(
    form: &mut impl Form,
    traces: &mut TraceSetting,
    trains: bool,
    path: Option<&str>,
) {
    form.optional(
        "groups",
        Text { wants: "the name of a file, relative to the scenario's" },
        &mut traces.groups,
        "Ranks of a Chakra trace's communicator groups by name (`pg_name`, `comm_group`), as JSON: \
         `{\"0\": [0, 1], \"1\": [2, 3]}`. Default: `comm_group.json` or `NAME.json` beside the traces, or what PyTorch noted in \
         them; else the ranks that name a group are its ranks, and a warning says so.",
    );
    form.optional(
        "dimensions",
        OneOrMore(MANY),
        &mut traces.dimensions,
        "Sizes of the dimensions that `involved_dim` of a Chakra trace speaks of, the first that of neighbouring ranks; their \
         product is the number of ranks. Default: only collectives of all dimensions are taken.",
    );
    form.optional_table(
        "accelerator",
        &mut traces.accelerator,
        "Accelerator of each rank, for `training` and for nodes of a Chakra trace that state no duration.",
        || Accelerator { flops: 0, memory_bytes_per_s: 0 },
        |form, accelerator| {
            form.required("flops", Operations, &mut accelerator.flops, "Operations per second: a node takes `num_ops` / `flops` or `tensor_size` / `memory_bandwidth`, whichever is longer.");
            let meaning = "Bytes per second between the accelerator and its memory.";
            form.required("memory_bandwidth", MemoryRate, &mut accelerator.memory_bytes_per_s, meaning);
        },
    );
    let given = [
        ("groups", traces.groups.is_some()),
        ("dimensions", traces.dimensions.is_some()),
        ("accelerator", traces.accelerator.is_some()),
    ];
    let chakra = path.is_some_and(|path| Format::of_name(path) == Ok(Format::Chakra));
    if trains && traces.accelerator.is_none() {
        let hint = "give `accelerator = { flops, memory_bandwidth }`".to_owned();
        form.refuse("accelerator", "training computes, and nothing says how fast".to_owned(), hint);
    }
    let has_use = |key: &str| chakra || trains && key == "accelerator";
    for (key, _) in given.into_iter().filter(|&(key, given)| given && !has_use(key)) {
        form.refuse(
            key,
            "this is no Chakra trace".to_owned(),
            "leave it out, or name a `file` that ends in .et".to_owned(),
        );
    }
}

/// Keys of connection matrices.
pub(super) fn visit_starts(form: &mut impl Form, start_unit: &mut Option<StartUnit>, path: Option<&str>) {
    let mut word = start_unit.map(|unit| match unit {
        StartUnit::Microseconds => START_UNITS[0],
        StartUnit::Picoseconds => START_UNITS[1],
    });
    form.optional(
        "start_unit",
        Choice(&START_UNITS),
        &mut word,
        "Unit of `start` in a connection matrix of htsim: its generators and most of its programs (main_ndp, main_roce, \
         main_hpcc, main_eqds) mean picoseconds, main_uec and main_swift read the number as microseconds. Default: `us`, and a \
         warning where a start is not 0.",
    );
    if word.is_some() && path.and_then(|path| Format::of_name(path).ok()) != Some(Format::Matrix) {
        let hint = "leave it out, or name a `file` that ends in .cm".to_owned();
        form.refuse("start_unit", "this is no connection matrix".to_owned(), hint);
    }
    *start_unit = word.map(|word| match word {
        "ps" => StartUnit::Picoseconds,
        _ => StartUnit::Microseconds,
    });
}
