//! Messages over several queue pairs, or over those that their hosts keep.
//!
//! Each part of a message has a connection of its own, from its first packet to the end of the whole message: numbers of
//! packets begin anew in each. A queue pair that is kept has its entropy, congestion control and pace through all messages;
//! it carries one at a time, and the next begins when the one before is acknowledged.

use super::Hosts;
use super::windows::Allowance;
use crate::SimulationError;
use crate::connections::Message;
use crate::network::Network;
use crate::timers::Timer;
use crate::transport::control::Kept;
use crate::transport::{QueuePairMode, QueuePairs, ReceiverCounters, SenderCounters};
use anabranch_split::picks::mix;
use anabranch_traffic::Flow;
use std::collections::{HashMap, VecDeque};

/// Two hosts, sender first, and the transport between them.
type Pair = (u32, u32, u8);

/// A part that has begun.
struct Part {
    connection: u32,
    /// Number of its queue pair.
    queue_pair: u8,
    ended: bool,
}

/// A message in parts.
#[derive(Default)]
struct Parts {
    begun: Vec<Part>,
    /// Parts that have not been delivered, and that are not acknowledged, begun or not.
    undelivered: u32,
    unended: u32,
}

/// A queue pair that its hosts keep.
#[derive(Default)]
struct KeptPair {
    busy: bool,
    /// Flows whose parts wait for it, each with the bytes of the part.
    waiting: VecDeque<(u32, u64)>,
    /// State between two messages; none before the first.
    kept: Option<Kept>,
    past: Option<Past>,
}

/// What a queue pair carried so far, of which captured packets tell.
#[derive(Clone, Copy)]
struct Past {
    /// Its name: that of its first connection.
    name: u32,
    messages: u32,
    packets: u32,
}

/// Queue pairs that two hosts keep.
#[derive(Default)]
struct KeptPairs {
    pairs: Vec<KeptPair>,
    /// The one whose turn is next.
    next: usize,
}

/// All messages in parts, by flow, and the queue pairs that hosts keep.
#[derive(Default)]
pub(super) struct Striped {
    messages: HashMap<u32, Parts>,
    kept: HashMap<Pair, KeptPairs>,
}

impl Striped {
    /// Whether a flow is a message in parts that has not ended.
    #[inline(always)]
    pub(super) fn carries(&self, flow: u32) -> bool {
        !self.messages.is_empty() && self.messages.contains_key(&flow)
    }

    /// Notes that all of a connection was delivered. Whether that makes its flow whole.
    #[inline(always)]
    pub(super) fn delivered(&mut self, flow: u32, is_noted: &mut bool) -> bool {
        let was_noted = std::mem::replace(is_noted, true);
        if self.messages.is_empty() {
            return true;
        }
        let Some(parts) = self.messages.get_mut(&flow) else { return true };
        parts.undelivered -= u32::from(!was_noted);
        !was_noted && parts.undelivered == 0
    }
}

impl Hosts<'_> {
    /// A message begins whose parts have queue pairs.
    pub(super) fn begin_parts(
        &mut self,
        message: Message,
        pairs: QueuePairs,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let sizes: Vec<u64> = pairs.parts(message.end).collect();
        let count = sizes.len() as u32;
        let parts = Parts { begun: Vec::new(), undelivered: count, unended: count };
        self.striped.messages.insert(message.flow, parts);
        if !pairs.persistent {
            for (queue_pair, bytes) in (0..).zip(sizes) {
                let entropies = self.entropies(message.flow, queue_pair);
                self.begin_part(message.flow, (queue_pair, bytes), entropies, network)?;
            }
            return Ok(());
        }
        let pair = self.pair_of(message.flow);
        let kept = self.striped.kept.entry(pair).or_default();
        kept.pairs.resize_with(pairs.count.into(), KeptPair::default);
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

    /// Begins the parts of a message whose queue pair carries no other.
    pub(super) fn begin_waiting_parts(
        &mut self,
        flow: u32,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let pair = self.pair_of(flow);
        let count = self.striped.kept.get(&pair).map_or(0, |kept| kept.pairs.len() as u8);
        for queue_pair in 0..count {
            let Some(kept) = self.striped.kept.get_mut(&pair) else { continue };
            let queue = &mut kept.pairs[usize::from(queue_pair)];
            let Some(&(_, bytes)) = queue.waiting.front().filter(|front| front.0 == flow && !queue.busy)
            else {
                continue;
            };
            queue.waiting.pop_front();
            queue.busy = true;
            let entropies = self.kept_entropies(pair, queue_pair);
            self.begin_part(flow, (queue_pair, bytes), entropies, network)?;
        }
        Ok(())
    }

    fn pair_of(&self, flow: u32) -> Pair {
        let flow = self.flows.flow(flow);
        (flow.src, flow.dst, flow.transport)
    }

    /// Hashes of a queue pair that is kept, forth and back.
    fn kept_entropies(&self, (src, dst, transport): Pair, queue_pair: u8) -> [u32; 2] {
        let number = u32::from(transport) << 8 | u32::from(queue_pair);
        [0, 1].map(|back| {
            let hosts = mix::absorb(mix::absorb(mix::finalise(self.salt), src), dst);
            mix::finalise(mix::absorb(mix::absorb(hosts, number), back))
        })
    }

    fn begin_part(
        &mut self,
        flow: u32,
        (queue_pair, bytes): (u8, u64),
        entropies: [u32; 2],
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let message = Message { flow, first: 0, end: bytes, delivered: false, ended: false };
        let name = self.connect(message, None, entropies, network)?;
        if let Some(parts) = self.striped.messages.get_mut(&flow) {
            parts.begun.push(Part { connection: name, queue_pair, ended: false });
        }
        let pair = self.pair_of(flow);
        let transport = &self.transports[usize::from(pair.2)];
        let kept = self.striped.kept.get_mut(&pair).and_then(|kept| {
            let queue = &mut kept.pairs[usize::from(queue_pair)];
            let past = queue.past.get_or_insert(Past { name, messages: 0, packets: 0 });
            if let Some(recorder) = &mut network.recorder {
                recorder.continues(name, past.name, past.messages, past.packets);
            }
            let packets = bytes.div_ceil(transport.payload_bytes_max(self.framing).into());
            past.messages = past.messages.wrapping_add(1);
            past.packets = past.packets.wrapping_add(packets as u32);
            queue.kept.take()
        });
        let Some(connection) = self.connections.get(name) else { return Ok(()) };
        let (end, mut outlet) = connection.sender(network);
        end.begin(transport, self.framing, bytes, kept, &mut outlet);
        self.watch(name, network);
        Ok(())
    }

    /// All of a part is acknowledged: its queue pair is free for the next, and the message ends with its last part.
    pub(super) fn end_part(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        let flow = connection.message.flow;
        let Flow { src, dst, transport, .. } = *self.flows.flow(flow);
        let Some(parts) = self.striped.messages.get_mut(&flow) else { return };
        let part = parts.begun.iter_mut().find(|part| part.connection == name && !part.ended);
        let Some(part) = part else { return };
        part.ended = true;
        parts.unended -= 1;
        let (queue_pair, is_last) = (usize::from(part.queue_pair), parts.unended == 0);
        if let Some(kept) = self.striped.kept.get_mut(&(src, dst, transport)) {
            let queue = &mut kept.pairs[queue_pair];
            queue.busy = false;
            let transport = &self.transports[usize::from(transport)];
            queue.kept = connection.sending.end.keep(transport);
            if let Some(&(next, _)) = queue.waiting.front() {
                network.wake_at(network.now_ps, Timer::Start(next));
            }
        }
        if is_last {
            self.end_parts(flow, network);
        }
    }

    fn end_parts(&mut self, flow: u32, network: &mut Network) {
        self.write_parts(flow);
        let Some(parts) = self.striped.messages.remove(&flow) else { return };
        let names: Vec<u32> = parts.begun.iter().map(|part| part.connection).collect();
        let leaves_some = self.flows.record(flow).left_packets() > 0;
        for &name in &names {
            if leaves_some {
                self.past.insert(name, vec![(0, flow)]);
            }
            self.close(name, network);
        }
        if leaves_some {
            self.past_subflows.insert(flow, names);
        } else {
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
    fn write_parts(&mut self, flow: u32) {
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
