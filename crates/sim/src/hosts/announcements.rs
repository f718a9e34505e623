//! Deliveries that another part of the fabric waits for, announced before they happen.
//!
//! What has been delivered lets the next thing begin in the same moment, wherever that is. A packet is on its last link for
//! that link's delay at least, and the look-ahead of such runs is no longer: so when the parts meet, every packet that a host
//! gets in the next window is on its way there. A copy of the receiver takes those packets first, and says what they complete.

use super::Hosts;
use super::census::Happening;
use super::queue_pairs::Striped;
use crate::network::{Network, source};
use crate::queue::NEVER_PS;
use crate::transport::{AnyReceiver, Host};
use crate::{Kind, Packet, marks};
use anabranch_traffic::Start;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// Deliveries that other parts hear of, and that this part hears of.
#[derive(Default)]
pub(super) struct Announcements {
    /// Whether another part waits for each flow; of those that are received here.
    announces: Vec<bool>,
    /// Whether this part waits for each flow; of those that are received elsewhere.
    awaits: Vec<bool>,
    /// Connections whose delivery is to be announced, the first to be looked at first: none is whole before its time, in
    /// picoseconds.
    open: BinaryHeap<Reverse<(u64, u32)>>,
    /// When the flows that were announced, and have not been delivered, will be.
    announced: FxHashMap<u32, u64>,
    /// Flows that others have announced, each with its time, by the port whose link delivers them.
    heard: FxHashMap<u32, VecDeque<(u64, u32)>>,
}

impl Announcements {
    /// Whether there is nothing to announce or to hear.
    fn is_empty(&self) -> bool {
        self.announces.is_empty() && self.awaits.is_empty()
    }

    fn announces(&self, flow: u32) -> bool {
        self.announces.get(flow as usize) == Some(&true)
    }
}

/// A receiver's host before its packets have arrived: nothing that the copy wants happens.
struct Before {
    now_ps: u64,
}

impl Host for Before {
    fn now_ps(&self) -> u64 {
        self.now_ps
    }

    fn send(&mut self, _: Packet) {}

    fn wake_at(&mut self, _: u64) {}
}

/// What is delivered by the packets on one link, in their order.
#[derive(Default)]
struct Foretold {
    copies: FxHashMap<u32, AnyReceiver>,
    /// Connections that are whole then.
    whole: FxHashSet<u32>,
    /// Those of them that are delivered, on their queue pair.
    delivered: FxHashSet<u32>,
    /// Parts that each message lacks then.
    undelivered: FxHashMap<u32, u32>,
    flows: Vec<(u64, u32)>,
}

impl Foretold {
    /// A connection has all of a flow, or of its part of it.
    fn complete(&mut self, name: u32, flow: u32, at_ps: u64, striped: &mut Striped) {
        self.whole.insert(name);
        if !striped.carries(flow) {
            self.flows.push((at_ps, flow));
            return;
        }
        let parts = match striped.undelivered_with(flow, name) {
            None => vec![(name, flow)],
            Some(queue) => queue
                .iter()
                .take_while(|part| part.arrived || self.whole.contains(&part.connection))
                .map(|part| (part.connection, part.flow))
                .collect(),
        };
        for (name, flow) in parts {
            if !self.delivered.insert(name) {
                continue;
            }
            let left = self.undelivered.entry(flow).or_insert_with(|| striped.undelivered_parts(flow));
            *left -= 1;
            if *left == 0 {
                self.flows.push((at_ps, flow));
            }
        }
    }
}

impl Hosts<'_> {
    /// Finds out who waits for what in other parts. All flows are loaded.
    pub(super) fn set_announcements(&mut self) {
        let Some(remote) = &mut self.remote else { return };
        let count = self.flows.loaded() as usize;
        let (mut announces, mut awaits) = (vec![false; count], vec![false; count]);
        let flows = &self.flows;
        let mut note = |awaited: u32, waiting_host: u32| {
            let ends_here = remote.has(flows.flow(awaited).dst);
            let waits_here = remote.has(waiting_host);
            if ends_here && !waits_here {
                announces[awaited as usize] = true;
            } else if !ends_here && waits_here {
                awaits[awaited as usize] = true;
            }
        };
        for &(awaited, waiting) in &self.waiting {
            note(awaited, flows.flow(waiting).src);
        }
        for index in 0..count as u32 {
            let flow = flows.flow(index);
            for &(waiting, _) in self.awaited_jobs.waiting(flow.job) {
                note(index, flows.flow(waiting).src);
            }
            if let Start::Ready { work, node } = flow.start {
                self.works.hosts_after(work, node).for_each(|host| note(index, host));
            }
        }
        if announces.contains(&true) || awaits.contains(&true) {
            remote.announcements = Announcements { announces, awaits, ..Announcements::default() };
        }
    }

    /// A connection whose receiver is here has opened for a flow.
    pub(super) fn expect_announcement(&mut self, name: u32, flow: u32) {
        if let Some(remote) = &mut self.remote
            && remote.announcements.announces(flow)
        {
            remote.announcements.open.push(Reverse((0, name)));
        }
    }

    /// Links are faster, perhaps: all that is open is looked at anew.
    pub(crate) fn look_again(&mut self) {
        let Some(remote) = &mut self.remote else { return };
        let open = std::mem::take(&mut remote.announcements.open);
        remote.announcements.open = open.into_iter().map(|Reverse((_, name))| Reverse((0, name))).collect();
    }

    /// Announces what is delivered before a time, up to which no packet arrives that is not on its way to its host.
    pub(crate) fn announce(&mut self, until_ps: u64, network: &mut Network) {
        let Some(remote) = &mut self.remote else { return };
        let mut links = BTreeSet::new();
        let mut later = Vec::new();
        while let Some(&Reverse((at_ps, name))) = remote.announcements.open.peek()
            && at_ps < until_ps
        {
            remote.announcements.open.pop();
            let Some(connection) = self.connections.peek(name) else { continue };
            let flow = connection.message.flow;
            let is_whole = connection.message.delivered && !self.striped.is_undelivered(flow);
            if is_whole || remote.announcements.announced.contains_key(&flow) {
                continue;
            }
            let port = remote.downlinks[connection.receiving.address.host as usize];
            let transport = &self.transports[usize::from(connection.transport)];
            let (_, received) = connection.counters(transport);
            let missing_bytes = connection.message.end.saturating_sub(received.delivered_bytes);
            // One frame may have left the link already; frames may be rounded down to no time.
            let behind_bytes = missing_bytes.saturating_sub(transport.payload_bytes_max(self.framing).into());
            let link_ps = network.ports[port as usize].bytes_ps(behind_bytes);
            let whole_ps = if self.framing.whole_ns { 0 } else { network.now_ps.saturating_add(link_ps) };
            if whole_ps < until_ps {
                links.insert(port);
            }
            later.push(Reverse((whole_ps, name)));
        }
        remote.announcements.open.extend(later);
        for port in links {
            self.announce_of(port, until_ps, network);
        }
    }

    /// Announces what the packets on the link of a port deliver before a time.
    fn announce_of(&mut self, port: u32, until_ps: u64, network: &mut Network) {
        let mut foretold = Foretold::default();
        let coming = network.ports[port as usize].coming_arrivals();
        for (id, now_ps) in coming.take_while(|&(_, arrive_ps)| arrive_ps < until_ps) {
            let packet = *network.packets.get(id);
            // Without its payload a packet completes nothing.
            if packet.marks & marks::TRIMMED != 0 || !matches!(packet.kind, Kind::Data | Kind::Syn) {
                continue;
            }
            let Some(connection) = self.connections.peek(packet.connection) else { continue };
            let message = connection.message;
            if message.delivered || foretold.whole.contains(&packet.connection) {
                continue;
            }
            let transport = &self.transports[usize::from(connection.transport)];
            let copy =
                foretold.copies.entry(packet.connection).or_insert_with(|| connection.receiving.end.clone());
            copy.receive(transport, self.framing, &packet, || true, &mut Before { now_ps });
            if copy.delivered(transport) >= message.end {
                foretold.complete(packet.connection, message.flow, now_ps, &mut self.striped);
            }
        }
        let Some(remote) = &mut self.remote else { return };
        for (at_ps, flow) in foretold.flows {
            if remote.announcements.announces(flow)
                && remote.announcements.announced.insert(flow, at_ps).is_none()
            {
                remote.report(0, Happening::Announced { flow, port, at_ps }, network);
            }
        }
    }

    /// A flow is delivered here.
    ///
    /// # Panics
    /// Another part waits for it, and has not heard of it: the look-ahead was wrong.
    pub(super) fn check_announced(&mut self, flow: u32, now_ps: u64) {
        if let Some(remote) = &mut self.remote
            && remote.announcements.announces(flow)
        {
            let announced = remote.announcements.announced.remove(&flow);
            assert_eq!(announced, Some(now_ps), "flow {flow} is announced to the parts that wait for it");
        }
    }

    /// Hears that a flow will be delivered elsewhere, by the link of a port.
    pub(super) fn hear(&mut self, flow: u32, port: u32, at_ps: u64, network: &mut Network) {
        let Some(remote) = &mut self.remote else { return };
        if remote.announcements.awaits.get(flow as usize) != Some(&true) {
            return;
        }
        let heard = remote.announcements.heard.entry(port).or_default();
        if heard.is_empty() {
            network.ports[port as usize].make_room();
            network.queue.set(source::PORTS + port as usize, at_ps);
        }
        heard.push_back((at_ps, flow));
        self.hopeful += 1;
    }

    /// Whether what a link to a node delivers happens elsewhere, and is heard of here.
    #[inline(always)]
    pub(crate) fn hears_of(&self, node: u32) -> bool {
        self.remote.as_ref().is_some_and(|remote| {
            !remote.announcements.is_empty() && remote.here.get(node as usize) == Some(&false)
        })
    }

    /// What was announced of a port's link happens now, in another part: what waited for it here begins.
    pub(crate) fn delivered_elsewhere(&mut self, port: u32, network: &mut Network) {
        let Some(remote) = &mut self.remote else { return };
        // That part counts the event.
        remote.repeated += 1;
        let Some(heard) = remote.announcements.heard.get_mut(&port) else { return };
        let due = heard.partition_point(|&(at_ps, _)| at_ps <= network.now_ps);
        let flows: Vec<u32> = heard.drain(..due).map(|(_, flow)| flow).collect();
        let next_ps = heard.front().map_or(NEVER_PS, |&(at_ps, _)| at_ps);
        network.queue.set(source::PORTS + port as usize, next_ps);
        self.hopeful -= flows.len() as u64;
        for flow in flows {
            self.start_waiting(flow, network);
        }
    }
}
