//! Collectives that the traces of several ranks ask for, each found once and expanded into messages.

use super::groups::Directory;
use crate::collective::{Collective, Kind, expand};
use crate::{Builder, CONTROL_BYTES, MESSAGES_MAX, NodeId, WorkError};
use std::collections::{BTreeMap, BTreeSet};

/// Names of the schema's collectives, by `comm_type`.
pub(super) const COMM_TYPES: [&str; 10] = [
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

/// Kind of a `comm_type`; none if the schema has none of this number.
pub(super) fn kind_of(comm_type: u64) -> Option<Kind> {
    Some(match comm_type {
        0 => Kind::AllReduce,
        1 => Kind::Reduce,
        2 => Kind::AllGather,
        3 => Kind::Gather,
        4 => Kind::Scatter,
        5 => Kind::Broadcast,
        6 => Kind::AllToAll,
        7 | 8 => Kind::ReduceScatter,
        9 => Kind::Barrier,
        _ => return None,
    })
}

/// Request of a rank for a collective.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) kind: Kind,
    /// `comm_size`.
    pub(super) bytes: u64,
    /// Rank from which or to which the data go; the first of its group if the traces do not say.
    pub(super) root: Option<u32>,
}

/// Collective that ranks meet in.
struct Meeting {
    request: Request,
    begun_at: String,
    /// Node after which it begins and node that its end releases, by rank.
    gates: BTreeMap<u32, (NodeId, NodeId)>,
}

/// Collectives of all groups, by group and number within it.
#[derive(Default)]
pub(super) struct Meetings(BTreeMap<(usize, u32), Meeting>);

impl Meetings {
    /// Lets a rank take part in the collective `number` of a group. Returns the position of the first request if that was
    /// another one.
    pub(super) fn join(
        &mut self,
        (group, number): (usize, u32),
        (rank, gates): (u32, (NodeId, NodeId)),
        request: Request,
        position: impl FnOnce() -> String,
    ) -> Result<(), String> {
        let meeting = self.0.entry((group, number)).or_insert_with(|| Meeting {
            request,
            begun_at: position(),
            gates: BTreeMap::new(),
        });
        if meeting.request != request {
            return Err(meeting.begun_at.clone());
        }
        meeting.gates.insert(rank, gates);
        Ok(())
    }

    /// Adds the messages of all collectives.
    pub(super) fn expand(&self, builder: &mut Builder, directory: &Directory<'_>) -> Result<(), WorkError> {
        let mut members: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        for (&(group, _), meeting) in &self.0 {
            members.entry(group).or_default().extend(meeting.gates.keys());
        }
        warn_of_unlisted(builder, directory, &members);
        self.check_count(directory, &members)?;
        let mut empty = 0;
        for (&(group, number), meeting) in &self.0 {
            let of = &directory.groups[group];
            let mut ranks =
                of.ranks.clone().unwrap_or_else(|| members[&group].iter().copied().collect::<Vec<_>>());
            let refuse =
                |problem: String, hint: &str| Err(WorkError::new(meeting.begun_at.clone(), problem, hint));
            if let ([rank], false) = (&ranks[..], of.is_listed) {
                return refuse(
                    format!("rank {rank} alone takes part in a collective of {}", of.name),
                    "put the traces of all ranks beside each other, or list the ranks of groups in a file (`groups`)",
                );
            }
            if let Some(absent) = ranks.iter().find(|rank| !meeting.gates.contains_key(rank)) {
                return refuse(
                    format!("rank {absent} never joins collective {number} of {}", of.name),
                    "give all ranks of a group the same collectives in the same order",
                );
            }
            if let Some(root) = meeting.request.root {
                let Some(at) = ranks.iter().position(|&rank| rank == root) else {
                    let problem = format!("`root` is {root}, which is no rank of {}", of.name);
                    return refuse(problem, "name a rank of the group, counted from 0 among all ranks");
                };
                ranks.rotate_left(at);
            }
            empty += usize::from(meeting.request.bytes == 0 && meeting.request.kind != Kind::Barrier);
            let Some(collective) = collective(meeting.request, ranks.len() as u64) else {
                meeting.gates.values().for_each(|&(before, after)| builder.requires(after, before));
                continue;
            };
            builder.begin_part(collective.part(0, ranks.len() as u32));
            let first = builder.count();
            let gate = |rank| meeting.gates.get(&rank).map(|gates| gates.0);
            let ends = expand(builder, &collective, &ranks, gate)
                .map_err(|error| WorkError::new(meeting.begun_at.clone(), error.problem, error.hint))?;
            let made = u64::from(builder.count() - first);
            debug_assert_eq!(
                made,
                2 * count(collective.kind, ranks.len() as u64),
                "a send and a receive each"
            );
            for (rank, nodes) in ranks.iter().zip(ends) {
                nodes.into_iter().for_each(|node| builder.requires(meeting.gates[rank].1, node));
            }
        }
        if empty > 0 {
            builder.warn(format!("{}: {empty} collectives of 0 bytes send nothing", builder.file()));
        }
        Ok(())
    }
}

impl Meetings {
    /// Refuses more messages than memory holds, before any is made.
    fn check_count(
        &self,
        directory: &Directory<'_>,
        members: &BTreeMap<usize, BTreeSet<u32>>,
    ) -> Result<(), WorkError> {
        let mut messages = 0;
        for ((group, _), meeting) in &self.0 {
            let ranks = directory.groups[*group].ranks.as_ref().map_or(members[group].len(), Vec::len) as u64;
            messages += collective(meeting.request, ranks).map_or(0, |made| count(made.kind, ranks));
            if messages > MESSAGES_MAX {
                let hint =
                    format!("give a shorter trace or fewer ranks: at most {MESSAGES_MAX} messages in all");
                let problem = format!("{messages} messages up to this collective");
                return Err(WorkError::new(meeting.begun_at.clone(), problem, hint));
            }
        }
        Ok(())
    }
}

/// Collective of a request among so many ranks. None if it sends nothing.
fn collective(request: Request, ranks: u64) -> Option<Collective> {
    let Request { kind, bytes, .. } = request;
    let bytes = match kind {
        Kind::Barrier => CONTROL_BYTES,
        // There `comm_size` is what each rank brings.
        Kind::AllGather | Kind::Gather => bytes.saturating_mul(ranks),
        _ => bytes,
    };
    // A vector of fewer bytes than ranks, such as the mean of a loss, is rounded up to one byte for each part.
    let least = if matches!(kind, Kind::Broadcast | Kind::Reduce | Kind::Barrier) { 1 } else { ranks };
    (ranks > 1 && bytes > 0).then(|| Collective::new(kind, kind.algorithms()[0], bytes.max(least)))
}

/// Messages of a collective by its usual algorithm.
fn count(kind: Kind, ranks: u64) -> u64 {
    match kind {
        Kind::AllReduce => 2 * ranks * (ranks - 1),
        Kind::AllGather | Kind::ReduceScatter | Kind::AllToAll => ranks * (ranks - 1),
        Kind::Broadcast | Kind::Reduce | Kind::Gather | Kind::Scatter => ranks - 1,
        Kind::Barrier => ranks * u64::from(ranks.next_power_of_two().ilog2()),
    }
}

/// Most groups that a warning names.
const NAMED_MAX: usize = 8;

fn warn_of_unlisted(
    builder: &mut Builder,
    directory: &Directory<'_>,
    members: &BTreeMap<usize, BTreeSet<u32>>,
) {
    let part = |(group, ranks): &(&usize, &BTreeSet<u32>)| {
        directory.groups[**group].ranks.is_none() && ranks.len() < builder.ranks() as usize
    };
    let unlisted: Vec<_> = members.iter().filter(part).collect();
    if unlisted.is_empty() {
        return;
    }
    let named = unlisted.iter().take(NAMED_MAX).map(|(group, ranks)| {
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        format!("{} of ranks {}", directory.groups[**group].name, ranks.join(" "))
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let more = unlisted.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    builder.warn(format!(
        "{}: no file lists the ranks of the communicator groups, so each is taken to have the ranks that name it: \
         {named}{more}; a file of groups (`groups`, or comm_group.json beside the trace) would show a rank that is missing",
        builder.file()
    ));
}
