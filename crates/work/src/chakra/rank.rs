//! Trace of one rank as nodes of a graph.

use super::compute::{Lane, Lanes, no_accelerator};
use super::groups::{Directory, OwnGroups};
use super::meetings::{COMM_TYPES, Meetings, Request, kind_of};
use super::{Kind, Trace, TraceNode};
use crate::collective::Kind as CollectiveKind;
use crate::{Act, Builder, Node, NodeId, WorkError};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Picoseconds in Chakra's unit of time, the microsecond.
const PS_PER_US: u64 = 1_000_000;

/// Nodes that compute, load or store for no time.
#[derive(Default)]
pub(super) struct Untimed {
    /// Sentence about the first trace with such nodes.
    first: Option<String>,
    traces: usize,
}

impl Untimed {
    fn note(&mut self, trace: &Trace<'_>, node: &TraceNode<'_>, count: usize) {
        self.traces += 1;
        self.first.get_or_insert_with(|| {
            format!(
                "{}: {count} of {} nodes compute, load or store without a duration (`duration_micros`) or operations \
                 (`num_ops`, `tensor_size`) and take no time here, the first of them node {}, `{}`",
                trace.file,
                trace.nodes.len(),
                node.id,
                node.name
            )
        });
    }

    /// Warns once, however many traces have such nodes.
    pub(super) fn warn(self, builder: &mut Builder) {
        let Some(first) = self.first else { return };
        let others = self.traces - 1;
        builder.warn(if others > 0 {
            format!("{first}; so do nodes of {others} other traces")
        } else {
            first
        });
    }
}

/// A rank and its trace.
pub(super) struct Rank<'a> {
    pub(super) number: u32,
    pub(super) trace: &'a Trace<'a>,
    /// Groups that the trace itself lists.
    pub(super) own_groups: OwnGroups,
}

impl Rank<'_> {
    /// Adds the nodes of the trace, and its requests for collectives.
    pub(super) fn add(
        &self,
        builder: &mut Builder,
        directory: &mut Directory<'_>,
        meetings: &mut Meetings,
        untimed: &mut Untimed,
    ) -> Result<(), WorkError> {
        let trace = self.trace;
        // By identity in the trace: the node to wait for, and the node that waits.
        let mut ends: HashMap<u64, NodeId> = HashMap::with_capacity(trace.nodes.len());
        let mut starts: Vec<NodeId> = Vec::with_capacity(trace.nodes.len());
        // Group by what a collective says of it, and the number of collectives of each so far.
        let mut groups: HashMap<_, usize> = HashMap::new();
        let mut collectives: HashMap<usize, u32> = HashMap::new();
        let mut lanes = Lanes::new();
        let (mut timeless, mut unpriced): (Vec<&TraceNode<'_>>, Vec<&TraceNode<'_>>) =
            (Vec::new(), Vec::new());
        for node in &trace.nodes {
            let mut add = |act, cpu| builder.add(self.number, Node { act, cpu, nic: 0, part: 0, line: 0 });
            let (start, end) = match node.kind {
                Kind::Send | Kind::Recv => {
                    let id = add(self.message(node, directory)?, 0)?;
                    (id, id)
                }
                Kind::Collective => {
                    let gates = (add(Act::Wait { ps: 0 }, 0)?, add(Act::Wait { ps: 0 }, 0)?);
                    let group = match groups.entry((trace.group(node)?, trace.involved(node)?)) {
                        Entry::Occupied(known) => *known.get(),
                        Entry::Vacant(unknown) => {
                            *unknown.insert(directory.group_of((self.number, trace, node), &self.own_groups)?)
                        }
                    };
                    let number = collectives.entry(group).or_insert(0);
                    let request = self.request(node)?;
                    meetings
                        .join((group, *number), (self.number, gates), request, || trace.position(node))
                        .map_err(|at| {
                        let problem =
                            format!("another collective, size or root than that of its group at {at}");
                        trace.error(node, &problem)
                    })?;
                    *number += 1;
                    gates
                }
                Kind::Other if node.duration_us == 0 => {
                    let id = add(Act::Wait { ps: 0 }, 0)?;
                    (id, id)
                }
                Kind::Compute | Kind::Memory | Kind::Other => {
                    let lane = self.lane(node)?;
                    let processor = lanes
                        .processor(lane)
                        .ok_or_else(|| trace.error(node, "more than 256 streams and threads at one rank"))?;
                    let (operations, bytes) = self.effort(node, lane)?;
                    let ps = if node.duration_us > 0 {
                        node.duration_us.checked_mul(PS_PER_US)
                    } else if operations == 0 && bytes == 0 {
                        timeless.push(node);
                        Some(0)
                    } else if let Some(accelerator) = directory.context.accelerator {
                        accelerator.time_ps(operations, bytes)
                    } else {
                        unpriced.push(node);
                        Some(0)
                    };
                    let ps = ps.ok_or_else(|| trace.error(node, "a duration of years"))?;
                    let id = add(Act::Calc { ps }, processor)?;
                    (id, id)
                }
            };
            if ends.insert(node.id, end).is_some() {
                return Err(trace.error(node, &format!("a second node with id {}", node.id)));
            }
            starts.push(start);
        }
        if let Some(first) = unpriced.first() {
            return Err(no_accelerator(trace.position(first), unpriced.len(), trace.nodes.len()));
        }
        if let Some(first) = timeless.first() {
            untimed.note(trace, first, timeless.len());
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

    /// Message to or from another rank.
    fn message(&self, node: &TraceNode<'_>, directory: &Directory<'_>) -> Result<Act, WorkError> {
        let trace = self.trace;
        let sends = node.kind == Kind::Send;
        let (own_key, peer_key) = if sends { ("comm_src", "comm_dst") } else { ("comm_dst", "comm_src") };
        let peer = trace.number(node, peer_key)?;
        let ranks = directory.ranks;
        let peer = u32::try_from(peer).map_err(|_| trace.error(node, "a peer that is no rank"))?;
        if peer >= ranks {
            let named_by = format!("node {} (`{}`) of {}", node.id, node.name, trace.file);
            return Err(directory.missing_rank(trace, peer, &named_by));
        }
        let own = trace.optional_number(node, own_key)?;
        if let Some(own) = own.filter(|&own| own != u64::from(self.number)) {
            let problem = format!("`{own_key}` is {own}, and this is the trace of rank {}", self.number);
            return Err(trace.error(node, &problem));
        }
        let bytes = trace.number(node, "comm_size")?;
        let tag = trace.optional_number(node, "comm_tag")?.unwrap_or(0) as u32;
        if bytes == 0 {
            return Err(trace.error(node, "a message of 0 bytes"));
        }
        Ok(match sends {
            true => Act::Send { to: peer, bytes, tag },
            false => Act::Recv { from: Some(peer), bytes, tag: Some(tag) },
        })
    }

    fn request(&self, node: &TraceNode<'_>) -> Result<Request, WorkError> {
        let trace = self.trace;
        let comm_type = trace.number(node, "comm_type")?;
        let kind = kind_of(comm_type).ok_or_else(|| {
            let hint = format!("correct the trace, or what wrote it; known are {}", COMM_TYPES.join(", "));
            let problem = format!("comm_type {comm_type} is none of the schema's");
            WorkError::new(trace.position(node), problem, hint)
        })?;
        let root = match kind {
            CollectiveKind::Broadcast
            | CollectiveKind::Reduce
            | CollectiveKind::Gather
            | CollectiveKind::Scatter => trace.optional_number(node, "root")?,
            _ => None,
        };
        let bytes = match kind {
            CollectiveKind::Barrier => 0,
            _ => trace.number(node, "comm_size")?,
        };
        Ok(Request { kind, bytes, root: root.map(|root| u32::try_from(root).unwrap_or(u32::MAX)) })
    }

    /// What a node that computes runs after: its stream or thread.
    fn lane(&self, node: &TraceNode<'_>) -> Result<Lane, WorkError> {
        if self.trace.is_on_cpu(node)? {
            return Ok(Lane::Thread(self.trace.integer(node, "tid")?));
        }
        let stream = self.trace.integer(node, "stream")?;
        Ok(if node.kind == Kind::Memory && stream.is_none() { Lane::Copies } else { Lane::Stream(stream) })
    }

    /// Operations and bytes of a node of the accelerator. The host's are not counted: a roofline is the accelerator's
    /// (astra-sim, `Workload::issue`).
    fn effort(&self, node: &TraceNode<'_>, lane: Lane) -> Result<(u64, u64), WorkError> {
        let of = |name| self.trace.optional_number(node, name).map(Option::unwrap_or_default);
        match (node.kind, lane) {
            (_, Lane::Thread(_)) | (Kind::Other, _) => Ok((0, 0)),
            (Kind::Memory, _) => Ok((0, of("tensor_size")?)),
            _ => Ok((of("num_ops")?, of("tensor_size")?)),
        }
    }
}
