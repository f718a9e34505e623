//! Messages over several queue pairs, or over those that their hosts keep.
//!
//! Each part of a message has a connection of its own, from its first packet to the end of the whole message: numbers of
//! packets begin anew in each. A queue pair that is kept has its entropy, congestion control and pace through all messages.
//! They follow each other on it: the next begins when the last byte of the one before has been sent, shares its window while
//! answers to both are under way, and is delivered after it.

use super::Hosts;
use super::windows::Allowance;
use crate::SimulationError;
use crate::connections::Message;
use crate::network::Network;
use crate::pair::{Pair, Stream};
use crate::timers::Timer;
use crate::transport::control::Kept;
use crate::transport::{QueuePairMode, QueuePairs, ReceiverCounters, SenderCounters};
use anabranch_split::picks::mix;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A part that has begun.
pub(super) struct Part {
    pub(super) connection: u32,
    /// Number of its queue pair.
    pub(super) queue_pair: u8,
    pub(super) ended: bool,
}

/// A message in parts.
pub(super) struct Parts {
    /// Number of its hosts among those that keep queue pairs, if they do.
    pub(super) keepers: Option<u32>,
    pub(super) begun: Vec<Part>,
    /// Parts that have not been delivered, and that are not acknowledged, begun or not.
    pub(super) undelivered: u32,
    pub(super) unended: u32,
}

/// A part on a queue pair that is kept, from its beginning until it and all before it are delivered.
pub(super) struct Undelivered {
    pub(super) connection: u32,
    pub(super) flow: u32,
    pub(super) arrived: bool,
}

/// A queue pair that its hosts keep.
#[derive(Default)]
struct KeptPair {
    /// Connection of the part that is being sent.
    sending: Option<u32>,
    /// Those of the parts before it that are not acknowledged yet, the first one first.
    sent: Vec<u32>,
    undelivered: VecDeque<Undelivered>,
    /// Flows whose parts wait for it, each with the bytes of the part.
    waiting: VecDeque<(u32, u64)>,
    /// State for the next message; none before the first, and while the latest has it.
    kept: Option<Kept>,
    past: Option<Past>,
    /// Hashes of its packets, forth and back; none before the first.
    entropies: Option<[u32; 2]>,
}

/// Messages and packets that a queue pair carried so far, of which captured packets tell.
#[derive(Clone, Copy)]
struct Past {
    /// Its name: that of its first connection.
    name: u32,
    messages: u32,
    packets: u32,
}

/// Queue pairs that two hosts keep.
struct KeptPairs {
    hosts: Pair,
    pairs: Vec<KeptPair>,
    /// The one whose turn is next.
    next: usize,
}

/// All messages in parts, by flow, and the queue pairs that hosts keep.
#[derive(Default)]
pub(super) struct Striped {
    messages: FxHashMap<u32, Parts>,
    /// Hosts that keep queue pairs, and their numbers.
    kept: Vec<KeptPairs>,
    keepers: FxHashMap<Pair, u32>,
}

impl Striped {
    /// Whether a flow is a message in parts that has not ended.
    #[inline(always)]
    pub(super) fn carries(&self, flow: u32) -> bool {
        !self.messages.is_empty() && self.messages.contains_key(&flow)
    }

    /// The queue pair that hosts keep on which a flow has this connection.
    fn queue_of(&mut self, flow: u32, connection: u32) -> Option<&mut KeptPair> {
        let parts = self.messages.get(&flow)?;
        let part = parts.begun.iter().find(|part| part.connection == connection)?;
        self.kept[parts.keepers? as usize].pairs.get_mut(usize::from(part.queue_pair))
    }

    /// Whether a flow is a message in parts some of which are not delivered.
    pub(super) fn is_undelivered(&self, flow: u32) -> bool {
        self.messages.get(&flow).is_some_and(|parts| parts.undelivered > 0)
    }

    /// Parts that have not been delivered, in the order in which they are, on the queue pair that hosts keep on which a flow
    /// has this connection.
    pub(super) fn undelivered_with(&mut self, flow: u32, connection: u32) -> Option<&VecDeque<Undelivered>> {
        self.queue_of(flow, connection).map(|queue| &queue.undelivered)
    }

    /// Parts of a message that have not been delivered.
    pub(super) fn undelivered_parts(&self, flow: u32) -> u32 {
        self.messages.get(&flow).map_or(0, |parts| parts.undelivered)
    }

    /// Whether a flow is a message in parts one of which has begun.
    pub(super) fn has_begun(&self, flow: u32) -> bool {
        self.messages.get(&flow).is_some_and(|parts| !parts.begun.is_empty())
    }

    /// A part of a message has begun elsewhere, which is to be delivered here: one of so many, on queue pairs that `keepers`
    /// keep, if they do.
    pub(super) fn expect(
        &mut self,
        flow: u32,
        (connection, queue_pair): (u32, u8),
        (count, keepers): (u32, Option<u32>),
    ) {
        let parts = || Parts { keepers, begun: Vec::new(), undelivered: count, unended: count };
        let parts = self.messages.entry(flow).or_insert_with(parts);
        parts.begun.push(Part { connection, queue_pair, ended: false });
        if let Some(queue) = self.queue_of(flow, connection) {
            queue.undelivered.push_back(Undelivered { connection, flow, arrived: false });
        }
    }

    /// A message has ended elsewhere. Returns its connections.
    pub(super) fn forget(&mut self, flow: u32) -> Vec<u32> {
        let parts = self.messages.remove(&flow);
        parts.map_or_else(Vec::new, |parts| parts.begun.iter().map(|part| part.connection).collect())
    }

    /// Number of two hosts that keep so many queue pairs.
    pub(super) fn number_of(&mut self, hosts: Pair, count: u8) -> u32 {
        *self.keepers.entry(hosts).or_insert_with(|| {
            let pairs = (0..count).map(|_| KeptPair::default()).collect();
            self.kept.push(KeptPairs { hosts, pairs, next: 0 });
            self.kept.len() as u32 - 1
        })
    }
}

impl Hosts<'_> {
    /// A message begins whose parts have queue pairs; `keepers`: its hosts, if they keep them.
    pub(super) fn begin_parts(
        &mut self,
        message: Message,
        pairs: QueuePairs,
        keepers: Option<Pair>,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let sizes: Vec<u64> = pairs.parts(message.end).collect();
        let count = sizes.len() as u32;
        let keepers = keepers.map(|hosts| self.striped.number_of(hosts, pairs.count));
        // What is acknowledged has been delivered, where that happens in another part of the fabric.
        let undelivered = if self.is_received_elsewhere(message.flow) { 0 } else { count };
        let parts = Parts { keepers, begun: Vec::new(), undelivered, unended: count };
        self.striped.messages.insert(message.flow, parts);
        let Some(keepers) = keepers else {
            for (queue_pair, bytes) in (0..).zip(sizes) {
                let entropies = self.entropies(message.flow, queue_pair, network);
                self.begin_part(message.flow, (queue_pair, bytes), entropies, network)?;
            }
            return Ok(());
        };
        let kept = &mut self.striped.kept[keepers as usize];
        for (index, bytes) in sizes.into_iter().enumerate() {
            let at = match pairs.mode {
                QueuePairMode::Split => index,
                QueuePairMode::RoundRobin => {
                    let turn = kept.next;
                    kept.next = (turn + 1) % kept.pairs.len();
                    turn
                }
            };
            kept.pairs[at].waiting.push_back((message.flow, bytes));
        }
        self.begin_waiting_parts(message.flow, network)
    }

    /// Begins the parts of a message whose queue pair sends no other.
    pub(super) fn begin_waiting_parts(
        &mut self,
        flow: u32,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let Some(keepers) = self.striped.messages.get(&flow).and_then(|parts| parts.keepers) else {
            return Ok(());
        };
        for queue_pair in 0..self.striped.kept[keepers as usize].pairs.len() as u8 {
            let queue = &mut self.striped.kept[keepers as usize].pairs[usize::from(queue_pair)];
            let is_next = |front: &&(u32, u64)| front.0 == flow && queue.sending.is_none();
            let Some(&(_, bytes)) = queue.waiting.front().filter(is_next) else { continue };
            queue.waiting.pop_front();
            let entropies = self.kept_entropies(flow, (keepers, queue_pair), network);
            self.begin_part(flow, (queue_pair, bytes), entropies, network)?;
        }
        Ok(())
    }

    /// Hashes of a queue pair that is kept, forth and back, or the numbers of its headers. `flow` is its first.
    pub(super) fn kept_entropies(
        &mut self,
        flow: u32,
        (keepers, queue_pair): (u32, u8),
        network: &mut Network,
    ) -> [u32; 2] {
        let kept = &self.striped.kept[keepers as usize];
        if let Some(entropies) = kept.pairs[usize::from(queue_pair)].entropies {
            return entropies;
        }
        let pair = kept.hosts;
        let number = u32::from(pair.transport) << 8 | u32::from(queue_pair);
        let hashed = [0, 1].map(|back| {
            let hosts = mix::absorb(mix::absorb(mix::finalise(self.salt), pair.src), pair.dst);
            let hosts = match pair.stream {
                Stream::Any => hosts,
                of_graph => mix::absorb(hosts, of_graph.number()),
            };
            mix::finalise(mix::absorb(mix::absorb(hosts, number), back))
        });
        let entropies = self.with_headers(flow, queue_pair, hashed, network);
        self.striped.kept[keepers as usize].pairs[usize::from(queue_pair)].entropies = Some(entropies);
        entropies
    }

    fn begin_part(
        &mut self,
        flow: u32,
        (queue_pair, bytes): (u8, u64),
        entropies: [u32; 2],
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let name = self.connect((Message::whole(flow, bytes), queue_pair), None, entropies, network)?;
        let Some(parts) = self.striped.messages.get_mut(&flow) else { return Ok(()) };
        parts.begun.push(Part { connection: name, queue_pair, ended: false });
        let number = self.flows.flow(flow).transport;
        let transport = &self.transports[usize::from(number)];
        let elsewhere = self.is_received_elsewhere(flow);
        let mut kept = None;
        if let Some(queue) = self.striped.queue_of(flow, name) {
            let past = queue.past.get_or_insert(Past { name, messages: 0, packets: 0 });
            if let Some(recorder) = &mut network.recorder {
                recorder.continues(name, past.name, past.messages, past.packets);
            }
            let packets = bytes.div_ceil(transport.payload_bytes_max(self.framing).into());
            past.messages = past.messages.wrapping_add(1);
            past.packets = past.packets.wrapping_add(packets as u32);
            kept = queue.kept.take();
            if let Some(&latest) = queue.sent.last()
                && kept.is_none()
            {
                let latest = self.connections.get(latest);
                kept = latest.and_then(|latest| latest.sending.end.share(transport, self.framing));
            }
            queue.sending = Some(name);
            if !elsewhere {
                queue.undelivered.push_back(Undelivered { connection: name, flow, arrived: false });
            }
            let shares = !queue.sent.is_empty();
            for &sharing in queue.sent.iter().chain([&name]) {
                let Some(connection) = self.connections.get(sharing) else { continue };
                (connection.message.holds, connection.message.shares) = (sharing == name, shares);
            }
        }
        let Some(connection) = self.connections.get(name) else { return Ok(()) };
        let (end, mut outlet) = connection.sender(network);
        end.begin(transport, self.framing, bytes, kept, &mut outlet);
        self.release_next(name, network);
        self.watch(name, network);
        Ok(())
    }

    /// What follows for the connection itself and for the next message from a step of its sender.
    pub(super) fn settle_step(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if connection.message.shares && !self.striped.carries(connection.message.flow) {
            self.follow_earlier(name);
        }
        self.release_next(name, network);
    }

    /// The sender of a part that holds others back, or shares a window with them, has taken a step: what follows from it for
    /// them.
    #[inline(never)]
    pub(super) fn follow_step(&mut self, name: u32, network: &mut Network) {
        self.settle_step(name, network);
        let Some(connection) = self.connections.get(name) else { return };
        if !connection.message.shares {
            return;
        }
        let Some(queue) = self.striped.queue_of(connection.message.flow, name) else { return };
        let all = queue.sent.iter().copied().chain(queue.sending);
        let others: Vec<u32> = all.filter(|&other| other != name).collect();
        connection.message.shares = !others.is_empty();
        for other in others {
            self.resume_sender(other, network);
        }
    }

    /// Lets the next message follow one that holds it back, if all of that has been sent.
    pub(super) fn release_next(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        if !connection.message.holds || !connection.sending.end.is_sent(transport) {
            return;
        }
        connection.message.holds = false;
        let flow = connection.message.flow;
        let Some(queue) = self.striped.queue_of(flow, name) else {
            return self.end_turn(&self.pair_of(flow), network);
        };
        queue.sending = None;
        queue.sent.push(name);
        if let Some(&(next, _)) = queue.waiting.front() {
            network.wake_at(network.now_ps, Timer::Start(next));
        }
    }

    /// A part arrived whole. It is delivered when those before it on its queue pair are, and with its last part the message.
    pub(super) fn deliver_part(&mut self, flow: u32, name: u32, network: &mut Network) {
        let Some(queue) = self.striped.queue_of(flow, name) else {
            return self.count_delivered(flow, network);
        };
        if let Some(part) = queue.undelivered.iter_mut().find(|part| part.connection == name) {
            part.arrived = true;
        }
        let arrived = queue.undelivered.iter().take_while(|part| part.arrived).count();
        let delivered: Vec<Undelivered> = queue.undelivered.drain(..arrived).collect();
        self.report_order((flow, name), &delivered, network);
        for part in delivered {
            self.count_delivered(part.flow, network);
        }
    }

    fn count_delivered(&mut self, flow: u32, network: &mut Network) {
        let Some(parts) = self.striped.messages.get_mut(&flow) else { return };
        parts.undelivered -= 1;
        if parts.undelivered > 0 {
            return;
        }
        let has_ended = parts.unended == 0;
        self.finish_flow(flow, network);
        if has_ended {
            self.end_parts(flow, network);
        }
    }

    /// All of a part is acknowledged: it leaves its queue pair, and the message ends with its last part.
    pub(super) fn end_part(&mut self, name: u32, network: &mut Network) {
        self.release_next(name, network);
        let Some(connection) = self.connections.get(name) else { return };
        let flow = connection.message.flow;
        let transport = &self.transports[usize::from(connection.transport)];
        let Some(parts) = self.striped.messages.get_mut(&flow) else { return };
        let part = parts.begun.iter_mut().find(|part| part.connection == name && !part.ended);
        let Some(part) = part else { return };
        part.ended = true;
        parts.unended -= 1;
        let has_ended = parts.unended == 0 && parts.undelivered == 0;
        if let Some(queue) = self.striped.queue_of(flow, name) {
            let has_later = queue.sending.is_some() || queue.kept.is_some();
            let is_latest = !has_later && queue.sent.last() == Some(&name);
            queue.sent.retain(|&sent| sent != name);
            let kept = connection.sending.end.leave(transport);
            if is_latest {
                queue.kept = kept;
            }
        }
        if has_ended {
            self.end_parts(flow, network);
        }
    }

    fn end_parts(&mut self, flow: u32, network: &mut Network) {
        self.write_parts(flow);
        let Some(parts) = self.striped.messages.remove(&flow) else { return };
        let names: Vec<u32> = parts.begun.iter().map(|part| part.connection).collect();
        // In parts of a fabric, what becomes of the rest is counted by connection.
        let leaves_some = self.remote.is_none() && self.flows.record(flow).left_packets() > 0;
        for &name in &names {
            if leaves_some {
                self.past.insert(name, vec![(0, flow)]);
            }
            self.close(name, network);
        }
        if leaves_some {
            self.past_subflows.insert(flow, names);
        } else if self.remote.is_none() {
            self.flows.end(flow);
        }
    }

    /// Bounds of the senders of the parts that have not ended, if a flow is in parts.
    pub(super) fn allowances_of_parts(&self, flow: u32, network: &Network) -> Option<Vec<Allowance>> {
        let parts = self.striped.messages.get(&flow)?;
        let open = parts.begun.iter().filter(|part| !part.ended);
        Some(open.filter_map(|part| self.allowance(part.connection, network)).collect())
    }

    /// Writes down the sums over the parts of a flow.
    pub(super) fn write_parts(&mut self, flow: u32) {
        let Some(parts) = self.striped.messages.get(&flow) else { return };
        let (mut sent, mut received) = (SenderCounters::default(), ReceiverCounters::default());
        let transport = &self.transports[usize::from(self.flows.flow(flow).transport)];
        for part in &parts.begun {
            let Some(connection) = self.connections.get(part.connection) else { continue };
            let (of_sender, of_receiver) = connection.counters(transport);
            sent.add(&of_sender);
            received.add(&of_receiver);
        }
        self.refused.not_ready += u64::from(sent.not_ready);
        self.flows.record(flow).count(&sent, &received);
        self.write_received_parts(flow);
    }

    fn write_received_parts(&mut self, flow: u32) {
        let Some(parts) = self.striped.messages.get(&flow) else { return };
        let transport = &self.transports[usize::from(self.flows.flow(flow).transport)];
        let received =
            |part: &Part| self.connections.get(part.connection).map(|part| part.received_bytes(transport));
        self.flows.record(flow).received_bytes = parts.begun.iter().filter_map(received).sum();
    }

    /// Writes down the counters of the flows that are still open.
    pub(super) fn finish_parts(&mut self) {
        let open: Vec<u32> = self.striped.messages.keys().copied().collect();
        open.into_iter().for_each(|flow| self.write_parts(flow));
    }

    /// Writes down what applications have of the flows that are still open.
    pub(super) fn receive_parts(&mut self) {
        let open: Vec<u32> = self.striped.messages.keys().copied().collect();
        open.into_iter().for_each(|flow| self.write_received_parts(flow));
    }
}
