//! Flows over several connections: what MPTCP does with the subflows of a flow.

use super::Hosts;
use super::windows::Allowance;
use crate::connections::{Connection, Message, Outlet, Subflow};
use crate::network::Network;
use crate::transport::mptcp::{Coupling, DataStream, Pace, interval_bytes};
use crate::transport::{Host, ReceiverCounters, Sender, SenderCounters, SendingHalf, Stored};
use crate::{Kind, Packet, SimulationError};

/// A flow of MPTCP.
#[derive(Default)]
struct Multipath {
    data: DataStream,
    /// Its subflows' connections, the one that opened the flow first. Empty while the slot is free.
    connections: Vec<u32>,
    /// Last report of each subflow's sender.
    paces: Vec<Pace>,
    /// Whether the other subflows have followed the first.
    joined: bool,
}

/// All flows of MPTCP that are open.
#[derive(Default)]
pub(super) struct Multipaths {
    all: Vec<Multipath>,
    free: Vec<u32>,
}

/// A subflow's sender's view of its host: new data are the flow's.
struct Feed<'a> {
    outlet: Outlet<'a>,
    data: &'a mut DataStream,
    index: u8,
}

impl Host for Feed<'_> {
    #[inline(always)]
    fn now_ps(&self) -> u64 {
        self.outlet.now_ps()
    }

    #[inline(always)]
    fn send(&mut self, packet: Packet) {
        self.outlet.send(packet);
    }

    #[inline(always)]
    fn room(&mut self, frame_bytes: u16) -> bool {
        self.outlet.room(frame_bytes)
    }

    fn waits(&mut self) -> bool {
        self.outlet.waits()
    }

    #[inline(always)]
    fn wake_at(&mut self, at_ps: u64) {
        self.outlet.wake_at(at_ps);
    }

    fn timed_out(&mut self) {
        self.outlet.timed_out();
        self.data.share(self.index);
    }

    #[inline]
    fn waiting(&mut self, most: u64) -> u64 {
        self.data.waiting(self.index, most)
    }

    #[inline]
    fn take(&mut self, bytes: u64) -> bool {
        self.data.take(self.index, bytes)
    }
}

/// Request to a subflow's sender.
#[derive(Clone, Copy)]
enum Step<'a> {
    Open,
    Push,
    Receive(&'a Packet),
    Wake,
}

impl Hosts<'_> {
    /// A flow of MPTCP begins: its subflows have their connections, and the first opens.
    pub(super) fn begin_multipath(
        &mut self,
        message: Message,
        subflows: u8,
        window_max_bytes: u64,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let slot = self.multipaths.free.pop().unwrap_or_else(|| {
            self.multipaths.all.push(Multipath::default());
            self.multipaths.all.len() as u32 - 1
        });
        // The end of a flow is no position in a subflow's stream.
        let subflow_message = Message { end: u64::MAX, ..message };
        for index in 0..subflows {
            let entropies = self.entropies(message.flow, index, network);
            let subflow = Some(Subflow { multipath: slot, index });
            let name = self.connect((subflow_message, 0), subflow, entropies, network)?;
            self.multipaths.all[slot as usize].connections.push(name);
        }
        let multipath = &mut self.multipaths.all[slot as usize];
        multipath.data.reset(message.end, subflows, window_max_bytes);
        multipath.paces.clear();
        multipath.paces.resize(subflows.into(), None);
        multipath.joined = false;
        self.step(Subflow { multipath: slot, index: 0 }, Step::Open, network);
        self.push_all(slot, network);
        self.watch_multipath(slot, network);
        Ok(())
    }

    /// A sender's packet, for a subflow: the flow's acknowledgement number may advance, others may have room then.
    pub(super) fn reach_subflow(&mut self, subflow: Subflow, packet: &Packet, network: &mut Network) {
        let slot = subflow.multipath;
        let multipath = &mut self.multipaths.all[slot as usize];
        let has_room = packet.kind == Kind::Ack && multipath.data.acknowledge(subflow.index, packet.seq);
        let ends = multipath.data.is_acknowledged();
        self.step(subflow, Step::Receive(packet), network);
        let joins = !ends
            && subflow.index == 0
            && !std::mem::replace(&mut self.multipaths.all[slot as usize].joined, true);
        if joins {
            self.join(slot, network);
        }
        if has_room || joins {
            self.push_all(slot, network);
        }
        self.watch_multipath(slot, network);
        if ends {
            self.end_multipath(slot, network);
        }
    }

    /// A subflow's sender is woken. If it times out, what it has outstanding may go over the others.
    pub(super) fn wake_subflow(&mut self, subflow: Subflow, network: &mut Network) {
        let slot = subflow.multipath;
        self.step(subflow, Step::Wake, network);
        if self.multipaths.all[slot as usize].data.has_strays() {
            self.push_all(slot, network);
        }
        self.watch_multipath(slot, network);
    }

    /// A subflow's sender has room in its host's card again.
    pub(super) fn resume_subflow(&mut self, subflow: Subflow, network: &mut Network) {
        self.step(subflow, Step::Push, network);
        self.watch_multipath(subflow.multipath, network);
    }

    /// A subflow's receiver has so many bytes in order.
    pub(super) fn pass_up(&mut self, subflow: Subflow, delivered: u64, network: &mut Network) {
        let multipath = &mut self.multipaths.all[subflow.multipath as usize];
        if multipath.data.pass_up(subflow.index, delivered) {
            let first = multipath.connections[0];
            self.deliver_last(first, network);
        }
    }

    /// The other subflows begin, one round trip after the first.
    fn join(&mut self, slot: u32, network: &mut Network) {
        for index in 1..self.subflows(slot) {
            self.step(Subflow { multipath: slot, index }, Step::Open, network);
        }
    }

    fn subflows(&self, slot: u32) -> u8 {
        self.multipaths.all[slot as usize].connections.len() as u8
    }

    /// Offers what is waiting to the subflows by ascending round trip: each takes what its window has room for.
    fn push_all(&mut self, slot: u32, network: &mut Network) {
        let mut last = None;
        loop {
            let paces = self.multipaths.all[slot as usize].paces.iter();
            let keys =
                paces.zip(0u8..).map(|(pace, index)| (pace.map_or(u64::MAX, |(_, rtt_ps)| rtt_ps), index));
            let Some(next) = keys.filter(|key| last.is_none_or(|last| *key > last)).min() else { break };
            last = Some(next);
            self.step(Subflow { multipath: slot, index: next.1 }, Step::Push, network);
        }
    }

    /// Lets a subflow's sender do something, linked to the others as they are now.
    fn step(&mut self, subflow: Subflow, step: Step<'_>, network: &mut Network) {
        let Multipath { data, connections, paces, .. } = &mut self.multipaths.all[subflow.multipath as usize];
        let at = usize::from(subflow.index);
        let Some(connection) = self.connections.get(connections[at]) else { return };
        let Some(mptcp) = self.transports[usize::from(connection.transport)].mptcp() else {
            return;
        };
        let (end, outlet) = connection.sender(network);
        let Some(sender) = Sender::of_mut(end) else { return };
        let mut feed = Feed { outlet, data, index: subflow.index };
        if mptcp.coupling == Coupling::Lia {
            sender.link(interval_bytes(paces));
        }
        match step {
            Step::Open => sender.open(&mptcp.tcp, self.framing, &mut feed),
            Step::Push => sender.push(&mptcp.tcp, self.framing, &mut feed),
            Step::Receive(packet) => sender.receive(&mptcp.tcp, self.framing, packet, &mut feed),
            Step::Wake => sender.wake(&mptcp.tcp, self.framing, &mut feed),
        }
        paces[at] = sender.pace();
    }

    /// Every byte is acknowledged: the subflows end, whatever they have still outstanding.
    fn end_multipath(&mut self, slot: u32, network: &mut Network) {
        let flow = self.write_multipath(slot);
        let pair = self.pair_of(flow);
        let leaves_some = self.flows.record(flow).left_packets() > 0;
        let mut connections = std::mem::take(&mut self.multipaths.all[slot as usize].connections);
        if leaves_some {
            self.past_subflows.insert(flow, connections.clone());
        } else {
            self.flows.end(flow);
        }
        for name in connections.drain(..) {
            if leaves_some {
                self.past.insert(name, vec![(0, flow)]);
            }
            self.close(name, network);
        }
        self.multipaths.all[slot as usize].connections = connections;
        self.multipaths.free.push(slot);
        self.end_turn(&pair, network);
    }

    /// Writes down the counters of the flows that are still open.
    pub(super) fn finish_multipath(&mut self) {
        for slot in 0..self.multipaths.all.len() as u32 {
            if self.subflows(slot) > 0 {
                self.write_multipath(slot);
            }
        }
    }

    /// Writes down what applications have of the flows that are still open.
    pub(super) fn receive_multipath(&mut self) {
        for Multipath { data, connections, .. } in &self.multipaths.all {
            let first = connections.first().and_then(|&name| self.connections.get(name));
            if let Some(Connection { message, .. }) = first {
                self.flows.record(message.flow).received_bytes = data.received();
            }
        }
    }

    /// Writes down the counters of a flow. Returns its number.
    fn write_multipath(&mut self, slot: u32) -> u32 {
        let Multipath { data, connections, .. } = &self.multipaths.all[slot as usize];
        let (mut sent, mut received) = (SenderCounters::default(), ReceiverCounters::default());
        let mut flow = 0;
        for &name in connections {
            let Some(connection) = self.connections.get(name) else { continue };
            flow = connection.message.flow;
            let (of_sender, of_receiver) =
                connection.counters(&self.transports[usize::from(connection.transport)]);
            sent.add(&of_sender);
            received.add(&of_receiver);
        }
        sent.retransmitted_packets += data.reinjected_packets;
        let record = self.flows.record(flow);
        record.count(&sent, &received);
        record.received_bytes = data.received();
        flow
    }

    /// Writes down the sums over the subflows, if the flow is watched.
    fn watch_multipath(&mut self, slot: u32, network: &Network) {
        if self.watched.is_empty() {
            return;
        }
        let connections = &self.multipaths.all[slot as usize].connections;
        let allowances: Vec<Allowance> =
            connections.iter().filter_map(|&name| self.allowance(name, network)).collect();
        let Some(first) = connections.iter().find_map(|&name| self.connections.peek(name)) else { return };
        let flow = first.message.flow;
        self.note_window(flow, &allowances, network.now_ps);
    }
}
