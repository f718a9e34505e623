//! Everything between the hosts: ports, packets in them, and the queue of what happens next.

mod cards;
mod classed;
mod crossing;
pub(crate) mod recorder;
mod view;

use crate::card::{Arrived, Cards, Owner, Turns};
use crate::classed::Classed;
use crate::door::HostBalancer;
use crate::flow_record::Fate;
use crate::headers::Headers;
use crate::port::{EgressPort, Verdict};
use crate::queue::{self, EventQueue, NEVER_PS};
use crate::slab::{PacketId, Slab};
use crate::telemetry::Telemetry;
use crate::timers::{Timer, Timers};
use crate::{EventKind, Framing, Kind, Nic, Observe, Packet, Queueing, marks};
use anabranch_fabric::{Buffer, Fabric, Marking};
use anabranch_traffic::random::Stream;
use crossing::Crossing;
pub(crate) use crossing::{Letter, Role};
use recorder::Recorder;
use std::sync::Arc;

/// Sources of events, in the order that decides between events of the same time: control first, then timers, then
/// network cards, then ports in an order that is drawn from the seed. By their numbers, a host of the first leaf would win
/// every tie.
pub(crate) mod source {
    /// Changes, routing updates, ends of intervals, samples.
    pub(crate) const CONTROL: usize = 0;
    /// Wake-ups and starts of flows.
    pub(crate) const TIMERS: usize = 1;
    /// Turns of hosts' network cards.
    pub(crate) const CARDS: usize = 2;
    /// The first of the ports.
    pub(crate) const PORTS: usize = 3;
}

/// Sources by rank. The order of the ports is drawn from the seed, each order as likely as any other.
fn ranking(ports: usize, seed: u64) -> Vec<u32> {
    let mut stream = Stream::new(seed, "ties");
    let mut ranked: Vec<u32> = (0..(source::PORTS + ports) as u32).collect();
    let of_ports = &mut ranked[source::PORTS..];
    for last in (1..ports).rev() {
        of_ports.swap(last, stream.below(last as u64 + 1) as usize);
    }
    ranked
}

/// The latest time that runs over a fabric reach: the clock has room for fewer picoseconds the more ports there are.
#[must_use]
pub fn horizon_ps(fabric: &Fabric) -> u64 {
    queue::horizon_ps(source::PORTS + fabric.ports().len())
}

/// Source and destination of packets from one half of a connection.
#[derive(Clone, Copy, Default)]
pub struct Address {
    /// The connection, as in [`Packet::connection`].
    pub connection: u32,
    /// The host's port.
    pub port: u32,
    /// The host itself.
    pub host: u32,
    /// The other host.
    pub destination: u32,
    /// Hashed header fields, as in [`Packet::entropy`].
    pub entropy: u32,
    /// Choices on the path, as in [`Packet::labels`], if the flow is pinned to a path.
    pub labels: Option<u32>,
}

/// Result of a card's turn.
pub(crate) enum Served {
    /// Nobody waits, or the port has enough.
    Nobody,
    /// A queue had its turn; this sender has room in it again and wanted some.
    Half(Option<u32>),
}

/// A segment or datagram that will not arrive, to be counted for its flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) packet: Packet,
    pub(crate) fate: Fate,
}

/// Everything between the hosts, at one moment: what load balancers see and act on.
pub struct Network {
    pub(crate) now_ps: u64,
    pub(crate) queue: EventQueue,
    pub(crate) ports: Vec<EgressPort>,
    /// Queues before the ports, where switches tell classes of traffic apart.
    pub(crate) classed: Option<Box<Classed>>,
    pub(crate) packets: Slab,
    /// Packets that hosts, or switches' load balancers, sent.
    pub(crate) sent: u64,
    /// Packets that reached their host, or the switch that they were for.
    pub(crate) delivered: u64,
    /// Packets that a meter of the load balancer dropped.
    pub(crate) policed: u64,
    /// Headers of trimmed packets whose transport has no use for them.
    pub(crate) headers_arrived: u64,
    /// Packets that found no path, or whose path was dead.
    pub(crate) unroutable: u64,
    /// Packets that blackholes swallowed.
    pub(crate) blackholed: u64,
    /// Messages that load balancers sent, and the bytes of frames by which those between switches arrived, link by link.
    pub(crate) probes: u64,
    pub(crate) probe_link_bytes: u64,
    /// Header fields of connections, where switches hash them.
    pub(crate) headers: Option<Box<Headers>>,
    /// What packets carry of the ports that sent them, where a transport reads it.
    pub(crate) telemetry: Option<Box<Telemetry>>,
    /// Network cards of hosts, where they are fair.
    pub(crate) cards: Option<Cards>,
    /// Load balancing at hosts.
    pub(crate) host_balancer: Option<Box<dyn HostBalancer>>,
    timers: Timers,
    first_timer_ps: u64,
    /// Whether [`Self::ended`] grew.
    pub(crate) attention: bool,
    /// Segments and datagrams that will not arrive, of which hosts have not heard.
    pub(crate) ended: Vec<Ended>,
    /// Records of single packets, where some are asked for.
    pub(crate) recorder: Option<Box<Recorder>>,
    /// Whether a packet that is offered to a port may need more than the port: a recorder, queues before it, or its
    /// other end in another part.
    watched: bool,
    /// Links to other parts, where this is a part of a fabric.
    pub(crate) crossing: Option<Box<Crossing>>,
    /// Ports that the load balancer at work may touch, if not all of them.
    confined: Option<Arc<[bool]>>,
}

impl Network {
    pub(crate) fn new(fabric: &Fabric, framing: Framing, nic: &Nic, seed: u64) -> Self {
        let ports: Vec<EgressPort> = (0..)
            .zip(fabric.ports())
            .map(|(index, port)| {
                let mut port = port.clone();
                if fabric.switches().is_some() || port.from < fabric.hosts() && nic.queueing != Queueing::Fifo
                {
                    (port.buffer, port.marking) = (Buffer::UNLIMITED, Marking::Off);
                }
                let mut egress = EgressPort::new(&port, framing.gap_bytes, Stream::entity_seed(seed, index));
                if nic.jitter {
                    egress.set_jitter(Stream::of_entity(seed, "jitter", index));
                }
                if framing.whole_ns {
                    egress.set_whole_ns();
                }
                egress
            })
            .collect();
        let classed = Classed::of(fabric, framing, nic, seed);
        let frame_bytes = framing.frame_bytes(framing.payload_bytes_max);
        let cards =
            Turns::of(nic.queueing).map(|turns| Cards::new(fabric.hosts(), turns, frame_bytes.into()));
        Self {
            now_ps: 0,
            queue: EventQueue::new(&ranking(ports.len(), seed)),
            ports,
            watched: classed.is_some(),
            classed,
            packets: Slab::default(),
            sent: 0,
            delivered: 0,
            policed: 0,
            headers_arrived: 0,
            unroutable: 0,
            blackholed: 0,
            probes: 0,
            probe_link_bytes: 0,
            headers: None,
            telemetry: None,
            cards,
            host_balancer: None,
            timers: Timers::default(),
            first_timer_ps: NEVER_PS,
            attention: false,
            ended: Vec::new(),
            recorder: None,
            crossing: None,
            confined: None,
        }
    }

    /// Writes down single packets as asked.
    pub(crate) fn record(&mut self, observe: &Observe) {
        self.recorder = Recorder::of(observe, self.ports.len()).map(Box::new);
        self.watched = self.classed.is_some() || self.recorder.is_some();
    }

    /// Hands a packet to a port of a switch.
    #[inline(always)]
    pub fn enqueue(&mut self, port: u32, id: PacketId) {
        self.touch(port);
        self.enqueue_at::<false>(port, id);
    }

    #[inline(always)]
    fn enqueue_at<const HOST: bool>(&mut self, port: u32, id: PacketId) {
        if self.watched {
            self.enqueue_watched::<HOST>(port, id);
        } else {
            self.offer::<HOST>(port, id);
        }
    }

    /// Offers a packet to a port; says whether it took it.
    #[inline(always)]
    fn offer<const HOST: bool>(&mut self, port: u32, id: PacketId) -> bool {
        let packet = self.packets.get(id);
        match self.ports[port as usize].enqueue::<HOST>(self.now_ps, id, packet) {
            Verdict::Next(arrive_ps) => self.queue.insert(source::PORTS + port as usize, arrive_ps),
            Verdict::Queued => {}
            Verdict::Displaced(last) => self.displaced(port, last),
            Verdict::Dropped => {
                self.discard(id, Fate::Dropped, Some(port));
                return false;
            }
            Verdict::Lost => {
                self.discard(id, Fate::Lost, Some(port));
                return false;
            }
        }
        true
    }

    #[inline(never)]
    fn enqueue_watched<const HOST: bool>(&mut self, port: u32, id: PacketId) {
        if self.classed.is_some() {
            self.offer_classed(port, id);
        } else if self.recorder.is_some() {
            self.enqueue_recorded::<HOST>(port, id);
        } else {
            self.offer_in_part::<HOST>(port, id);
        }
    }

    /// Offers a packet to a port, whose link may cross to another part; says whether it took it.
    #[inline(always)]
    fn offer_in_part<const HOST: bool>(&mut self, port: u32, id: PacketId) -> bool {
        match self.crossing.as_ref().and_then(|crossing| crossing.towards(port)) {
            None => self.offer::<HOST>(port, id),
            Some(part) => self.offer_across::<HOST>(port, id, part),
        }
    }

    /// The packet that a port took last lost its slot there to another.
    #[cold]
    fn displaced(&mut self, port: u32, id: PacketId) {
        if let Some(recorder) = &mut self.recorder {
            recorder.take_back(port, self.packets.get(id));
        }
        self.discard(id, Fate::Dropped, Some(port));
    }

    /// Ends a packet that will not arrive; `port` is where it ended, if that was at one.
    #[cold]
    pub(crate) fn discard(&mut self, id: PacketId, fate: Fate, port: Option<u32>) {
        let packet = *self.packets.get(id);
        if let Some(recorder) = &mut self.recorder {
            let what = if fate == Fate::Dropped { EventKind::Dropped } else { EventKind::Lost };
            recorder.note(what, self.now_ps, port, &packet);
        }
        if matches!(packet.kind, Kind::Data | Kind::Datagram) {
            self.ended.push(Ended { packet, fate });
            self.attention = true;
        }
        self.packets.free(id);
    }

    /// The next packet of `port`, which had none or whose packets were timed anew, arrives at `arrive_ps`;
    /// [`NEVER_PS`] if there is none.
    pub(crate) fn set_arrival(&mut self, port: u32, arrive_ps: u64) {
        if self.classed.is_some() {
            self.set_leaf(port);
        } else {
            self.queue.set(source::PORTS + port as usize, arrive_ps);
        }
    }

    /// The port of an event, whose number the queue gave.
    #[inline(always)]
    fn egress(&mut self, port: usize) -> &mut EgressPort {
        debug_assert!(port < self.ports.len(), "a port of this network");
        // SAFETY: the queue has a source for each port, and gives no other an event.
        unsafe { self.ports.get_unchecked_mut(port) }
    }

    /// Takes the packet that arrives at the end of `port`'s link now; `None` if the link lost it.
    #[inline(always)]
    pub(crate) fn arrival(&mut self, port: usize) -> Option<(u32, PacketId)> {
        if self.classed.is_some() {
            return self.classed_event(port as u32);
        }
        let egress = self.egress(port);
        let (id, next_ps) = egress.arrive();
        let (to, lost) = (egress.to, egress.loses());
        self.queue.set(source::PORTS + port, next_ps);
        // Most likely the next event: its port, its slot in the ring and its packet are fetched meanwhile.
        if let Some((_, next)) = self.queue.first()
            && next >= source::PORTS
        {
            let next = self.egress(next - source::PORTS).next_packet();
            self.packets.prefetch(next);
        }
        if lost {
            self.discard(id, Fate::Lost, Some(port as u32));
            return None;
        }
        Some((to, id))
    }

    /// Sends a packet from a host, for a half whose queue in the card was `slot`.
    #[inline(always)]
    pub(crate) fn send(&mut self, address: &Address, owner: Owner, slot: &mut u32, mut packet: Packet) {
        packet.connection = address.connection;
        packet.destination = address.destination;
        packet.entropy = address.entropy;
        packet.path = 0;
        if let Some(labels) = address.labels {
            packet.labels = labels;
            packet.marks |= marks::LABELLED;
        } else if self.host_balancer.is_some() {
            packet = self.balance_at_host(address, packet);
        }
        self.originate(address.host, address.port, owner, slot, packet);
    }

    /// What the hosts' load balancer makes of a packet that is about to leave. It comes and goes by value: with a reference to
    /// the sender's own, runs without such a load balancer take 1.6 % longer (`bench/workloads.md`).
    #[inline(never)]
    fn balance_at_host(&mut self, address: &Address, mut packet: Packet) -> Packet {
        self.with_host_balancer(|host, network| host.send(address, &mut packet, network));
        packet
    }

    /// Sends a packet that is complete: to the port if nobody waits at the host, or else to its queue in the card.
    #[inline(always)]
    fn originate(&mut self, host: u32, port: u32, owner: Owner, slot: &mut u32, packet: Packet) {
        self.sent += 1;
        let frame_bytes = packet.frame_bytes.into();
        let classed = self.classed.is_some();
        let waits = classed && self.waits_in_card(host, port, packet.class() as usize);
        let id = self.packets.insert(packet);
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.originate(id, self.packets.get(id));
        }
        let now_ps = self.now_ps;
        if let Some(cards) = &mut self.cards {
            let egress = &mut self.ports[port as usize];
            let one = cards.one_at_a_time();
            if waits
                || !classed && (one || !cards.is_empty(host) || !egress.is_ready(now_ps, cards.ahead_bytes))
            {
                let idle;
                (*slot, idle) = cards.wait(host, owner, *slot, Arrived { id, frame_bytes }, now_ps);
                if !classed {
                    egress.note_waiting(now_ps, cards.waiting_bytes(host));
                }
                if idle {
                    cards.set_due(host, if classed && !one { now_ps } else { egress.free_ps().max(now_ps) });
                    self.queue.set(source::CARDS, cards.due_ps());
                }
                if classed {
                    self.note_queues(port);
                }
                return;
            }
        }
        self.enqueue_at::<true>(port, id);
    }

    /// Sends a message of a switches' load balancer.
    pub fn send_probe(&mut self, port: u32, mut packet: Packet) {
        self.probes += 1;
        packet.marks |= self.probe_marks();
        self.sent += 1;
        let id = self.packets.insert(packet);
        if let Some(classed) = &mut self.classed {
            classed.note_ingress(id, crate::classed::NOWHERE);
        }
        self.enqueue(port, id);
    }

    /// Sends a message of a hosts' load balancer from a host, whose port is `port`.
    pub fn send_host_probe(&mut self, host: u32, port: u32, mut packet: Packet) {
        self.touch(port);
        self.probes += 1;
        packet.marks |= self.probe_marks();
        let mut slot = self.cards.as_mut().map_or(0, |cards| *cards.own(host));
        self.originate(host, port, Owner::Host(host), &mut slot, packet);
        if let Some(cards) = &mut self.cards {
            *cards.own(host) = slot;
        }
    }

    /// Mark by which a load balancer's message asks for its class.
    fn probe_marks(&self) -> u8 {
        let apart = self.classed.as_ref().is_some_and(|classed| classed.settings.probes_apart);
        if apart { marks::SECOND } else { 0 }
    }

    /// Ends a packet that has reached whom it was for.
    #[inline]
    pub fn consume(&mut self, id: PacketId) {
        self.delivered += 1;
        self.packets.free(id);
    }

    /// Ends a packet that a meter of the load balancer drops.
    pub fn drop_policed(&mut self, id: PacketId) {
        self.policed += 1;
        self.discard(id, Fate::Dropped, None);
    }

    /// Ends a trimmed packet, whose header has reached its host.
    #[cold]
    pub(crate) fn drop_header(&mut self, id: PacketId) {
        self.headers_arrived += 1;
        self.discard(id, Fate::Dropped, None);
    }

    /// Ends a packet that has no path.
    #[cold]
    pub fn unroutable(&mut self, id: PacketId) {
        self.unroutable += 1;
        self.discard(id, Fate::Lost, None);
    }

    /// Ends a packet that a blackhole swallows.
    #[cold]
    pub(crate) fn blackhole(&mut self, id: PacketId) {
        self.blackholed += 1;
        self.discard(id, Fate::Lost, None);
    }

    /// Asks the hosts' load balancer, if there is one.
    pub(crate) fn with_host_balancer(&mut self, ask: impl FnOnce(&mut dyn HostBalancer, &mut Self)) {
        if let Some(mut host) = self.host_balancer.take() {
            ask(&mut *host, self);
            self.host_balancer = Some(host);
        }
    }

    /// Wakes someone at a time that is not past.
    pub(crate) fn wake_at(&mut self, at_ps: u64, timer: Timer) {
        let at_ps = at_ps.max(self.now_ps);
        self.timers.push(at_ps, timer);
        if at_ps < self.first_timer_ps {
            self.first_timer_ps = at_ps;
            self.queue.set(source::TIMERS, at_ps);
        }
    }

    /// Sets the timers of flows, by time and number, that begin at a time.
    pub(crate) fn start(&mut self, flows: impl Iterator<Item = (u64, u32)>) {
        self.timers.start(flows);
        self.first_timer_ps = self.timers.first_ps().unwrap_or(NEVER_PS);
        self.queue.set(source::TIMERS, self.first_timer_ps);
    }

    /// The timer that comes so many after the next, if it is known.
    pub(crate) fn coming_timer(&self, after: usize) -> Option<Timer> {
        self.timers.coming(after)
    }

    /// The next timer.
    pub(crate) fn next_timer(&self) -> Option<Timer> {
        self.timers.first()
    }

    pub(crate) fn due(&mut self) -> Option<Timer> {
        let timer = self.timers.pop();
        self.first_timer_ps = self.timers.first_ps().unwrap_or(NEVER_PS);
        self.queue.set(source::TIMERS, self.first_timer_ps);
        timer
    }
}
