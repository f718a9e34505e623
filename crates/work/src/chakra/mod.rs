//! Chakra execution traces (MLCommons, `et_def.proto`): one file a rank, messages behind their lengths.

mod rank_files;
mod trace;
mod wire;

pub use rank_files::read_ranks;
pub use trace::{Attribute, Kind, Metadata, Setting, Trace, TraceNode};

use crate::collective::{Collective, Kind as CollectiveKind, expand};
use crate::{Act, Builder, Graph, Node, NodeId, Part, WorkError};
use std::collections::{BTreeMap, HashMap};

/// Picoseconds in Chakra's unit of time, the microsecond.
const PS_PER_US: u64 = 1_000_000;

/// Groups of ranks by name, as the JSON file beside a trace lists them.
pub type Groups = BTreeMap<String, Vec<u32>>;

/// Names of the schema's collectives, by `comm_type`.
const COMM_TYPES: [&str; 10] = [
    "ALL_REDUCE",
    "REDUCE",
    "ALL_GATHER",
    "GATHER",
    "SCATTER",
    "BROADCAST",
    "ALL_TO_ALL",
    "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK",
    "BARRIER",
];

/// A collective that ranks meet in: what is known of it, and node by node where each rank does.
struct Meeting {
    kind: CollectiveKind,
    bytes: u64,
    /// Rank that a broadcast comes from; the first of its group if the traces do not say.
    root: Option<u32>,
    begun_at: String,
    /// Node after which it begins and node that its end releases, by rank.
    gates: BTreeMap<u32, (NodeId, NodeId)>,
}

/// Makes one graph of the traces of all ranks, in their order. The k-th collectives that ranks of a group ask for are
/// one; they are expanded by their usual algorithm, a broadcast from the rank that `root` names. Nodes that neither
/// communicate nor take time pass at once; the graph warns of those that compute, load or store for no time.
///
/// # Errors
/// The first node at fault, with file and byte.
pub fn graph(traces: &[Trace], groups: &Groups) -> Result<Graph, WorkError> {
    let first = traces.first();
    let file = first.map_or("Chakra trace", |trace| &trace.file);
    let mut builder = Builder::new(file, traces.len() as u32)?;
    builder.begin_part(Part {
        step: 0,
        name: "trace".to_owned(),
        bytes: 0,
        ranks: traces.len() as u32,
        bus: None,
    });
    let mut meetings: BTreeMap<(String, u32), Meeting> = BTreeMap::new();
    for (rank, trace) in (0..).zip(traces) {
        add_rank(&mut builder, rank, trace, groups, traces.len() as u32, &mut meetings)?;
    }
    for ((group, number), meeting) in &meetings {
        let all = || (0..traces.len() as u32).collect();
        let mut ranks = groups.get(group).cloned().unwrap_or_else(all);
        let absent = ranks.iter().find(|rank| !meeting.gates.contains_key(rank));
        if let Some(&absent) = absent {
            return Err(absence(absent, group, *number, meeting, groups));
        }
        if let Some(root) = meeting.root {
            let Some(at) = ranks.iter().position(|&rank| rank == root) else {
                let problem = format!("`root` is {root}, which is no rank of its group");
                return Err(WorkError::new(meeting.begun_at.clone(), problem, "name a rank, counted from 0"));
            };
            ranks.rotate_left(at);
        }
        let count = ranks.len() as u64;
        let bytes = match meeting.kind {
            // There `comm_size` is what each rank brings.
            CollectiveKind::AllGather => meeting.bytes.saturating_mul(count),
            _ => meeting.bytes,
        };
        let algorithm = meeting.kind.algorithms()[0];
        let collective = Collective::new(meeting.kind, algorithm, bytes);
        builder.begin_part(collective.part(0, count as u32));
        let ends =
            expand(&mut builder, &collective, &ranks, |rank| meeting.gates.get(&rank).map(|gate| gate.0))
                .map_err(|error| WorkError::new(meeting.begun_at.clone(), error.problem, error.hint))?;
        for (rank, nodes) in ranks.iter().zip(ends) {
            for node in nodes {
                builder.requires(meeting.gates[rank].1, node);
            }
        }
    }
    Ok(builder.finish())
}

/// Error of a collective that a rank never joins.
fn absence(absent: u32, group: &str, number: u32, meeting: &Meeting, groups: &Groups) -> WorkError {
    if group.is_empty() || groups.contains_key(group) {
        return WorkError::new(
            meeting.begun_at.clone(),
            format!("rank {absent} never joins collective {number} of its group"),
            "give all ranks of a group the same collectives in the same order",
        );
    }
    WorkError::new(
        meeting.begun_at.clone(),
        format!("collective {number} of communicator group `{group}`: rank {absent} never joins it"),
        "groups of a part of the ranks are not read yet, every collective is taken as one of all ranks: write those of a \
         part as sends and receives, or give each group a trace and a `[[traffic]]` with its `hosts`",
    )
}

fn add_rank(
    builder: &mut Builder,
    rank: u32,
    trace: &Trace,
    groups: &Groups,
    ranks: u32,
    meetings: &mut BTreeMap<(String, u32), Meeting>,
) -> Result<(), WorkError> {
    // By identity in the trace: the node to wait for, and the node that waits.
    let mut ends: HashMap<u64, NodeId> = HashMap::with_capacity(trace.nodes.len());
    let mut starts: Vec<NodeId> = Vec::with_capacity(trace.nodes.len());
    let mut met: HashMap<String, u32> = HashMap::new();
    let (mut timeless, mut timeless_count) = (None, 0);
    for node in &trace.nodes {
        let time =
            |us: u64| us.checked_mul(PS_PER_US).ok_or_else(|| trace.error(node, "a duration of years"));
        let mut add = |act| builder.add(rank, Node { act, cpu: 0, nic: 0, part: 0, line: 0 });
        let (start, end) = match node.kind {
            Kind::Send | Kind::Recv => {
                let peer =
                    trace.number(node, if node.kind == Kind::Send { "comm_dst" } else { "comm_src" })?;
                let peer = u32::try_from(peer).ok().filter(|&peer| peer < ranks);
                let peer = peer.ok_or_else(|| trace.error(node, "a peer that is no rank of the traces"))?;
                let bytes = trace.number(node, "comm_size")?;
                let tag = trace.optional_number(node, "comm_tag")?.unwrap_or(0) as u32;
                if bytes == 0 {
                    return Err(trace.error(node, "a message of 0 bytes"));
                }
                let act = match node.kind {
                    Kind::Send => Act::Send { to: peer, bytes, tag },
                    _ => Act::Recv { from: Some(peer), bytes, tag: Some(tag) },
                };
                let id = add(act)?;
                (id, id)
            }
            Kind::Collective => {
                let kind = trace.number(node, "comm_type")?;
                let kind = CollectiveKind::of_chakra(kind).ok_or_else(|| not_expanded(trace, node, kind))?;
                if trace.is_partial(node) {
                    return Err(WorkError::new(
                        trace.position(node),
                        "`involved_dim` leaves out a dimension of the ranks",
                        "groups of a part of the ranks are not read yet: write the collective as sends and receives",
                    ));
                }
                let root = match kind {
                    CollectiveKind::Broadcast => trace.optional_number(node, "root")?,
                    _ => None,
                };
                let root = root.map(|root| u32::try_from(root).unwrap_or(u32::MAX));
                let group = trace.group(node);
                let members = groups.get(&group);
                if !group.is_empty() && members.is_none() && !groups.is_empty() {
                    return Err(trace.error(node, &format!("group `{group}`, which the groups' file lacks")));
                }
                if members.is_some_and(|members| !members.contains(&rank)) {
                    return Err(trace.error(
                        node,
                        &format!("a collective of group `{group}`, which rank {rank} is not in"),
                    ));
                }
                let (before, after) = (add(Act::Wait { ps: 0 })?, add(Act::Wait { ps: 0 })?);
                let number = met.entry(group.clone()).or_insert(0);
                let bytes = trace.number(node, "comm_size")?;
                let meeting = meetings.entry((group, *number)).or_insert_with(|| Meeting {
                    kind,
                    bytes,
                    root,
                    begun_at: trace.position(node),
                    gates: BTreeMap::new(),
                });
                *number += 1;
                if (meeting.kind, meeting.bytes, meeting.root) != (kind, bytes, root) {
                    let problem = format!(
                        "another collective, size or root than that of its group at {}",
                        meeting.begun_at
                    );
                    return Err(trace.error(node, &problem));
                }
                meeting.gates.insert(rank, (before, after));
                (before, after)
            }
            Kind::Other if node.duration_us == 0 => {
                let id = add(Act::Wait { ps: 0 })?;
                (id, id)
            }
            Kind::Compute | Kind::Memory | Kind::Other => {
                if node.duration_us == 0 {
                    timeless.get_or_insert(node);
                    timeless_count += 1;
                }
                let id = add(Act::Calc { ps: time(node.duration_us)? })?;
                (id, id)
            }
        };
        if ends.insert(node.id, end).is_some() {
            return Err(trace.error(node, &format!("a second node with id {}", node.id)));
        }
        starts.push(start);
    }
    if let Some(first) = timeless {
        builder.warn(format!(
            "{}: {timeless_count} of {} nodes compute, load or store without a duration (`duration_micros`) and take no \
             time here, the first of them node {}, `{}`; operations and sizes of tensors are not turned into time",
            trace.file,
            trace.nodes.len(),
            first.id,
            first.name
        ));
    }
    for (node, &start) in trace.nodes.iter().zip(&starts) {
        for before in node.ctrl_deps.iter().chain(&node.data_deps) {
            let problem =
                || trace.error(node, &format!("it depends on node {before}, which the trace lacks"));
            builder.requires(start, *ends.get(before).ok_or_else(problem)?);
        }
    }
    Ok(())
}

fn not_expanded(trace: &Trace, node: &TraceNode, kind: u64) -> WorkError {
    let name_of = |kind: usize| COMM_TYPES.get(kind).copied();
    let own = usize::try_from(kind).ok().and_then(name_of);
    let problem = match own {
        Some(name) => format!("comm_type {kind} ({name}) is not expanded here"),
        None => format!("comm_type {kind} is none of the schema's"),
    };
    let known: Vec<&str> = (0..COMM_TYPES.len())
        .filter(|&kind| CollectiveKind::of_chakra(kind as u64).is_some())
        .filter_map(name_of)
        .collect();
    let hint = match own {
        Some("BARRIER") => "write it as an ALL_REDUCE of a few bytes",
        Some(_) => "write it as sends and receives",
        None => "correct the trace, or what wrote it",
    };
    WorkError::new(trace.position(node), problem, format!("{hint}. Expanded are {}", known.join(", ")))
}
