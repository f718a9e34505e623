//! `[[traffic]]` of kind `graph`: a file, or a collective by name.

use super::foreign::{self, MANY, TraceSetting};
use super::inference::{self, InferenceSetting};
use crate::file::NamedFile;
use anabranch_fabric::Rate as LinkRate;
use anabranch_form::Form;
use anabranch_form::unit::{Bytes, Choice, Flag, Positive, Ranges, Speed, Text, Time};
use anabranch_traffic::workload::Placement;
use anabranch_work::Accelerator;
use anabranch_work::Rendezvous;
use anabranch_work::collective::{Algorithm, Kind};
use anabranch_work::connection_matrix::StartUnit;
use anabranch_work::read::Format;
use anabranch_work::training::Training;

/// Names of collectives.
const COLLECTIVES: [&str; 6] =
    ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "moe"];
const ALGORITHMS: [&str; 7] =
    ["ring", "halving-doubling", "double-tree", "hierarchical", "tree", "direct", "pairwise"];
const RENDEZVOUS: [&str; 3] = ["none", "clear-to-send", "request-to-send"];
const PLACEMENTS: [&str; 3] = ["packed", "spread", "random"];

/// Work of ranks, and where they are.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkSetting {
    /// File of the graph; none where a collective is named.
    pub file: Option<NamedFile>,
    /// What the traces of a Chakra file leave out.
    pub traces: TraceSetting,
    /// Unit of starts in a matrix of htsim.
    pub start_unit: Option<StartUnit>,
    /// A step of training; instead of a file or a collective.
    pub training: Option<Box<Training>>,
    /// Requests served; instead of the others.
    pub inference: Option<Box<InferenceSetting>>,
    /// Collective; read where there is none of these.
    pub collective: CollectiveName,
    /// Algorithm; the usual one where none is named.
    pub algorithm: Option<Algorithm>,
    /// Size of the collective, or the buffer of an MSCCL algorithm.
    pub size_bytes: u64,
    /// Parts side by side.
    pub channels: u32,
    /// Pieces one after the other.
    pub segments: u32,
    /// Ranks of a group.
    pub group: u32,
    /// Speed of summing, where it takes time.
    pub reduce: Option<LinkRate>,
    /// Exponent of the popularity of destinations; none where all are alike.
    pub skew: Option<f64>,
    /// Number of ranks; where none is given, all hosts.
    pub ranks: Option<u32>,
    /// Hosts for ranks; all where none is named.
    pub hosts: Vec<u32>,
    /// Which of them ranks are placed on.
    pub placement: Placement,
    /// Computing before each step, in picoseconds.
    pub compute_ps: u64,
    /// How many times.
    pub iterations: u32,
    /// How messages wait for their receive; none if they do not.
    pub rendezvous: Option<Rendezvous>,
    /// Largest message that does not wait.
    pub eager_bytes: u64,
    /// Whether messages between two ranks follow each other.
    pub ordered: bool,
    /// Whether it never begins.
    pub idle: bool,
}

/// What a job does by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveName {
    /// One collective.
    Of(Kind),
    /// Two all-to-alls, there and back: tokens go to their experts and return.
    Moe,
}

impl Default for WorkSetting {
    fn default() -> Self {
        Self {
            file: None,
            traces: TraceSetting::default(),
            start_unit: None,
            training: None,
            inference: None,
            collective: CollectiveName::Of(Kind::AllReduce),
            algorithm: None,
            size_bytes: 100_000_000,
            channels: 1,
            segments: 1,
            group: 8,
            reduce: None,
            skew: None,
            ranks: None,
            hosts: Vec::new(),
            placement: Placement::Packed,
            compute_ps: 0,
            iterations: 1,
            rendezvous: None,
            eager_bytes: 0,
            ordered: true,
            idle: false,
        }
    }
}

impl WorkSetting {
    /// Defaults of a step of training.
    pub(crate) fn training() -> Self {
        Self { training: Some(Box::new(super::training::fresh())), ..Self::default() }
    }

    /// Defaults of inference.
    pub(crate) fn inference() -> Self {
        Self { inference: Some(Box::new(InferenceSetting::fresh())), ..Self::default() }
    }

    /// Defaults with a value for each key on which others depend.
    pub(crate) fn complete() -> Self {
        let accelerator = Some(Accelerator { flops: 1, memory_bytes_per_s: 1 });
        let traces = TraceSetting { accelerator, ..TraceSetting::default() };
        Self { rendezvous: Some(Rendezvous::ClearToSend), traces, ..Self::default() }
    }
}

impl CollectiveName {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Of(kind) => kind,
            Self::Moe => Kind::AllToAll,
        }
    }
}

/// Shows the keys.
pub(super) fn visit(form: &mut impl Form, work: &mut WorkSetting) {
    let (mut path, mut digest) = work.file.take().map_or((None, None), |file| (Some(file.path), file.digest));
    form.optional(
        "file",
        Text { wants: "the name of a file, relative to the scenario's" },
        &mut path,
        "Graph of sends, receives and computing, by the end of its name: `.goal` and `.bin` (GOAL), `.et` (Chakra; the \
         file of rank 0, with those of all other ranks beside it: `NAME.0.et`, `rank_0.et`, `trace0.et`), `.xml` (MSCCL), `.cm` (htsim), `.txt` (AICB, SimAI). Instead of a collective.",
    );
    let meaning = "XXH3-128 of the file, found where it is not given: another content is another run. Chakra: of the \
                   traces of all ranks, and of the file of groups.";
    form.optional("digest", Text { wants: "32 hexadecimal digits" }, &mut digest, meaning);
    form.optional_table(
        "training",
        &mut work.training,
        "A step of training a transformer, by the shape of model and parallelism; it needs `accelerator`.",
        || Box::new(super::training::fresh()),
        |form, training| super::training::visit(form, training),
    );
    form.optional_table(
        "inference",
        &mut work.inference,
        "Requests to a language model, by the shape of the model and of the groups that fill caches and decode.",
        || Box::new(InferenceSetting::fresh()),
        |form, inference| inference::visit(form, inference),
    );
    foreign::visit_traces(form, &mut work.traces, work.training.is_some(), path.as_deref());
    foreign::visit_starts(form, &mut work.start_unit, path.as_deref());
    let made = work.training.is_some() || work.inference.is_some();
    let named = [
        ("training", work.training.is_some()),
        ("inference", work.inference.is_some()),
        ("file", path.is_some()),
    ];
    let mut named = named.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    match (named.next(), named.next()) {
        (None, _) => visit_collective(form, work),
        (Some("training"), None) => visit_skew(form, work),
        (Some(_), None) => {}
        (Some(first), Some(second)) => {
            form.refuse(
                second,
                format!("there is `{first}` beside it"),
                "leave one of the two out".to_owned(),
            );
        }
    }
    work.file = path.map(|path| NamedFile { path, digest });
    let size = "Size, as nccl-tests states it: the vector of an all-reduce or a broadcast, all parts of an all-gather or a \
                reduce-scatter, what each rank holds for an all-to-all. The buffer of an MSCCL algorithm; what a connection of htsim carries \
                that has size 0, and there no end.";
    if !made {
        form.key("size", Bytes::SOME, &mut work.size_bytes, size);
    }
    form.optional(
        "ranks",
        MANY,
        &mut work.ranks,
        "Ranks that take part; each has a host of its own. Default: one for each of `hosts`, or those of the file.",
    );
    form.key(
        "hosts",
        Ranges,
        &mut work.hosts,
        "Hosts for the ranks, by number, in order: `\"0-511\"`. All hosts where the list is empty.",
    );
    let mut placement = match work.placement {
        Placement::Packed => PLACEMENTS[0],
        Placement::Spread => PLACEMENTS[1],
        Placement::Random => PLACEMENTS[2],
    };
    form.key(
        "placement",
        Choice(&PLACEMENTS),
        &mut placement,
        "Which of `hosts` ranks get, rank by rank: as listed; one under each leaf in turn; drawn without replacement.",
    );
    work.placement = match placement {
        "spread" => Placement::Spread,
        "random" => Placement::Random,
        _ => Placement::Packed,
    };
    if work.inference.is_none() {
        form.key("compute", Time, &mut work.compute_ps, "Computing of each rank before each step.");
        let meaning = "Steps: how many times the whole is done, each rank in turn.";
        form.key("iterations", MANY, &mut work.iterations, meaning);
    }
    visit_rendezvous(form, work);
    let is_matrix = work.file.as_ref().is_some_and(|file| Format::of_name(&file.path) == Ok(Format::Matrix));
    work.ordered &= !is_matrix;
    if !is_matrix {
        let meaning = "Whether messages between two ranks follow each other, as collective libraries send them: over queue \
                       pairs, or one stream of TCP, that their hosts keep for the job. The next begins when the last byte of the \
                       one before has been sent. Otherwise each has its own, beside the others, as connections of htsim's \
                       matrices and sends that need a receive (`semantics`) always have.";
        form.key("ordered", Flag, &mut work.ordered, meaning);
    }
    let idle = "Whether the job never begins. Its messages stay in the tables, unfinished, so that all other flows keep their \
                numbers and with them their random draws: what `anabranch run --apart` compares with.";
    form.key("idle", Flag, &mut work.idle, idle);
}

fn visit_rendezvous(form: &mut impl Form, work: &mut WorkSetting) {
    let mut word = match work.rendezvous {
        None => RENDEZVOUS[0],
        Some(Rendezvous::ClearToSend) => RENDEZVOUS[1],
        Some(Rendezvous::RequestToSend) => RENDEZVOUS[2],
    };
    form.kind(
        "rendezvous",
        Choice(&RENDEZVOUS),
        &mut word,
        "Whether messages wait for their receive. `clear-to-send`: until the receiver, whose `recv` has begun, has sent 64 B \
         (NCCL: the address to write to). `request-to-send`: the sender asks first, by 64 B too (MPI). These small messages \
         are flows like any other.",
    );
    work.rendezvous = match word {
        "clear-to-send" => Some(Rendezvous::ClearToSend),
        "request-to-send" => Some(Rendezvous::RequestToSend),
        _ => None,
    };
    if work.rendezvous.is_some() {
        let meaning = "Largest message that does not wait (S of LogGOPS; the eager limit of MPI).";
        form.key("eager", Bytes { least: 0, most: u64::MAX >> 1 }, &mut work.eager_bytes, meaning);
    }
}

fn visit_collective(form: &mut impl Form, work: &mut WorkSetting) {
    let mut name = match work.collective {
        CollectiveName::Of(kind) => kind.name(),
        CollectiveName::Moe => COLLECTIVES[5],
    };
    form.key(
        "collective",
        Choice(&COLLECTIVES),
        &mut name,
        "What ranks do together in each step. `moe`: two all-to-alls, there and back, as a mixture of experts has.",
    );
    work.collective = Kind::of_name(name).map_or(CollectiveName::Moe, CollectiveName::Of);
    let mut algorithm = work.algorithm.map(Algorithm::name);
    form.optional(
        "algorithm",
        Choice(&ALGORITHMS),
        &mut algorithm,
        "How: all-reduce by `ring`, `halving-doubling`, `double-tree` or `hierarchical`; all-gather and reduce-scatter by \
         `ring`, `halving-doubling` or `direct`; broadcast by `tree` or `ring`; all-to-all by `direct`, `pairwise` or \
         `ring`. Default: the first of each.",
    );
    work.algorithm = algorithm.and_then(Algorithm::of_name);
    form.key(
        "channels",
        MANY,
        &mut work.channels,
        "Parts of the data that go side by side, on rings both ways round.",
    );
    form.key("segments", MANY, &mut work.segments, "Pieces of each part that follow each other on each way.");
    let meaning = "Ranks of each group of a hierarchical all-reduce: the accelerators of a machine.";
    form.key("group", MANY, &mut work.group, meaning);
    form.optional("reduce", Speed, &mut work.reduce, "Speed of summing. Default: it takes no time.");
    visit_skew(form, work);
    if work.skew.is_some() && work.collective.kind() != Kind::AllToAll {
        let hint = "leave `skew` out, or take all-to-all or moe".to_owned();
        form.refuse("skew", format!("{name} has no blocks of several sizes"), hint);
    }
}

fn visit_skew(form: &mut impl Form, work: &mut WorkSetting) {
    form.optional(
        "skew",
        Positive { most: 10.0 },
        &mut work.skew,
        "Exponent of Zipf's law for the popularity of destinations of an all-to-all, dealt anew in each \
         step; of ranks with experts, the same in all steps of `training`. Default: all are alike.",
    );
}
