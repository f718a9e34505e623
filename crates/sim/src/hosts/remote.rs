//! Hosts of a part of the fabric: connections whose other half is in another part.
//!
//! All parts know all flows and give their connections the same names. A half is opened where its host is: the sender's when
//! its flow begins, the receiver's when the parts meet before that. Between the halves go packets alone, with one exception:
//! a connection closes for both halves at once, when its sender has all acknowledged. The parts write down when that was, and
//! what a receiver does that has all of its message, and so may be closed, waits until that is known.

use super::Hosts;
use crate::SimulationError;
use crate::connections::{LAST_GENERATION, Message, SLOT_BITS};
use crate::flow_record::Fate;
use crate::network::Network;
use crate::timers::Timer;
use crate::{FlowRecord, Kind, Packet};
use anabranch_traffic::Flow;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// End of a connection: the position of the event in the order of events, and the connection's name.
pub(crate) type Closing = (u64, u32);

/// Connections of a part of the fabric.
#[derive(Default)]
pub(crate) struct Remote {
    /// Whether each host is in this part.
    here: Vec<bool>,
    /// Port of the link that ends at each host.
    downlinks: Vec<u32>,
    /// Flows by start, then number; the first `named` of them have names.
    starts: Vec<(u64, u32)>,
    named: usize,
    /// Name of each flow's connection, once it has one.
    name_of: Vec<u32>,
    names: Names,
    /// Connections that closed here since the last meeting.
    pub(crate) closed: Vec<Closing>,
    /// Connections that closed in any part and whose slots are not free yet.
    unsettled: BTreeSet<Closing>,
    /// When connections closed whose receiver is here, and not their sender.
    closings: FxHashMap<u32, u64>,
    /// Counts of segments that no half counts, by connection.
    ends: FxHashMap<u32, FlowRecord>,
    /// Receivers here that have not all of their message, once no flow is left to begin.
    receiving: Option<Vec<u32>>,
    /// Connections that are open in the whole fabric and the most that were; flows that have begun, as far as counted.
    open: u64,
    peak: u64,
    counted: usize,
}

/// Names of connections: slots that are used again, with their generation above.
#[derive(Default)]
struct Names {
    next: Vec<u32>,
    free: Vec<u32>,
}

impl Names {
    /// A name that no connection has had.
    fn take(&mut self) -> Result<u32, SimulationError> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.next.len() >> SLOT_BITS != 0 => {
                return Err(SimulationError::new(
                    "traffic: no name is left for another connection",
                    "lower the load or the number of flows: a run has 4,294,967,296 names",
                ));
            }
            None => {
                self.next.push(self.next.len() as u32);
                self.next.len() as u32 - 1
            }
        };
        let name = self.next[slot as usize];
        self.next[slot as usize] = name.wrapping_add(1 << SLOT_BITS);
        Ok(name)
    }

    /// Frees the slot of a name, unless it was its last.
    fn free(&mut self, name: u32) {
        if name >> SLOT_BITS != LAST_GENERATION {
            self.free.push(name & ((1 << SLOT_BITS) - 1));
        }
    }
}

impl Remote {
    fn new(here: Vec<bool>, downlinks: Vec<u32>) -> Self {
        Self { here, downlinks, ..Self::default() }
    }

    /// Whether a host is in this part.
    pub(super) fn has(&self, host: u32) -> bool {
        self.here[host as usize]
    }

    /// Name of the connection of a flow that begins now.
    pub(super) fn name_of(&self, flow: u32) -> u32 {
        self.name_of[flow as usize]
    }

    /// Counts what became of a segment of a connection.
    pub(super) fn count_end(&mut self, packet: &Packet, fate: Fate) {
        self.ends.entry(packet.connection).or_default().count_end(packet.payload_bytes, fate);
    }

    /// Counts connections that opened and closed before a position, in order: `start_key` is that of a start.
    fn count_open(&mut self, closing: Option<u64>, start_key: impl Fn(u64) -> u64, last: u64) {
        let until = closing.unwrap_or(last);
        while self.starts.get(self.counted).is_some_and(|&(at_ps, _)| start_key(at_ps) < until) {
            self.counted += 1;
            self.open += 1;
            self.peak = self.peak.max(self.open);
        }
        self.open -= u64::from(closing.is_some());
    }
}

impl Hosts<'_> {
    /// Makes these the hosts of a part of the fabric: says of each host whether it is here, and which port's link ends at it.
    /// To be called before flows are scheduled.
    pub(crate) fn set_part(&mut self, here: Vec<bool>, downlinks: Vec<u32>) {
        self.remote = Some(Box::new(Remote::new(here, downlinks)));
    }

    /// Notes the flows that begin at a time, and returns those that begin in this part.
    pub(super) fn note_starts(&mut self, mut starts: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
        let Some(remote) = &mut self.remote else { return starts };
        remote.starts.clone_from(&starts);
        remote.starts.sort_unstable();
        remote.name_of = vec![u32::MAX; starts.len()];
        let flows = &self.flows;
        self.hopeful += starts.iter().filter(|&&(_, flow)| remote.has(flows.flow(flow).dst)).count() as u64;
        starts.retain(|&(_, flow)| remote.has(flows.flow(flow).src));
        starts
    }

    /// Start of the last flow, in picoseconds.
    pub(crate) fn last_start_ps(&self) -> u64 {
        self.remote.as_ref().and_then(|remote| remote.starts.last()).map_or(0, |&(at_ps, _)| at_ps)
    }

    /// Gives names to the connections of the flows that begin before a time, and opens those whose receiver is here and not
    /// their sender.
    ///
    /// # Errors
    /// No name is left.
    pub(crate) fn name_starts(
        &mut self,
        before_ps: u64,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        loop {
            let Some(remote) = &mut self.remote else { return Ok(()) };
            let Some(&(start_ps, index)) = remote.starts.get(remote.named) else { return Ok(()) };
            if start_ps >= before_ps {
                return Ok(());
            }
            remote.named += 1;
            remote.name_of[index as usize] = remote.names.take()?;
            let Flow { src, dst, size_bytes, .. } = *self.flows.flow(index);
            if remote.has(dst) && !remote.has(src) {
                self.flows.record(index).start_ps = start_ps;
                let entropies = self.entropies(index, 0, network);
                self.connect(Message::whole(index, size_bytes), None, entropies, network)?;
            }
        }
    }

    /// Takes in when a connection closed.
    pub(crate) fn note_closing(&mut self, closing: Closing) {
        let (position, name) = closing;
        let is_received = self.is_received_here(name);
        let Some(remote) = &mut self.remote else { return };
        remote.unsettled.insert(closing);
        if is_received {
            remote.closings.insert(name, position);
        }
    }

    /// Whether a connection is open whose receiver is here and not its sender.
    fn is_received_here(&self, name: u32) -> bool {
        let (Some(remote), Some(connection)) = (&self.remote, self.connections.peek(name)) else {
            return false;
        };
        let address = &connection.sending.address;
        remote.has(address.destination) && !remote.has(address.host)
    }

    /// Closes connections whose closing all parts have passed, and frees their names: those before `position`.
    pub(crate) fn settle_closings(&mut self, position: u64, start_key: impl Fn(u64) -> u64) {
        loop {
            let Some(remote) = &mut self.remote else { return };
            let Some(&(closing, name)) = remote.unsettled.first() else { return };
            if closing >= position {
                return;
            }
            remote.unsettled.pop_first();
            remote.names.free(name);
            remote.count_open(Some(closing), &start_key, position);
            self.close_receiver(name);
        }
    }

    /// Closes the receiving half of a connection whose sender, in another part, has closed.
    fn close_receiver(&mut self, name: u32) {
        if !self.is_received_here(name) {
            return;
        }
        let Some(connection) = self.connections.get(name) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        connection.write_counters(transport, self.flows.record(connection.message.flow));
        self.connections.close_slot(name);
        if let Some(remote) = &mut self.remote {
            remote.closings.remove(&name);
        }
    }

    /// Whether what a receiving half does next, at a position in the order of events, may depend on whether its sender, in
    /// another part, has closed; closes it if it has. `known`: all that was closed before this position is known.
    pub(crate) fn depends_on_sender(&mut self, name: u32, position: u64, known: u64) -> bool {
        let is_complete = self.connections.peek(name).is_some_and(|connection| connection.message.delivered);
        if !is_complete || !self.is_received_here(name) {
            return false;
        }
        let closing = self.remote.as_ref().and_then(|remote| remote.closings.get(&name)).copied();
        if closing.is_some_and(|closing| closing < position) {
            self.close_receiver(name);
            return false;
        }
        position > known
    }

    /// Whether the receiver of a packet may depend on its sender: see [`Self::depends_on_sender`].
    #[inline(always)]
    pub(crate) fn packet_depends(&mut self, packet: &Packet, position: u64, known: u64) -> bool {
        matches!(packet.kind, Kind::Data | Kind::Syn)
            && self.depends_on_sender(packet.connection, position, known)
    }

    /// Whether a timer that is due now may depend on a sender: see [`Self::depends_on_sender`].
    pub(crate) fn timer_depends(&mut self, timer: Timer, now_ps: u64, position: u64, known: u64) -> bool {
        let Timer::Receiver(_, name) = timer else { return false };
        let is_due = self.connections.peek(name).is_some_and(|one| one.receiving.wake_ps == now_ps);
        is_due && self.depends_on_sender(name, position, known)
    }

    /// Time before which some flow that is received here cannot have all of its bytes, if nothing of this part
    /// happens before `now_ps`: its link carries no more. Zero if no receiver waits for any, or where frames are rounded down
    /// to whole nanoseconds, perhaps to none.
    pub(crate) fn incomplete_until_ps(&mut self, now_ps: u64, network: &Network) -> u64 {
        let Some(remote) = self.remote.as_mut().filter(|_| !self.framing.whole_ns) else { return 0 };
        let (connections, downlinks) = (&self.connections, &remote.downlinks);
        let receiving = remote.receiving.get_or_insert_with(|| {
            let receivers = connections.iter().filter(|one| one.open && !one.message.delivered);
            receivers.map(|one| one.sending.address.connection).collect()
        });
        let mut latest_ps = 0;
        receiving.retain(|&name| {
            let Some(connection) = connections.peek(name).filter(|one| !one.message.delivered) else {
                return false;
            };
            let address = &connection.receiving.address;
            let transport = &self.transports[usize::from(connection.transport)];
            let (_, received) = connection.counters(transport);
            let missing_bytes = connection.message.end.saturating_sub(received.delivered_bytes);
            // One frame may have left its link already.
            let behind_bytes = missing_bytes.saturating_sub(transport.payload_bytes_max(self.framing).into());
            let port = &network.ports[downlinks[address.host as usize] as usize];
            latest_ps = latest_ps.max(now_ps + port.bytes_ps(behind_bytes));
            true
        });
        latest_ps
    }

    /// Names by flow, counts of segments that no half counted by name, and the most connections that were open at once in the
    /// whole fabric by `end_ps`.
    pub(crate) fn take_remote(
        &mut self,
        end_ps: u64,
        start_key: impl Fn(u64) -> u64,
    ) -> (Vec<u32>, FxHashMap<u32, FlowRecord>, u64) {
        self.settle_closings(u64::MAX, &start_key);
        let Some(mut remote) = self.remote.take() else { return Default::default() };
        remote.count_open(None, &start_key, start_key(end_ps) + 1);
        (remote.name_of, remote.ends, remote.peak)
    }
}
