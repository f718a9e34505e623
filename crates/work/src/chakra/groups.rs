//! Communicator groups: which ranks take part in a collective.
//!
//! ASTRA-sim reads `pg_name` and looks it up in a JSON file of groups, or in what PyTorch's profiler notes in a trace of
//! its own (astra-sim, `astra-sim/workload/Workload.cc`: `initialize_comm_groups`, `issue_pytorch_pg_metadata`,
//! `extract_comm_group`); without a name or under `0` it takes all ranks, within the dimensions that `involved_dim` names
//! (`Sys.cc`: `generate_collective`).

use super::{Context, Trace, TraceNode, rank_files};
use crate::WorkError;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Name under which PyTorch notes its groups in a trace.
const PYTORCH_GROUPS: &str = "process_group:init";

/// Groups of ranks by name, as a JSON file lists them: `{"0": [0, 1], "1": [2, 3]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// File, for errors; empty if there is none.
    pub file: String,
    /// Ranks of each group, in the order of its ring.
    pub ranks: BTreeMap<String, Vec<u32>>,
}

impl Groups {
    /// Reads a file of groups.
    ///
    /// # Errors
    /// Content that is no JSON, and the first group that is no list of different ranks.
    pub fn read(content: &[u8], file: &str) -> Result<Self, WorkError> {
        let hint = "write groups as {\"0\": [0, 1], \"1\": [2, 3]}";
        let value: Value = serde_json::from_slice(content).map_err(|error| {
            WorkError::new(format!("{file}:{}", error.line()), format!("this is no JSON: {error}"), hint)
        })?;
        let Value::Object(lists) = value else {
            return Err(WorkError::new(file, "this is no object of groups", hint));
        };
        let mut ranks = BTreeMap::new();
        for (name, list) in lists {
            let numbers = numbers(&list).filter(|numbers| !numbers.is_empty());
            let problem = || format!("group `{name}` is no list of ranks");
            let numbers = numbers.ok_or_else(|| WorkError::new(file, problem(), hint))?;
            if numbers.iter().collect::<BTreeSet<_>>().len() < numbers.len() {
                let problem = format!("group `{name}` lists a rank twice");
                return Err(WorkError::new(file, problem, "list each rank once"));
            }
            ranks.insert(name, numbers);
        }
        Ok(Self { file: file.to_owned(), ranks })
    }
}

fn numbers(list: &Value) -> Option<Vec<u32>> {
    list.as_array()?.iter().map(|number| number.as_u64().and_then(|rank| u32::try_from(rank).ok())).collect()
}

/// Group that collectives name.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Name in errors: "group `1` of comm_group.json", "all ranks".
    pub(super) name: String,
    /// Ranks, in the order of their ring; none where nothing lists them: then they are those that name the group.
    pub(super) ranks: Option<Vec<u32>>,
    /// Whether a file, a trace or the sizes of dimensions list its ranks: then it may have one alone.
    pub(super) is_listed: bool,
}

/// What a collective says of its group, by which one is found again.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Named(String, Option<Vec<u32>>),
    Within(Vec<u32>),
}

/// Groups of a job, as its traces come to them.
pub(super) struct Directory<'a> {
    pub(super) context: &'a Context,
    /// Number of traces.
    pub(super) ranks: u32,
    pub(super) groups: Vec<Group>,
    numbers: HashMap<Key, usize>,
}

/// Groups that a rank's own trace lists, as PyTorch notes them, each with the position of its node.
pub(super) type OwnGroups = BTreeMap<String, (Vec<u32>, String)>;

impl<'a> Directory<'a> {
    pub(super) fn new(context: &'a Context, file: &str, ranks: u32) -> Result<Self, WorkError> {
        let product = context.dimensions.iter().try_fold(1u32, |product, &size| product.checked_mul(size));
        if !context.dimensions.is_empty() && product != Some(ranks) {
            return Err(WorkError::new(
                file,
                format!("{ranks} ranks, and dimensions of {:?}", context.dimensions),
                "give dimensions whose product is the number of ranks",
            ));
        }
        Ok(Self { context, ranks, groups: Vec::new(), numbers: HashMap::new() })
    }

    /// Groups that a trace lists in a node of PyTorch's. The text of its inputs is that of a Python list of one JSON text.
    pub(super) fn own_groups(&self, trace: &Trace<'_>) -> Result<OwnGroups, WorkError> {
        let mut own = OwnGroups::new();
        for node in &trace.nodes {
            if !node.name.contains(PYTORCH_GROUPS) || node.input_values.is_empty() {
                continue;
            }
            let text = node.input_values.trim();
            let json = text.strip_prefix("['").and_then(|text| text.strip_suffix("']")).unwrap_or(text);
            let unread = |problem: String| trace.error(node, &problem);
            let groups: Vec<Map<String, Value>> = serde_json::from_str(json)
                .map_err(|error| unread(format!("its process groups are no JSON: {error}")))?;
            for group in &groups {
                let name = match group.get("pg_name") {
                    Some(Value::String(name)) => name.clone(),
                    Some(Value::Number(number)) => number.to_string(),
                    _ => return Err(unread("a process group without `pg_name`".to_owned())),
                };
                let ranks = group.get("ranks").and_then(numbers);
                let ranks =
                    ranks.ok_or_else(|| unread(format!("process group `{name}` lists no `ranks`")))?;
                // An empty list is that of all ranks.
                let ranks = if ranks.is_empty() {
                    let size = group.get("group_size").and_then(Value::as_u64);
                    if let Some(size) = size.filter(|&size| size > self.ranks.into()) {
                        return Err(self.missing_rank(
                            trace,
                            self.ranks,
                            &format!("group `{name}` of {size} ranks"),
                        ));
                    }
                    (0..self.ranks).collect()
                } else {
                    ranks
                };
                own.insert(name, (ranks, trace.position(node)));
            }
        }
        Ok(own)
    }

    /// Number of the group of a collective of `rank`.
    pub(super) fn group_of(
        &mut self,
        (rank, trace, node): (u32, &Trace<'_>, &TraceNode<'_>),
        own: &OwnGroups,
    ) -> Result<usize, WorkError> {
        let name = trace.group(node)?.map(Cow::into_owned);
        let listed = name.as_ref().and_then(|name| {
            let of_file = self.context.groups.ranks.get(name).map(|ranks| (ranks, &self.context.groups.file));
            own.get(name).map(|(ranks, position)| (ranks, position)).or(of_file)
        });
        if let (Some((ranks, source)), Some(name)) = (listed, &name) {
            let own_name = format!("group `{name}` of {source}");
            if let Some(&absent) = ranks.iter().find(|&&rank| rank >= self.ranks) {
                return Err(self.missing_rank(trace, absent, &own_name));
            }
            if !ranks.contains(&rank) {
                return Err(
                    trace.error(node, &format!("a collective of {own_name}, which rank {rank} is not in"))
                );
            }
            let key = Key::Named(name.clone(), Some(ranks.clone()));
            let group = Group { name: own_name, ranks: Some(ranks.clone()), is_listed: true };
            return Ok(self.number(key, group));
        }
        // ASTRA-sim takes group 0 for all ranks, where no file lists it.
        let whole = name.as_deref().is_none_or(|name| name == "0");
        if let (Some(involved), true) = (trace.involved(node)?, whole) {
            let sizes = self.context.dimensions.len();
            let counted = if sizes == 0 { involved.len() } else { sizes.min(involved.len()) };
            if involved.len() < sizes || involved[..counted].contains(&false) {
                let ranks = self.within(rank, trace, node, involved)?;
                let group = Group {
                    name: format!("the group of rank {rank}"),
                    ranks: Some(ranks.clone()),
                    is_listed: true,
                };
                return Ok(self.number(Key::Within(ranks), group));
            }
        }
        let lists = !self.context.groups.ranks.is_empty() || !own.is_empty();
        match name {
            Some(name) if !lists => {
                let group = Group { name: format!("group `{name}`"), ranks: None, is_listed: false };
                Ok(self.number(Key::Named(name, None), group))
            }
            Some(name) if !whole => {
                let list = if own.is_empty() { &*self.context.groups.file } else { "the trace" };
                let problem = format!("a collective of group `{name}`, which {list} does not list");
                Err(WorkError::new(trace.position(node), problem, "list its ranks in the file of groups"))
            }
            _ => {
                let group = Group {
                    name: "all ranks".to_owned(),
                    ranks: Some((0..self.ranks).collect()),
                    is_listed: false,
                };
                Ok(self.number(Key::Within(Vec::new()), group))
            }
        }
    }

    fn number(&mut self, key: Key, group: Group) -> usize {
        let groups = &mut self.groups;
        *self.numbers.entry(key).or_insert_with(|| {
            groups.push(group);
            groups.len() - 1
        })
    }

    /// Ranks that differ from `rank` in the dimensions that a collective involves alone; the first dimension is that of
    /// neighbouring ranks.
    fn within(
        &self,
        rank: u32,
        trace: &Trace<'_>,
        node: &TraceNode<'_>,
        involved: &[bool],
    ) -> Result<Vec<u32>, WorkError> {
        let sizes = &self.context.dimensions;
        if sizes.len() > involved.len() || sizes.is_empty() {
            let problem = if sizes.is_empty() {
                "`involved_dim` leaves out a dimension, and the sizes of dimensions are not known".to_owned()
            } else {
                format!("`involved_dim` has {} dimensions, and `dimensions` {}", involved.len(), sizes.len())
            };
            let hint = "give the sizes of the dimensions of all ranks, the first that of neighbouring ranks: dimensions = [8, 4]";
            return Err(WorkError::new(trace.position(node), problem, hint));
        }
        let mut ranks = vec![rank];
        let mut stride = 1;
        for (&size, &involved) in sizes.iter().zip(involved) {
            if involved {
                let own = rank / stride % size;
                ranks = (0..size)
                    .flat_map(|at| ranks.iter().map(move |&rank| rank - own * stride + at * stride))
                    .collect();
            }
            stride *= size;
        }
        Ok(ranks)
    }

    /// Error of a rank that something names and no file is of.
    pub(super) fn missing_rank(&self, trace: &Trace<'_>, rank: u32, named_by: &str) -> WorkError {
        WorkError::new(
            rank_files::name_of(trace.file, rank),
            format!("the trace of rank {rank} is not there, and {named_by} has that rank"),
            "put the files of all ranks beside each other, numbered from 0",
        )
    }
}
