//! Flows over several connections: what MPTCP does with the subflows of a flow.

use super::Hosts;
use super::census::Happening;
use super::windows::Allowance;
use crate::connections::{Connection, Message, Outlet, Subflow};
use crate::network::Network;
use crate::transport::mptcp::{Coupling, DataStream, Pace, interval_bytes};
use crate::transport::{Host, ReceiverCounters, Sender, SenderCounters, SendingHalf, Stored};
use crate::{Kind, Packet, SimulationError};
use anabranch_traffic::Flow;
use rustc_hash::FxHashMap;
use std::ops::Range;

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
    /// Slots of the flows whose sender is in another part of the fabric.
    received: FxHashMap<u32, u32>,
}

impl Multipaths {
    /// A free slot.
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(Multipath::default());
            self.all.len() as u32 - 1
        })
    }
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

/// What a subflow carries of a message: the end of a flow is no position in a subflow's stream.
pub(super) fn message_of_subflow(message: Message) -> Message {
    Message { end: u64::MAX, ..message }
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
        let slot = self.multipaths.take();
        for index in 0..subflows {
            let entropies = self.entropies(message.flow, index, network);
            let subflow = Some(Subflow { multipath: slot, index });
            let name = self.connect((message_of_subflow(message), index), subflow, entropies, network)?;
            self.multipaths.all[slot as usize].connections.push(name);
        }
        let is_received_elsewhere = self.is_received_elsewhere(message.flow);
        let multipath = &mut self.multipaths.all[slot as usize];
        multipath.data.reset(message.end, subflows, window_max_bytes);
        if is_received_elsewhere {
            multipath.data.report_elsewhere();
        }
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
        let Multipath { data, connections, .. } = &mut self.multipaths.all[subflow.multipath as usize];
        let (is_whole, first) = (data.pass_up(subflow.index, delivered), connections[0]);
        if self.is_received_here(first) {
            // What has been handed up needs no mapping here: its sender has its own.
            self.multipaths.all[subflow.multipath as usize].data.acknowledge(subflow.index, delivered);
        }
        if is_whole {
            // From now on all subflows may close.
            for index in 1..self.subflows(subflow.multipath) {
                let name = self.multipaths.all[subflow.multipath as usize].connections[usize::from(index)];
                self.note_arrived(name, network.now_ps);
                if let Some(connection) = self.connections.get(name) {
                    connection.message.delivered = true;
                }
            }
            self.deliver_last(first, network);
        }
    }

    /// A subflow opens here whose sender is in another part of the fabric.
    pub(super) fn expect_subflow(&mut self, name: u32, (flow, index): (u32, u8)) -> Option<Subflow> {
        let Flow { transport, size_bytes, .. } = *self.flows.flow(flow);
        let mptcp = self.transports[usize::from(transport)].mptcp()?;
        let multipaths = &mut self.multipaths;
        let slot = match multipaths.received.get(&flow) {
            Some(&slot) => slot,
            None => {
                let slot = multipaths.take();
                multipaths.received.insert(flow, slot);
                let data = &mut multipaths.all[slot as usize].data;
                data.reset(size_bytes, mptcp.subflows, mptcp.tcp.window_max_bytes);
                slot
            }
        };
        multipaths.all[slot as usize].connections.push(name);
        Some(Subflow { multipath: slot, index })
    }

    /// A subflow's sender, in another part of the fabric, was given bytes of a flow.
    pub(super) fn hear_mapping(&mut self, flow: u32, index: u8, data: Range<u64>) {
        if let Some(&slot) = self.multipaths.received.get(&flow) {
            self.multipaths.all[slot as usize].data.give(index, data);
        }
    }

    /// Reports what a flow's subflows were given, if its receiver is in another part of the fabric.
    fn report_mappings(&mut self, slot: u32, flow: u32, network: &Network) {
        let Some(remote) = &mut self.remote else { return };
        for (subflow, Range { start, end }) in self.multipaths.all[slot as usize].data.take_unreported() {
            remote.report(0, Happening::Mapped { flow, subflow, start, end }, network);
        }
    }

    /// The subflows of a flow, received here and sent from another part, have closed. Returns their connections.
    pub(super) fn close_subflows(&mut self, slot: u32) -> Vec<u32> {
        let flow = self.write_multipath(slot);
        self.multipaths.received.remove(&flow);
        self.multipaths.free.push(slot);
        std::mem::take(&mut self.multipaths.all[slot as usize].connections)
    }

    /// Bytes of a flow that have not arrived on any subflow, at least.
    pub(super) fn missing_bytes_of_multipath(&self, slot: u32) -> u64 {
        let Multipath { data, connections, .. } = &self.multipaths.all[slot as usize];
        let arrived_bytes = |&name: &u32| {
            let connection = self.connections.peek(name)?;
            let (_, received) = connection.counters(&self.transports[usize::from(connection.transport)]);
            Some(received.delivered_bytes)
        };
        data.size().saturating_sub(connections.iter().filter_map(arrived_bytes).sum())
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
        let flow = connection.message.flow;
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
        self.report_mappings(subflow.multipath, flow, network);
    }

    /// Every byte is acknowledged: the subflows end, whatever they have still outstanding.
    fn end_multipath(&mut self, slot: u32, network: &mut Network) {
        let flow = self.write_multipath(slot);
        let pair = self.pair_of(flow);
        let is_part = self.remote.is_some();
        let leaves_some = !is_part && self.flows.record(flow).left_packets() > 0;
        let mut connections = std::mem::take(&mut self.multipaths.all[slot as usize].connections);
        if leaves_some {
            self.past_subflows.insert(flow, connections.clone());
        } else if !is_part {
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
