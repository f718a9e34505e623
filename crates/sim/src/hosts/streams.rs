//! Messages of a graph between two hosts, one after the other, where the transport has no queue pairs (those:
//! [`super::queue_pairs`]).
//!
//! The messages of TCP are one stream over one connection: the next is written when the last byte of the one before has been
//! sent, and what the connection carries then are the latest message and those before it that are not acknowledged yet. Each
//! segment counts for the message of its first byte. Messages of MPTCP and datagrams have connections of their own; the next
//! begins when the one before has ended, or been sent.

use super::{Hosts, attention};
use crate::connections::Message;
use crate::flow_record::Fate;
use crate::network::Network;
use crate::pair::{Pair, Stream};
use crate::timers::Timer;
use crate::transport::{ReceiverCounters, SenderCounters, Transport};
use crate::{FlowRecord, Packet};
use anabranch_traffic::{Flow, Start};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// A message before the latest of its connection.
struct Earlier {
    message: Message,
    sent: SenderCounters,
    received: ReceiverCounters,
}

impl Earlier {
    /// Writes down its counters; `delivered`: bytes that the application has of the stream.
    fn write(&self, delivered: u64, record: &mut FlowRecord) {
        record.count(&self.sent, &self.received);
        record.received_bytes = delivered.clamp(self.message.first, self.message.end) - self.message.first;
    }
}

/// Streams, and whose turn it is.
#[derive(Default)]
pub(super) struct Streams {
    /// Messages that wait for the one that is being sent.
    waiting: FxHashMap<Pair, VecDeque<u32>>,
    /// Messages that waited and whose turn it is.
    given: FxHashSet<u32>,
    /// Connection of each pair of hosts.
    connections: FxHashMap<Pair, u32>,
    /// Messages of each connection that were sent before the latest and are not acknowledged, the first one first.
    earlier: FxHashMap<u32, VecDeque<Earlier>>,
}

impl Streams {
    /// Whether a flow has waited and may begin. It is told once.
    #[inline(always)]
    pub(super) fn has_turn(&mut self, flow: u32) -> bool {
        !self.given.is_empty() && self.given.remove(&flow)
    }

    /// The connection of a pair of hosts.
    pub(super) fn connection_of(&self, pair: &Pair) -> Option<u32> {
        self.connections.get(pair).copied()
    }

    /// The message before the latest of a connection that a byte is of.
    fn earlier_at(&mut self, connection: u32, seq: u64) -> Option<&mut Earlier> {
        let earlier = self.earlier.get_mut(&connection)?;
        let next = earlier.partition_point(|one| one.message.first <= seq);
        earlier.get_mut(next.checked_sub(1)?)
    }

    /// Flow of a byte of a connection, before its latest message.
    pub(super) fn earlier_flow(&self, connection: u32, seq: u64) -> Option<u32> {
        let earlier = self.earlier.get(&connection)?;
        let next = earlier.partition_point(|one| one.message.first <= seq);
        earlier.get(next.checked_sub(1)?).map(|one| one.message.flow)
    }
}

impl Hosts<'_> {
    /// The pair of hosts of a flow, and which of its messages follow each other.
    pub(super) fn pair_of(&self, flow: u32) -> Pair {
        let &Flow { src, dst, transport, start, .. } = self.flows.flow(flow);
        let stream = match start {
            Start::Ready { work, node } if !self.needs_receives(transport) => self.works.stream(work, node),
            _ => Stream::Any,
        };
        Pair { src, dst, transport, stream }
    }

    /// Whether messages of a transport wait for a receive, so that one that follows another could wait for ever.
    fn needs_receives(&self, transport: u8) -> bool {
        self.transports[usize::from(transport)].protocol().needs_receives()
    }

    /// Whether messages of two hosts are one stream.
    pub(super) fn is_stream(&self, pair: &Pair) -> bool {
        pair.stream != Stream::Any
            && matches!(self.transports[usize::from(pair.transport)], Transport::Tcp(_))
    }

    /// Whether a message of a graph has to wait for the one before; it is noted then.
    pub(super) fn waits_for_turn(&mut self, flow: u32) -> bool {
        let pair = self.pair_of(flow);
        let transport = &self.transports[usize::from(pair.transport)];
        if pair.stream == Stream::Any || transport.queue_pairs().is_some() {
            return false;
        }
        match self.streams.waiting.get_mut(&pair) {
            Some(waiting) => {
                waiting.push_back(flow);
                true
            }
            None => {
                self.streams.waiting.insert(pair, VecDeque::new());
                false
            }
        }
    }

    /// A message between two hosts holds the next back no longer.
    pub(super) fn end_turn(&mut self, pair: &Pair, network: &mut Network) {
        if pair.stream == Stream::Any {
            return;
        }
        let Some(waiting) = self.streams.waiting.get_mut(pair) else { return };
        match waiting.pop_front() {
            Some(next) => {
                self.streams.given.insert(next);
                network.wake_at(network.now_ps, Timer::Start(next));
            }
            None => drop(self.streams.waiting.remove(pair)),
        }
    }

    /// A connection is that of a stream.
    pub(super) fn begin_stream(&mut self, pair: Pair, name: u32) {
        self.streams.connections.insert(pair, name);
    }

    /// The next message of a stream takes the place of the latest, which stays among the earlier until it is acknowledged.
    pub(super) fn follow_on(&mut self, name: u32, flow: u32, bytes: u64) {
        let Some(connection) = self.connections.get(name) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        let before = connection.message;
        if !before.ended {
            let (sent, received) = connection.counters(transport);
            let earlier = self.streams.earlier.entry(name).or_default();
            earlier.push_back(Earlier { message: before, sent, received });
        }
        let shares = self.streams.earlier.get(&name).is_some_and(|earlier| !earlier.is_empty());
        let (first, end) = (before.end, before.end + bytes);
        connection.message = Message { first, end, holds: true, shares, ..Message::whole(flow, bytes) };
        connection.restart_counters(transport);
    }

    /// A segment arrived of a message before the latest, or before those that have not ended.
    pub(super) fn reach_earlier(&mut self, packet: &Packet, network: &mut Network) {
        let name = packet.connection;
        let Some(connection) = self.connections.get(name) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        let (end, mut outlet) = connection.receiver(network);
        let latest = end.counters(transport);
        let mut earlier = self.streams.earlier_at(name, packet.seq);
        if let Some(earlier) = &earlier {
            end.set_counters(transport, &earlier.received);
        }
        let (_, delivered) = end.receive(transport, self.framing, packet, || true, &mut outlet);
        let received = end.counters(transport);
        end.set_counters(transport, &latest);
        match &mut earlier {
            None => return self.count_end(packet, Fate::Delivered),
            Some(earlier) => {
                earlier.received = received;
                attention::note_arrival(earlier.message.flow, packet, network);
            }
        }
        self.account(name, delivered, network);
    }

    /// A receiver has so many bytes of a stream in order: messages before the latest are delivered by it.
    pub(super) fn deliver_earlier(&mut self, name: u32, delivered: u64, network: &mut Network) {
        let Some(earlier) = self.streams.earlier.get_mut(&name) else { return };
        let reached = earlier.iter_mut().take_while(|one| one.message.end <= delivered);
        let flows: Vec<u32> = reached
            .filter(|one| !one.message.delivered)
            .map(|one| {
                one.message.delivered = true;
                one.message.flow
            })
            .collect();
        for flow in flows {
            self.finish_flow(flow, network);
        }
    }

    /// The sender of a stream with messages before the latest has taken a step: it may have sent some of theirs again, and
    /// those that are acknowledged have ended.
    pub(super) fn follow_earlier(&mut self, name: u32) {
        let Some(connection) = self.connections.get(name) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        for (seq, bytes) in connection.sending.end.take_sent_before(transport) {
            if let Some(earlier) = self.streams.earlier_at(name, seq) {
                earlier.sent.sent_packets += 1;
                earlier.sent.sent_bytes += bytes;
                earlier.sent.retransmitted_packets += 1;
            }
        }
        let Some(earlier) = self.streams.earlier.get_mut(&name) else { return };
        let acknowledged = connection.sending.end.acknowledged(transport);
        let has_ended = |one: &&Earlier| one.message.delivered && one.message.end <= acknowledged;
        let ended = earlier.iter().take_while(has_ended).count();
        for one in earlier.drain(..ended) {
            let Message { flow, first, end, .. } = one.message;
            let record = self.flows.record(flow);
            one.write(end, record);
            if record.left_packets() > 0 {
                self.past.entry(name).or_default().push((first, flow));
            } else {
                self.flows.end(flow);
            }
        }
        if earlier.is_empty() {
            self.streams.earlier.remove(&name);
            connection.message.shares = false;
        }
    }

    /// Writes down the counters of the messages before the latest that are still open.
    pub(super) fn finish_streams(&mut self) {
        for (&name, earlier) in &self.streams.earlier {
            let Some(connection) = self.connections.get(name) else { continue };
            let transport = &self.transports[usize::from(connection.transport)];
            let delivered = connection.receiving.end.delivered(transport);
            for one in earlier {
                one.write(delivered, self.flows.record(one.message.flow));
            }
        }
    }

    /// Writes down what applications have of them.
    pub(super) fn receive_streams(&mut self) {
        for (&name, earlier) in &self.streams.earlier {
            let Some(connection) = self.connections.get(name) else { continue };
            let transport = &self.transports[usize::from(connection.transport)];
            let delivered = connection.receiving.end.delivered(transport);
            for Earlier { message, .. } in earlier {
                self.flows.record(message.flow).received_bytes =
                    delivered.clamp(message.first, message.end) - message.first;
            }
        }
    }
}
