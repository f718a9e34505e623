//! Hosts: flows begin, packets reach their connection, flows end.

mod attention;
mod counters;
mod credits;
mod ends;
mod entropy;
mod flow_table;
mod foresight;
mod multipath;
mod queue_pairs;
mod rdma;
mod starts;
mod windows;
mod work;

use crate::connections::{AnyReceiver, AnySender, Connection, Connections, Message, Subflow};
use crate::door::Opened;
use crate::jobs::AwaitedJobs;
use crate::network::{Address, Fate, Network, Served};
use crate::pinning::Pins;
use crate::slab::PacketId;
use crate::timers::Timer;
use crate::transport::Transport;
use crate::transport::uec::Pacer;
use crate::{FlowRecord, Framing, Kind, Packet, Settings, SimulationError, WindowSample, marks};
use anabranch_fabric::Fabric;
use anabranch_split::picks::mix;
use anabranch_traffic::FlowSource;
use counters::Refused;
use flow_table::{CHUNK_BITS, FlowTable};
use foresight::Foreseen;
use multipath::Multipaths;
use queue_pairs::Striped;
use std::collections::HashMap;
use work::Works;

/// All hosts and what they do.
pub(crate) struct Hosts<'a> {
    transports: Vec<Transport>,
    framing: Framing,
    salt: u32,
    flows: FlowTable<'a>,
    /// Whether flows begin in the order of their numbers, so that a chunk of them can be loaded after the other.
    in_order: bool,
    pins: Pins,
    /// Port of each host.
    port_of: Vec<u32>,
    connections: Connections,
    /// Pacer of each host's grants of credit; none if no transport needs credit.
    pacers: Vec<Pacer>,
    multipaths: Multipaths,
    /// Messages over queue pairs that are not theirs alone.
    striped: Striped,
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
    pub(crate) refused: Refused,
    /// Window and rate of each flow that is watched as they were written down last; `None` before the first time.
    watched: HashMap<u32, Option<windows::Stated>>,
    pub(crate) windows: Vec<WindowSample>,
    /// Flows of each connection that ended while segments of theirs were under way, each with the position of
    /// its first byte in the stream, ascending.
    past: HashMap<u32, Vec<(u64, u32)>>,
    /// Connections of flows of MPTCP that ended so.
    past_subflows: HashMap<u32, Vec<u32>>,
}

impl<'a> Hosts<'a> {
    pub(crate) fn new<C>(
        fabric: &Fabric,
        flows: &'a dyn FlowSource,
        pins: Pins,
        settings: &Settings<C>,
    ) -> Self {
        let outline = flows.outline();
        let (waiting, awaited_jobs) = if outline.in_order {
            Default::default()
        } else {
            (starts::waiting(flows), AwaitedJobs::of(flows))
        };
        let (seed, observe) = (settings.seed, &settings.observe);
        Self {
            transports: rdma::with_times(&settings.transports, fabric, &settings.changes, settings.framing),
            framing: settings.framing,
            salt: mix::finalise(seed as u32 ^ mix::finalise((seed >> 32) as u32)),
            flows: FlowTable::new(flows, outline.flows as usize, observe.omit_ps > 0, CHUNK_BITS),
            in_order: outline.in_order,
            pins,
            port_of: (0..fabric.hosts()).map(|host| fabric.ports_of(host)[0]).collect(),
            connections: Connections::default(),
            pacers: credits::pacers(&settings.transports, fabric.hosts()),
            multipaths: Multipaths::default(),
            striped: Striped::default(),
            waiting,
            awaited_jobs,
            foreseen: Foreseen::default(),
            begun: 0,
            finished: 0,
            hopeful: 0,
            refused: Refused::default(),
            works: Works::new(&settings.works, flows),
            watched: observe.window_flows.iter().map(|&flow| (flow, None)).collect(),
            windows: Vec::new(),
            past: HashMap::new(),
            past_subflows: HashMap::new(),
        }
    }

    /// Records of the flows by number, unless a sink took them.
    pub(crate) fn into_records(self) -> Result<(Vec<FlowRecord>, Vec<WindowSample>), SimulationError> {
        Ok((self.flows.finish()?, self.windows))
    }

    pub(crate) fn timer(&mut self, timer: Timer, network: &mut Network) -> Result<(), SimulationError> {
        self.foresee_timers(timer, network);
        match timer {
            Timer::Start(flow) => return self.begin(flow, network),
            Timer::Sender(name) => self.wake_sender(name, network),
            Timer::Receiver(name) => self.wake_receiver(name, network),
            Timer::Work(number) => self.work_due(number, network),
            Timer::Pacer(host) => self.grant(host, network),
            Timer::SwitchBalancer(..) | Timer::HostBalancer(..) | Timer::Pause(..) => {}
        }
        Ok(())
    }

    fn begin(&mut self, index: u32, network: &mut Network) -> Result<(), SimulationError> {
        if self.striped.carries(index) {
            return self.begin_waiting_parts(index, network);
        }
        if self.flows.is_last_loaded(index) {
            self.load(network)?;
        }
        let flow = *self.flows.flow(index);
        let message = Message { flow: index, first: 0, end: flow.size_bytes, delivered: false, ended: false };
        self.flows.record(index).start_ps = network.now_ps;
        self.begun += 1;
        let transport = &self.transports[usize::from(flow.transport)];
        if let Transport::Mptcp(mptcp) = transport {
            let (subflows, window_max_bytes) = (mptcp.subflows, mptcp.tcp.window_max_bytes);
            return self.begin_multipath(message, subflows, window_max_bytes, network);
        }
        if let Some(pairs) = transport.queue_pairs().filter(|pairs| !pairs.is_one_each()) {
            return self.begin_parts(message, pairs, network);
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
            None => self.connect(message, None, self.entropies(index, 0), network)?,
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
                sender.begin(roce, self.framing, flow.size_bytes, None, &mut outlet);
            }
            (AnySender::Uec(sender), Transport::Uec(uec)) => {
                sender.begin(uec, self.framing, flow.size_bytes, None, &mut outlet);
            }
            _ => {}
        }
        self.watch(name, network);
        Ok(())
    }

    /// A connection for a flow, or for a part of it; still closed.
    fn connect(
        &mut self,
        message: Message,
        subflow: Option<Subflow>,
        [entropy_forth, entropy_back]: [u32; 2],
        network: &mut Network,
    ) -> Result<u32, SimulationError> {
        let flow = *self.flows.flow(message.flow);
        let pinned = self.pins.of(&flow);
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
        let transport = &self.transports[usize::from(flow.transport)];
        connection.reset(transport);
        attention::note_opening(name, &flow, &message, (transport, self.framing), network);
        let opened = Opened { connection: name, ..Opened::of(message.flow, &flow) };
        ends::announce(&opened, network);
        Ok(name)
    }

    /// A packet reaches its host.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, id: PacketId, network: &mut Network) {
        let mut packet = *network.packets.get(id);
        if let Some(telemetry) = &mut network.telemetry {
            telemetry.arrive(id);
        }
        if packet.marks & marks::TRIMMED == 0 {
            network.consume(id);
        } else {
            // Its payload is gone, whatever the transport makes of its header.
            network.drop_header(id);
            if !self.takes_trimmed(&packet) {
                return;
            }
        }
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
            Kind::Data | Kind::Syn | Kind::Request => self.reach_receiver(&packet, network),
            Kind::Ack
            | Kind::SynAck
            | Kind::Sack
            | Kind::Nack
            | Kind::Cnp
            | Kind::Credit
            | Kind::NotReady => {
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
            if packet.marks & marks::TRIMMED == 0 {
                self.count_end(packet, Fate::Delivered);
            }
            return;
        };
        let Some(tcp) = self.transports[usize::from(connection.transport)].tcp() else {
            return self.reach_rdma_receiver(packet, network);
        };
        let Message { flow, first, ended, .. } = connection.message;
        let of_another = (ended || packet.seq < first) && packet.kind == Kind::Data;
        let (end, mut outlet) = connection.receiver(network);
        let AnyReceiver::Stream(receiver) = end else { return };
        let before = of_another.then(|| receiver.counters());
        receiver.receive(tcp, self.framing, packet, &mut outlet);
        if let Some(before) = before {
            receiver.set_counters(&before);
            return self.count_end(packet, Fate::Delivered);
        }
        let delivered = receiver.delivered();
        let waits = connection.waits_for_more_than(delivered);
        if packet.kind == Kind::Data {
            attention::note_arrival(flow, packet, network);
        }
        if !waits {
            self.account(packet.connection, delivered, network);
        }
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
            self.watch(packet.connection, network);
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
                self.watch(name, network);
            }
            (AnySender::Datagrams(datagrams), Transport::Udp(udp)) => {
                datagrams.wake(udp, framing, &mut outlet);
            }
            (AnySender::Roce(sender), Transport::Roce(roce)) => {
                sender.wake(roce, framing, &mut outlet);
                self.watch(name, network);
            }
            (AnySender::Uec(sender), Transport::Uec(uec)) => {
                sender.wake(uec, framing, &mut outlet);
                self.watch(name, network);
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
            (AnySender::Uec(sender), Transport::Uec(uec)) => sender.resume(uec, framing, &mut outlet),
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
        let &mut FlowRecord { dropped_packets, lost_packets, .. } =
            self.flows.record(connection.message.flow);
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
        let flow = connection.message.flow;
        let is_whole = self.striped.delivered(flow, &mut connection.message.delivered);
        if !is_whole {
            return;
        }
        let record = self.flows.record(flow);
        record.fct_ps = network.now_ps - record.start_ps;
        self.finished += 1;
        self.hopeful -= 1;
        self.start_waiting(flow, network);
    }

    /// Nothing of a flow is left: its counters are final and its connection is free, or idle.
    fn end(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if self.striped.carries(connection.message.flow) {
            return self.end_part(name, network);
        }
        // A late acknowledgement on an idle connection ends nothing: its message has ended before.
        if std::mem::replace(&mut connection.message.ended, true) {
            return;
        }
        if !connection.message.delivered {
            // Datagrams, of which some are lost: nobody sends them again.
            self.hopeful -= 1;
        }
        let Connection { transport, message, .. } = *connection;
        self.refused.not_ready += u64::from(connection.counters().0.not_ready);
        let record = self.flows.record(message.flow);
        connection.write_counters(record);
        let leaves_some = record.left_packets() > 0;
        let persistent =
            matches!(&self.transports[usize::from(transport)], Transport::Tcp(tcp) if tcp.persistent);
        let keeps = persistent && self.flows.flow(message.flow).path.is_none();
        if leaves_some {
            self.past.entry(name).or_default().push((message.first, message.flow));
        } else {
            self.flows.end(message.flow);
        }
        if keeps {
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
}
