//! Beginnings of flows: each opens a connection, takes an idle one, or has several.

use super::{Hosts, attention, ends};
use crate::SimulationError;
use crate::connections::{Connection, Message, Subflow};
use crate::door::Opened;
use crate::network::{Address, Network};
use crate::pair::Stream;
use anabranch_traffic::Flow;

impl Hosts<'_> {
    /// A flow begins.
    pub(super) fn begin(&mut self, index: u32, network: &mut Network) -> Result<(), SimulationError> {
        if self.striped.carries(index) {
            return self.begin_waiting_parts(index, network);
        }
        if self.streams.has_turn(index) {
            return self.open(index, network);
        }
        if self.flows.is_last_loaded(index) {
            self.load(network)?;
        }
        self.flows.record(index).start_ps = network.now_ps;
        self.begun += 1;
        if self.replaying.is_some() && self.is_taken_over(index, network) {
            return Ok(());
        }
        self.begin_in_turn(index, network)
    }

    /// Opens what a flow needs that has begun, now or when its turn comes.
    pub(super) fn begin_in_turn(&mut self, index: u32, network: &mut Network) -> Result<(), SimulationError> {
        if self.waits_for_turn(index) { Ok(()) } else { self.open(index, network) }
    }

    /// Opens what a flow that has begun needs.
    fn open(&mut self, index: u32, network: &mut Network) -> Result<(), SimulationError> {
        let flow = *self.flows.flow(index);
        let pair = self.pair_of(index);
        let holds = pair.stream != Stream::Any;
        let message = Message { holds, ..Message::whole(index, flow.size_bytes) };
        let transport = &self.transports[usize::from(flow.transport)];
        if let Some(mptcp) = transport.mptcp() {
            let (subflows, window_max_bytes) = (mptcp.subflows, mptcp.tcp.window_max_bytes);
            return self.begin_multipath(message, subflows, window_max_bytes, network);
        }
        if let Some((pairs, keepers)) = self.queue_pairs_of(&pair) {
            return self.begin_parts(message, pairs, keepers, network);
        }
        let is_stream = self.is_stream(&pair);
        let kept = if is_stream {
            self.streams.connection_of(&pair)
        } else if self.is_persistent(&flow) {
            self.connections.take_idle(&pair)
        } else {
            None
        };
        let name = match kept {
            Some(name) => {
                self.take_up(name, is_stream, &message, network);
                let opened = Opened { connection: name, fresh: false, ..Opened::of(index, &flow) };
                ends::announce(&opened, network);
                name
            }
            None => {
                let entropies = self.entropies(index, 0, network);
                self.connect((message, 0), None, entropies, network)?
            }
        };
        if is_stream && kept.is_none() {
            self.begin_stream(pair, name);
        }
        let transport = &self.transports[usize::from(flow.transport)];
        let Some(connection) = self.connections.get(name) else { return Ok(()) };
        let (end, mut outlet) = connection.sender(network);
        end.begin(transport, self.framing, flow.size_bytes, None, &mut outlet);
        if holds {
            self.release_next(name, network);
        }
        self.watch(name, network);
        Ok(())
    }

    /// A connection that is kept carries a message from now on.
    fn take_up(&mut self, name: u32, is_stream: bool, message: &Message, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        let first = connection.message.end;
        if let Some(recorder) = &mut network.recorder {
            recorder.carries(name, first, message.flow);
        }
        if is_stream {
            return self.follow_on(name, message.flow, message.end);
        }
        connection.message = Message { first, end: first + message.end, ..*message };
        connection.restart_counters(&self.transports[usize::from(connection.transport)]);
    }

    /// Whether a flow's connection is kept for others when it has ended.
    pub(super) fn is_persistent(&self, flow: &Flow) -> bool {
        self.transports[usize::from(flow.transport)].protocol().is_persistent() && flow.path.is_none()
    }

    /// A connection for a flow, or for the part of it on a queue pair; still closed.
    pub(super) fn connect(
        &mut self,
        (message, queue_pair): (Message, u8),
        subflow: Option<Subflow>,
        [entropy_forth, entropy_back]: [u32; 2],
        network: &mut Network,
    ) -> Result<u32, SimulationError> {
        let connection = match &mut self.remote {
            None => self.connections.open(Connection::blank)?,
            Some(remote) => self.connections.open_as(remote.name()?, Connection::blank),
        };
        let name = connection.sending.address.connection;
        self.set_up(name, (message, queue_pair), subflow, [entropy_forth, entropy_back], network);
        self.report_opening(name, (message.flow, queue_pair), network);
        Ok(name)
    }

    /// Sets up a connection that has been opened.
    pub(super) fn set_up(
        &mut self,
        name: u32,
        (message, queue_pair): (Message, u8),
        subflow: Option<Subflow>,
        [entropy_forth, entropy_back]: [u32; 2],
        network: &mut Network,
    ) {
        let flow = *self.flows.flow(message.flow);
        let pinned = self.pins.of(&flow);
        let Some(connection) = self.connections.get(name) else { return };
        connection.message = message;
        connection.queue_pair = queue_pair;
        connection.subflow = subflow;
        connection.transport = flow.transport;
        // All that its sender has acknowledged was delivered in the other part.
        connection.message.delivered = self.remote.as_ref().is_some_and(|remote| !remote.has(flow.dst));
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
        if self.remote.as_ref().is_none_or(|remote| remote.has(flow.src)) {
            attention::note_opening(name, &flow, &message, (transport, self.framing), network);
        }
        let opened = Opened { connection: name, ..Opened::of(message.flow, &flow) };
        ends::announce(&opened, network);
    }
}
