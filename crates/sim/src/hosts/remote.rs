//! Hosts of a part of the fabric: connections whose other half is in another part.
//!
//! All parts know all flows. A sender's half is opened where its host is, when its flow begins; the receiver's when the parts
//! meet after that, before anything can have arrived. Between the halves go packets alone, with two exceptions. A connection
//! closes for both halves at once, when its sender has everything acknowledged: the parts report when that was
//! ([`super::census`]), and what a receiver does that has all of its message, and so may be closed, waits until that is
//! known, if an answer may have reached the sender since. And which bytes of a flow of MPTCP each subflow carries stands in
//! no packet: the sender's part reports it ([`super::multipath`]).

use super::Hosts;
use super::announcements::Announcements;
use super::census::{Census, Happening, Step};
use super::multipath::message_of_subflow;
use super::names::Names;
use crate::SimulationError;
use crate::connections::Connection;
use crate::cut::Cut;
use crate::flow_record::Fate;
use crate::network::Network;
use crate::{FlowRecord, Packet};
use anabranch_traffic::{Flow, PlacedWork, Start};
use rustc_hash::FxHashMap;

/// Connections of a part of the fabric.
#[derive(Default)]
pub(crate) struct Remote {
    /// Whether each host is in this part.
    pub(super) here: Vec<bool>,
    /// Port of the link that ends at each host.
    pub(super) downlinks: Vec<u32>,
    /// Start of the last flow of all that begins at a time, in picoseconds.
    last_start_ps: u64,
    pub(super) names: Names,
    /// Connections that were named here, each with its flow.
    named: Vec<(u32, u32)>,
    /// Steps of connections since the last meeting.
    steps: Vec<Step>,
    pub(super) census: Census,
    /// When senders in other parts had everything acknowledged whose receiver is here.
    pub(super) closings: FxHashMap<u32, u64>,
    /// When messages of other parts had arrived whole, in picoseconds, and how long an answer takes at least.
    pub(super) arrived_ps: FxHashMap<u32, u64>,
    pub(super) answer_ps: u64,
    /// Counts of segments that no half counts, by connection.
    ends: FxHashMap<u32, FlowRecord>,
    pub(super) announcements: Announcements,
    /// Receivers here that have not all of their message, once they are asked for.
    receiving: Option<Vec<u32>>,
    /// Flows of this part that wait for others and will open a connection.
    pub(crate) waiting: u64,
    /// Flows that waited and whose receiver, in another part, has not heard of them: it will hope for them.
    posted: u64,
    /// Events that another part counts.
    pub(crate) repeated: u64,
}

/// Connections of a part when its run is over.
#[derive(Default)]
pub(crate) struct RemoteOutcome {
    /// Connections that it named, each with its flow.
    pub(crate) named: Vec<(u32, u32)>,
    /// Counts of segments that no half counted, by connection.
    pub(crate) ends: FxHashMap<u32, FlowRecord>,
    /// Most connections that were open at once in the whole fabric.
    pub(crate) peak: u64,
}

impl Remote {
    /// Whether a host is in this part.
    pub(super) fn has(&self, host: u32) -> bool {
        self.here[host as usize]
    }

    /// Name for a connection whose sender is here.
    ///
    /// # Errors
    /// No name is left.
    pub(super) fn name(&mut self) -> Result<u32, SimulationError> {
        self.names.take()
    }

    /// Reports a step of a connection that happens now.
    pub(super) fn report(&mut self, name: u32, what: Happening, network: &Network) {
        let position = network.crossing.as_ref().map_or(0, |crossing| crossing.position);
        self.steps.push(Step { position, name, what });
    }

    /// Takes the steps since the last meeting, which all parts hear of.
    pub(crate) fn take_steps(&mut self) -> Vec<Step> {
        self.posted = 0;
        std::mem::take(&mut self.steps)
    }

    /// Counts what became of a segment of a connection.
    pub(super) fn count_end(&mut self, packet: &Packet, fate: Fate) {
        self.ends.entry(packet.connection).or_default().count_end(packet.payload_bytes, fate);
    }
}

impl Hosts<'_> {
    /// Makes these the hosts of a part of a fabric: says which port's link ends at each host, and how long an answer takes at
    /// least to another part. To be called before flows are scheduled.
    pub(crate) fn set_part(&mut self, cut: &Cut, part: u32, downlinks: Vec<u32>, answer_ps: u64) {
        let here = (0..downlinks.len() as u32).map(|host| cut.part_of(host) == part).collect();
        let names = Names::new(part, cut.parts() as u32);
        self.remote = Some(Box::new(Remote { here, downlinks, names, answer_ps, ..Remote::default() }));
    }

    /// Notes the flows that begin at a time, and returns those that begin in this part. All flows are loaded.
    pub(super) fn note_starts(&mut self, mut starts: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
        let Some(remote) = &mut self.remote else { return starts };
        remote.last_start_ps = starts.iter().map(|&(at_ps, _)| at_ps).max().unwrap_or(0);
        let flows = &self.flows;
        let finishes_here =
            |flow: &Flow| remote.has(self.transports[usize::from(flow.transport)].finishes_at(flow));
        self.hopeful += starts.iter().filter(|&&(_, flow)| finishes_here(flows.flow(flow))).count() as u64;
        if !self.in_order {
            // Whether each flow begins at all: those of graphs that do not, and what waits for them, never do.
            let mut begins: Vec<bool> = Vec::new();
            let mut jobs_begin: FxHashMap<u32, bool> = FxHashMap::default();
            for flow in (0..flows.loaded()).map(|number| flows.flow(number)) {
                begins.push(match flow.start {
                    Start::At(_) => true,
                    Start::After { flow, .. } => begins[flow as usize],
                    Start::AfterJob { job, .. } => jobs_begin.get(&job) != Some(&false),
                    Start::Ready { work, .. } => self.works.start_ps(work) != PlacedWork::NEVER_PS,
                });
                if let (Some(job), Some(&begins)) = (flow.job, begins.last()) {
                    *jobs_begin.entry(job).or_insert(true) &= begins;
                }
                let waits = !matches!(flow.start, Start::At(_)) && begins.last() == Some(&true);
                remote.waiting += u64::from(waits && remote.has(flow.src));
            }
        }
        starts.retain(|&(_, flow)| remote.has(flows.flow(flow).src));
        self.set_announcements();
        starts
    }

    /// Start of the last flow that begins at a time, in picoseconds.
    pub(crate) fn last_start_ps(&self) -> u64 {
        self.remote.as_ref().map_or(0, |remote| remote.last_start_ps)
    }

    /// What this part hopes for, and what it has hoped for and others will.
    pub(crate) fn hopes(&self) -> u64 {
        self.hopeful + self.remote.as_ref().map_or(0, |remote| remote.posted)
    }

    /// Reports that a connection opened here, if this is a part.
    pub(super) fn report_opening(&mut self, name: u32, (index, queue_pair): (u32, u8), network: &Network) {
        let begins = self.begins_what_waited(index, queue_pair);
        let Some(remote) = &mut self.remote else { return };
        let Flow { dst, .. } = *self.flows.flow(index);
        remote.named.push((name, index));
        let is_received_here = remote.has(dst);
        if begins {
            remote.waiting -= 1;
            if !remote.has(dst) {
                self.hopeful -= 1;
                remote.posted += 1;
            }
        }
        let start_ps = self.flows.record(index).start_ps;
        remote.report(name, Happening::Opened { flow: index, queue_pair, start_ps }, network);
        if is_received_here {
            self.expect_announcement(name, index);
        }
    }

    /// Takes in a step of a connection, of this part or another.
    pub(crate) fn take_step(&mut self, step: Step, network: &mut Network) {
        match step.what {
            Happening::Opened { flow, queue_pair, start_ps } => {
                self.open_receiver(step.name, (flow, queue_pair), start_ps, network);
            }
            Happening::Acknowledged { .. } if self.is_received_here(step.name) => {
                if let Some(remote) = &mut self.remote {
                    remote.closings.insert(step.name, step.position);
                }
            }
            Happening::Announced { flow, port, at_ps } => self.hear(flow, port, at_ps, network),
            Happening::Mapped { flow, subflow, start, end } => self.hear_mapping(flow, subflow, start..end),
            Happening::Acknowledged { .. } | Happening::Arrived { .. } | Happening::Delivered { .. } => {}
        }
        if let Some(remote) = &mut self.remote
            && !matches!(step.what, Happening::Mapped { .. })
        {
            remote.census.note(step);
        }
    }

    /// Whether a connection, on a queue pair or as a subflow, is the first of a flow that waited for others.
    fn begins_what_waited(&self, flow: u32, queue_pair: u8) -> bool {
        let Flow { start, transport, .. } = *self.flows.flow(flow);
        let is_later_subflow = queue_pair > 0 && self.transports[usize::from(transport)].mptcp().is_some();
        !matches!(start, Start::At(_)) && !self.striped.has_begun(flow) && !is_later_subflow
    }

    /// Opens the receiving half of a connection whose sender is in another part, if its host is here.
    fn open_receiver(
        &mut self,
        name: u32,
        (index, queue_pair): (u32, u8),
        start_ps: u64,
        network: &mut Network,
    ) {
        let Flow { src, dst, .. } = *self.flows.flow(index);
        let begins = self.begins_what_waited(index, queue_pair);
        let Some(remote) = &mut self.remote else { return };
        if !remote.has(dst) || remote.has(src) {
            return;
        }
        self.hopeful += u64::from(begins);
        if let Some(receiving) = &mut remote.receiving {
            receiving.push(name);
        }
        self.flows.record(index).start_ps = start_ps;
        let subflow = self.expect_subflow(name, (index, queue_pair));
        let (message, entropies) = self.expect_part(name, (index, queue_pair), network);
        let message = if subflow.is_some() { message_of_subflow(message) } else { message };
        self.connections.open_as(name, Connection::blank);
        self.set_up(name, (message, queue_pair), subflow, entropies, network);
        self.expect_announcement(name, index);
    }

    /// Time before which some flow that is received here cannot have all of its bytes, if nothing of this part
    /// happens before `now_ps`: its link carries no more. Zero if no receiver waits for any, or where frames are rounded down
    /// to whole nanoseconds, perhaps to none.
    pub(crate) fn incomplete_until_ps(&mut self, now_ps: u64, network: &Network) -> u64 {
        if self.framing.whole_ns {
            return 0;
        }
        let Some(asked) = self.remote.as_mut().map(|remote| remote.receiving.take()) else { return 0 };
        let mut receiving = asked.unwrap_or_else(|| {
            let receivers = self.connections.iter().filter(|one| one.open && !one.message.delivered);
            receivers.map(|one| one.sending.address.connection).collect()
        });
        let mut latest_ps = 0;
        receiving.retain(|&name| {
            let connection = self.connections.peek(name).filter(|one| !one.message.delivered);
            if let Some(connection) = connection {
                latest_ps = latest_ps.max(now_ps + self.missing_ps(connection, network));
            }
            connection.is_some()
        });
        if let Some(remote) = &mut self.remote {
            remote.receiving = Some(receiving);
        }
        latest_ps
    }

    /// Time in picoseconds that the bytes take on a receiver's link, at least, which its message, or its flow of MPTCP, misses.
    fn missing_ps(&self, connection: &Connection, network: &Network) -> u64 {
        let transport = &self.transports[usize::from(connection.transport)];
        let missing_bytes = match connection.subflow {
            Some(subflow) => self.missing_bytes_of_multipath(subflow.multipath),
            None => {
                let (_, received) = connection.counters(transport);
                connection.message.end.saturating_sub(received.delivered_bytes)
            }
        };
        // One frame may have left its link already.
        let behind_bytes = missing_bytes.saturating_sub(transport.payload_bytes_max(self.framing).into());
        let Some(remote) = &self.remote else { return 0 };
        let downlink = remote.downlinks[connection.receiving.address.host as usize];
        network.ports[downlink as usize].bytes_ps(behind_bytes)
    }

    /// What is left of the connections when the run is over.
    pub(crate) fn take_remote(&mut self, network: &mut Network) -> RemoteOutcome {
        self.settle_closings(u64::MAX, network);
        let Some(remote) = self.remote.take() else { return RemoteOutcome::default() };
        RemoteOutcome { named: remote.named, ends: remote.ends, peak: remote.census.peak }
    }
}
