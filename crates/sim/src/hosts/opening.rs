//! Beginnings of flows: each opens a connection, takes an idle one, or has several.

use super::{Hosts, attention, ends};
use crate::SimulationError;
use crate::connections::{Connection, Message, Subflow};
use crate::door::Opened;
use crate::network::{Address, Network};

impl Hosts<'_> {
    /// A flow begins.
    pub(super) fn begin(&mut self, index: u32, network: &mut Network) -> Result<(), SimulationError> {
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
        if let Some(mptcp) = transport.mptcp() {
            let (subflows, window_max_bytes) = (mptcp.subflows, mptcp.tcp.window_max_bytes);
            return self.begin_multipath(message, subflows, window_max_bytes, network);
        }
        if let Some(pairs) = transport.queue_pairs().filter(|pairs| !pairs.is_one_each()) {
            return self.begin_parts(message, pairs, network);
        }
        let persistent = transport.protocol().is_persistent() && flow.path.is_none();
        let idle =
            if persistent { self.connections.take_idle(flow.src, flow.dst, flow.transport) } else { None };
        let name = match idle {
            Some(name) => {
                let Some(connection) = self.connections.get(name) else { return Ok(()) };
                let first = connection.message.end;
                connection.message = Message { first, end: first + flow.size_bytes, ..message };
                connection.restart_counters(&self.transports[usize::from(flow.transport)]);
                let opened = Opened { connection: name, fresh: false, ..Opened::of(index, &flow) };
                ends::announce(&opened, network);
                name
            }
            None => self.connect(message, None, self.entropies(index, 0), network)?,
        };
        let transport = &self.transports[usize::from(flow.transport)];
        let Some(connection) = self.connections.get(name) else { return Ok(()) };
        let (end, mut outlet) = connection.sender(network);
        end.begin(transport, self.framing, flow.size_bytes, None, &mut outlet);
        self.watch(name, network);
        Ok(())
    }

    /// A connection for a flow, or for a part of it; still closed.
    pub(super) fn connect(
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
}
