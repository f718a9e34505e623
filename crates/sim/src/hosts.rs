//! Hosts: flows begin, packets reach their connection, flows end.

mod attention;
mod counters;
mod ends;
mod foresight;
mod multipath;
mod rdma;
mod work;

use crate::connections::{AnyReceiver, AnySender, Connection, Connections, Message, Subflow};
use crate::door::Opened;
use crate::jobs::AwaitedJobs;
use crate::network::{Address, Fate, Network, Served};
use crate::pinning::Pinned;
use crate::slab::PacketId;
use crate::timers::Timer;
use crate::transport::Transport;
use crate::{FlowRecord, Framing, Kind, Packet, SimulationError, WindowSample, marks};
use anabranch_fabric::Fabric;
use anabranch_split::picks::mix;
use anabranch_traffic::{Flow, PlacedWork, Start};
use foresight::Foreseen;
use multipath::Multipaths;
use std::collections::HashMap;
use work::Works;

/// No window was written down yet.
const NO_WINDOW: u64 = u64::MAX;

/// All hosts and what they do.
pub(crate) struct Hosts {
    transports: Vec<Transport>,
    framing: Framing,
    salt: u32,
    flows: Vec<Flow>,
    /// Labels of each flow that is pinned, by flow. Empty if none is.
    pinned: Vec<Option<Pinned>>,
    /// Port of each host.
    port_of: Vec<u32>,
    connections: Connections,
    multipaths: Multipaths,
    pub(crate) records: Vec<FlowRecord>,
    /// Flows that wait for another: `(awaited, waiting)`, sorted.
    waiting: Vec<(u32, u32)>,
    /// Jobs that flows wait for.
    awaited_jobs: AwaitedJobs,
    /// Graphs whose messages are flows.
    works: Works,
    foreseen: Foreseen,
    pub(crate) begun: u64,
    pub(crate) finished: u64,
    /// Flows that have begun, or will at a time that is known, and may yet finish.
    pub(crate) hopeful: u64,
    /// Window of each flow that was written down last, if it is watched; [`NO_WINDOW`] before the first.
    /// Empty if none is.
    watched: Vec<Option<u64>>,
    pub(crate) windows: Vec<WindowSample>,
    /// Flows of each connection that ended while segments of theirs were under way, each with the position of
    /// its first byte in the stream, ascending.
    past: HashMap<u32, Vec<(u64, u32)>>,
    /// What the application of each flow had received when it began to count. Empty if it always did.
    omitted: Vec<u64>,
}

impl Hosts {
    pub(crate) fn new(
        fabric: &Fabric,
        (flows, works): (&[Flow], &[PlacedWork]),
        pinned: Vec<Option<Pinned>>,
        transports: &[Transport],
        framing: Framing,
        seed: u64,
        window_flows: &[u32],
    ) -> Self {
        let mut waiting: Vec<(u32, u32)> = (0..)
            .zip(flows)
            .filter_map(|(index, flow)| match flow.start {
                Start::At(_) | Start::AfterJob { .. } | Start::Ready { .. } => None,
                Start::After { flow: awaited, .. } => Some((awaited, index)),
            })
            .collect();
        waiting.sort_unstable();
        let mut watched = vec![None; if window_flows.is_empty() { 0 } else { flows.len() }];
        for &flow in window_flows {
            watched[flow as usize] = Some(NO_WINDOW);
        }
        let works = Works::new(works, flows);
        let timed = flows.iter().filter(|flow| matches!(flow.start, Start::At(_))).count() as u64;
        Self {
            transports: rdma::with_round_trips(transports, fabric, framing),
            framing,
            salt: mix::finalise(seed as u32 ^ mix::finalise((seed >> 32) as u32)),
            flows: flows.to_vec(),
            pinned,
            port_of: (0..fabric.hosts()).map(|host| fabric.ports_of(host)[0]).collect(),
            connections: Connections::default(),
            multipaths: Multipaths::default(),
            records: vec![
                FlowRecord { start_ps: u64::MAX, fct_ps: u64::MAX, ..FlowRecord::default() };
                flows.len()
            ],
            waiting,
            awaited_jobs: AwaitedJobs::of(flows),
            foreseen: Foreseen::default(),
            begun: 0,
            finished: 0,
            hopeful: timed + works.count(),
            works,
            watched,
            windows: Vec::new(),
            past: HashMap::new(),
            omitted: Vec::new(),
        }
    }

    /// Sets the timers of all flows that begin at a time.
    pub(crate) fn schedule(&self, network: &mut Network) {
        network.start((0..).zip(&self.flows).filter_map(|(index, flow)| match flow.start {
            Start::At(at_ps) => Some((at_ps, index)),
            Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => None,
        }));
        self.schedule_works(network);
    }

    pub(crate) fn timer(&mut self, timer: Timer, network: &mut Network) -> Result<(), SimulationError> {
        self.foresee_timers(timer, network);
        match timer {
            Timer::Start(flow) => return self.begin(flow, network),
            Timer::Sender(name) => self.wake_sender(name, network),
            Timer::Receiver(name) => self.wake_receiver(name, network),
            Timer::Work(number) => self.work_due(number, network),
            Timer::SwitchBalancer(..) | Timer::HostBalancer(..) | Timer::Pause(..) => {}
        }
        Ok(())
    }

    /// Hash of a connection's header fields, as switches compute it, in one direction. A flow's first subflow
    /// has what a flow of one connection would have.
    fn entropy(&self, flow: u32, subflow: u8, back: bool) -> u32 {
        let of_flow = mix::finalise(mix::absorb(mix::absorb(self.salt, flow), back.into()));
        if subflow == 0 { of_flow } else { mix::finalise(mix::absorb(of_flow, subflow.into())) }
    }

    fn begin(&mut self, index: u32, network: &mut Network) -> Result<(), SimulationError> {
        let flow = self.flows[index as usize];
        let message = Message { flow: index, first: 0, end: flow.size_bytes, delivered: false, ended: false };
        self.records[index as usize].start_ps = network.now_ps;
        self.begun += 1;
        let transport = &self.transports[usize::from(flow.transport)];
        if let Transport::Mptcp(mptcp) = transport {
            let (subflows, window_max_bytes) = (mptcp.subflows, mptcp.tcp.window_max_bytes);
            return self.begin_multipath(message, subflows, window_max_bytes, network);
        }
        let persistent = matches!(transport, Transport::Tcp(tcp) if tcp.persistent) && flow.path.is_none();
        let idle =
            if persistent { self.connections.take_idle(flow.src, flow.dst, flow.transport) } else { None };
        let name = match idle {
            Some(name) => {
                let Some(connection) = self.connections.get(name) else { return Ok(()) };
                let first = connection.message.end;
                connection.message = Message { first, end: first + flow.size_bytes, ..message };
                connection.restart_counters();
                let opened = Opened { connection: name, fresh: false, ..Opened::of(index, &flow) };
                ends::announce(&opened, network);
                name
            }
            None => self.connect(message, None, network)?,
        };
        let transport = &self.transports[usize::from(flow.transport)];
        let Some(connection) = self.connections.get(name) else { return Ok(()) };
        let (end, mut outlet) = connection.sender(network);
        match (end, transport) {
            (AnySender::Stream(sender), Transport::Tcp(tcp)) => {
                if idle.is_none() {
                    sender.open(tcp, self.framing, &mut outlet);
                }
                sender.write(tcp, self.framing, flow.size_bytes, &mut outlet);
            }
            (AnySender::Datagrams(datagrams), Transport::Udp(udp)) => {
                datagrams.write(udp, self.framing, flow.size_bytes, &mut outlet);
            }
            (AnySender::Roce(sender), Transport::Roce(roce)) => {
                sender.begin(roce, self.framing, flow.size_bytes, &mut outlet);
            }
            _ => {}
        }
        self.watch(name, network.now_ps);
        Ok(())
    }

    /// A connection for a flow, or for one of its subflows; still closed.
    fn connect(
        &mut self,
        message: Message,
        subflow: Option<Subflow>,
        network: &mut Network,
    ) -> Result<u32, SimulationError> {
        let flow = self.flows[message.flow as usize];
        let pinned = self.pinned.get(message.flow as usize).copied().flatten();
        let number = subflow.map_or(0, |subflow| subflow.index);
        let (entropy_forth, entropy_back) =
            (self.entropy(message.flow, number, false), self.entropy(message.flow, number, true));
        let connection = self.connections.open(Connection::blank)?;
        let name = connection.sending.address.connection;
        connection.message = message;
        connection.subflow = subflow;
        connection.transport = flow.transport;
        connection.sending.address = Address {
            connection: name,
            host: flow.src,
            port: self.port_of[flow.src as usize],
            destination: flow.dst,
            entropy: entropy_forth,
            labels: pinned.map(|pinned| pinned.forth),
        };
        connection.receiving.address = Address {
            connection: name,
            host: flow.dst,
            port: self.port_of[flow.dst as usize],
            destination: flow.src,
            entropy: entropy_back,
            labels: pinned.map(|pinned| pinned.back),
        };
        connection.reset(&self.transports[usize::from(flow.transport)]);
        let opened = Opened { connection: name, ..Opened::of(message.flow, &flow) };
        ends::announce(&opened, network);
        Ok(name)
    }

    /// A packet reaches its host.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, id: PacketId, network: &mut Network) {
        let mut packet = *network.packets.get(id);
        if packet.marks & marks::TRIMMED != 0 && !self.takes_trimmed(&packet) {
            return network.drop_header(id);
        }
        network.consume(id);
        // What comes late, after its connection closed, is nobody's.
        if network.host_balancer.is_some()
            && !packet.kind.is_probe()
            && self.connections.get(packet.connection).is_some()
        {
            network
                .with_host_balancer(|host, network| host.receive(packet.destination, &mut packet, network));
        }
        match packet.kind {
            Kind::Probe | Kind::Pause => {}
            Kind::HostProbe => {
                network.with_host_balancer(|host, network| host.probe(packet.destination, &packet, network));
            }
            Kind::Data | Kind::Syn => self.reach_receiver(&packet, network),
            Kind::Ack | Kind::SynAck | Kind::Sack | Kind::Nack | Kind::Cnp | Kind::Credit => {
                self.reach_sender(&packet, network);
            }
            Kind::Datagram => {
                let Some(connection) = self.connections.get(packet.connection) else { return };
                if let AnyReceiver::Datagrams(receiver) = &mut connection.receiving.end {
                    receiver.receive(&packet);
                    attention::note_arrival(connection.message.flow, &packet, network);
                }
                self.settle_datagram(packet.connection, network);
            }
        }
    }

    fn reach_receiver(&mut self, packet: &Packet, network: &mut Network) {
        let Some(connection) = self.connections.get(packet.connection) else {
            return self.count_end(packet, Fate::Delivered);
        };
        let Some(tcp) = self.transports[usize::from(connection.transport)].tcp() else {
            return self.reach_rdma_receiver(packet, network);
        };
        let Message { flow, first, ended, .. } = connection.message;
        let of_another = (ended || packet.seq < first) && packet.kind == Kind::Data;
        let (end, mut outlet) = connection.receiver(network);
        let AnyReceiver::Stream(receiver) = end else { return };
        let before = of_another.then_some(receiver.counters);
        receiver.receive(tcp, self.framing, packet, &mut outlet);
        if let Some(before) = before {
            receiver.counters = before;
            return self.count_end(packet, Fate::Delivered);
        }
        let delivered = receiver.delivered();
        if packet.kind == Kind::Data {
            attention::note_arrival(flow, packet, network);
        }
        self.account(packet.connection, delivered, network);
    }

    /// A receiver has so many bytes in order.
    #[inline(always)]
    fn account(&mut self, name: u32, delivered: u64, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if let Some(subflow) = connection.subflow {
            self.pass_up(subflow, delivered, network);
        } else if delivered >= connection.message.end && !connection.message.delivered {
            self.deliver_last(name, network);
        }
    }

    fn reach_sender(&mut self, packet: &Packet, network: &mut Network) {
        let Some(connection) = self.connections.get(packet.connection) else { return };
        if let Some(subflow) = connection.subflow {
            self.reach_subflow(subflow, packet, network);
            return;
        }
        let Transport::Tcp(tcp) = &self.transports[usize::from(connection.transport)] else {
            return self.reach_rdma_sender(packet, network);
        };
        let (end, mut outlet) = connection.sender(network);
        let AnySender::Stream(sender) = end else { return };
        sender.receive(tcp, self.framing, packet, &mut outlet);
        let done = sender.idle() && connection.message.delivered;
        if !self.watched.is_empty() {
            self.watch(packet.connection, network.now_ps);
        }
        if done {
            self.end(packet.connection, network);
        }
    }

    fn wake_sender(&mut self, name: u32, network: &mut Network) {
        let framing = self.framing;
        let Some(connection) = self.connections.get(name) else { return };
        if connection.sending.wake_ps != network.now_ps {
            return;
        }
        connection.sending.wake_ps = u64::MAX;
        if let Some(subflow) = connection.subflow {
            self.wake_subflow(subflow, network);
            return;
        }
        let transport = &self.transports[usize::from(connection.transport)];
        let (end, mut outlet) = connection.sender(network);
        match (end, transport) {
            (AnySender::Stream(sender), Transport::Tcp(tcp)) => {
                sender.wake(tcp, framing, &mut outlet);
                self.watch(name, network.now_ps);
            }
            (AnySender::Datagrams(datagrams), Transport::Udp(udp)) => {
                datagrams.wake(udp, framing, &mut outlet);
            }
            (AnySender::Roce(sender), Transport::Roce(roce)) => {
                sender.wake(roce, framing, &mut outlet);
                self.watch(name, network.now_ps);
            }
            _ => {}
        }
    }

    /// A card's turns are due: it hands packets to its port, and who waited for room there goes on.
    pub(crate) fn serve_card(&mut self, network: &mut Network) {
        let Some(host) = network.begin_service() else { return };
        let port = self.port_of[host as usize];
        while let Served::Half(starved) = network.serve(host, port) {
            if let Some(name) = starved {
                self.resume_sender(name, network);
            }
        }
        network.end_service(host, port);
    }

    /// A sender has room in its host's card again.
    fn resume_sender(&mut self, name: u32, network: &mut Network) {
        let framing = self.framing;
        let Some(connection) = self.connections.get(name) else { return };
        if let Some(subflow) = connection.subflow {
            self.resume_subflow(subflow, network);
            return;
        }
        let transport = &self.transports[usize::from(connection.transport)];
        let (end, mut outlet) = connection.sender(network);
        match (end, transport) {
            (AnySender::Stream(sender), Transport::Tcp(tcp)) => sender.push(tcp, framing, &mut outlet),
            (AnySender::Datagrams(datagrams), Transport::Udp(udp)) => {
                datagrams.resume(udp, framing, &mut outlet);
            }
            (AnySender::Roce(sender), Transport::Roce(roce)) => sender.resume(roce, framing, &mut outlet),
            _ => {}
        }
    }

    fn wake_receiver(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if connection.receiving.wake_ps != network.now_ps {
            return;
        }
        connection.receiving.wake_ps = u64::MAX;
        let Some(tcp) = self.transports[usize::from(connection.transport)].tcp() else { return };
        let (end, mut outlet) = connection.receiver(network);
        let AnyReceiver::Stream(receiver) = end else { return };
        receiver.wake(tcp, self.framing, &mut outlet);
        let delivered = receiver.delivered();
        self.account(name, delivered, network);
    }

    /// A datagram arrived or was lost. The flow ends when all are accounted for, and has finished if none is missing.
    fn settle_datagram(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        let AnySender::Datagrams(datagrams) = &connection.sending.end else { return };
        let AnyReceiver::Datagrams(receiver) = &connection.receiving.end else { return };
        let FlowRecord { dropped_packets, lost_packets, .. } = self.records[connection.message.flow as usize];
        let settled_packets = receiver.counters.delivered_packets + dropped_packets + lost_packets;
        let all = datagrams.idle() && settled_packets == datagrams.counters.sent_packets;
        if receiver.delivered() >= connection.message.end {
            self.deliver_last(name, network);
        }
        if all {
            self.end(name, network);
        }
    }

    /// The last byte of a flow was handed to the application.
    fn deliver_last(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        connection.message.delivered = true;
        let flow = connection.message.flow;
        let record = &mut self.records[flow as usize];
        record.fct_ps = network.now_ps - record.start_ps;
        self.finished += 1;
        self.hopeful -= 1;
        if let Start::Ready { work, node } = self.flows[flow as usize].start {
            self.message_delivered(work, node, network);
        }
        let first = self.waiting.partition_point(|&(awaited, _)| awaited < flow);
        for &(_, waiting) in self.waiting[first..].iter().take_while(|&&(awaited, _)| awaited == flow) {
            if let Start::After { delay_ps, .. } = self.flows[waiting as usize].start {
                self.hopeful += 1;
                network.wake_at(network.now_ps + delay_ps, Timer::Start(waiting));
            }
        }
        if self.awaited_jobs.is_empty() {
            return;
        }
        for &(waiting, delay_ps) in self.awaited_jobs.delivered(self.flows[flow as usize].job) {
            self.hopeful += 1;
            network.wake_at(network.now_ps + delay_ps, Timer::Start(waiting));
        }
    }

    /// Nothing of a flow is left: its counters are final and its connection is free, or idle.
    fn end(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        // A late acknowledgement on an idle connection ends nothing: its message has ended before.
        if std::mem::replace(&mut connection.message.ended, true) {
            return;
        }
        if !connection.message.delivered {
            // Datagrams, of which some are lost: nobody sends them again.
            self.hopeful -= 1;
        }
        connection.write_counters(&mut self.records);
        let Connection { transport, message, .. } = *connection;
        if self.records[message.flow as usize].left_packets() > 0 {
            self.past.entry(name).or_default().push((message.first, message.flow));
        }
        let persistent =
            matches!(&self.transports[usize::from(transport)], Transport::Tcp(tcp) if tcp.persistent);
        if persistent && self.flows[message.flow as usize].path.is_none() {
            self.connections.keep_idle(name);
        } else {
            self.close(name, network);
        }
    }

    /// Port of each host.
    pub(crate) fn port_of(&self) -> &[u32] {
        &self.port_of
    }

    pub(crate) fn connections_peak(&self) -> usize {
        self.connections.peak()
    }

    fn watch(&mut self, name: u32, now_ps: u64) {
        if self.watched.is_empty() {
            return;
        }
        let Some(connection) = self.connections.get(name) else { return };
        let window_bytes = match &connection.sending.end {
            AnySender::Stream(sender) => sender.window_bytes(),
            AnySender::Roce(sender) => sender.window_bytes(),
            AnySender::Datagrams(_) => return,
        };
        let flow = connection.message.flow;
        self.note_window(flow, window_bytes, now_ps);
    }

    fn note_window(&mut self, flow: u32, window_bytes: u64, now_ps: u64) {
        let Some(last_bytes) = &mut self.watched[flow as usize] else { return };
        if *last_bytes != window_bytes {
            *last_bytes = window_bytes;
            self.windows.push(WindowSample { flow, time_ps: now_ps, window_bytes });
        }
    }
}
