//! Ends of flows and of their connections: both hosts of one hear when a flow begins on it and when it is closed.

use super::Hosts;
use super::census::Happening;
use crate::door::Opened;
use crate::network::{Address, Network};
use crate::transport::Completion;

impl Hosts<'_> {
    /// The last byte of a flow was handed to the application.
    pub(super) fn deliver_last(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        let flow = connection.message.flow;
        let was_delivered = std::mem::replace(&mut connection.message.delivered, true);
        self.note_arrived(name, network.now_ps);
        if !self.striped.carries(flow) {
            self.finish_flow(flow, network);
        } else if !was_delivered {
            self.deliver_part(flow, name, network);
        }
    }

    /// All of a flow was handed to the application.
    pub(super) fn finish_flow(&mut self, flow: u32, network: &mut Network) {
        if self.replaying.is_some() && self.is_delayed(flow, network) {
            return;
        }
        let record = self.flows.record(flow);
        record.fct_ps = network.now_ps - record.start_ps;
        self.finished += 1;
        self.hopeful -= 1;
        self.note_end(flow, true, network.now_ps);
        self.check_announced(flow, network.now_ps);
        self.start_waiting(flow, network);
    }

    /// Nothing of a flow is left: its counters are final and its connection is free, or idle.
    pub(super) fn end(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if self.striped.carries(connection.message.flow) {
            return self.end_part(name, network);
        }
        // A late acknowledgement on an idle connection ends nothing: its message has ended before.
        if std::mem::replace(&mut connection.message.ended, true) {
            return;
        }
        let message = connection.message;
        if !message.delivered {
            // Datagrams, of which some are lost: nobody sends them again.
            self.hopeful -= 1;
            self.note_end(message.flow, false, network.now_ps);
        }
        let Some(connection) = self.connections.get(name) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        let record = self.flows.record(message.flow);
        self.refused.not_ready += u64::from(connection.write_counters(transport, record));
        if self.remote.is_some() {
            return self.close(name, network);
        }
        let leaves_some = record.left_packets() > 0;
        let pair = self.pair_of(message.flow);
        let is_stream = self.is_stream(&pair);
        let keeps = !is_stream && self.is_persistent(self.flows.flow(message.flow));
        if leaves_some {
            self.past.entry(name).or_default().push((message.first, message.flow));
        } else {
            self.flows.end(message.flow);
        }
        if keeps {
            self.connections.keep_idle(name, pair);
        } else if !is_stream {
            self.close(name, network);
        }
        if message.holds {
            self.end_turn(&pair, network);
        }
    }

    /// All that a connection sent is acknowledged: its flow ends if its last byte was delivered, and has finished by that
    /// where the transport counts so.
    pub(super) fn acknowledged(
        &mut self,
        name: u32,
        (transport, is_delivered): (u8, bool),
        network: &mut Network,
    ) {
        match self.transports[usize::from(transport)].protocol().completion() {
            Completion::Delivered if is_delivered => {}
            Completion::Delivered => return,
            // In parts of a fabric the mark is the receiver's, who waits for its sender then.
            Completion::Acknowledged if is_delivered && self.remote.is_none() => {}
            Completion::Acknowledged => self.deliver_last(name, network),
        }
        self.end(name, network);
    }

    /// Closes a connection, and tells the load balancer of both its hosts.
    pub(super) fn close(&mut self, name: u32, network: &mut Network) {
        let connection = self.connections.last_user(name);
        let (Address { host, destination, .. }, flow) = (connection.sending.address, connection.message.flow);
        match &mut self.remote {
            None => self.connections.close(name),
            Some(remote) => {
                remote.report(name, Happening::Acknowledged { flow }, network);
                self.connections.close_slot(name);
            }
        }
        note_closed(name, [host, destination], network);
    }
}

/// Tells the load balancer of both its hosts, as far as they are in this part, that a flow begins.
pub(super) fn announce(opened: &Opened, network: &mut Network) {
    network.with_host_balancer(|balancer, network| {
        for host in [opened.src, opened.dst] {
            if network.has_node(host) {
                balancer.opened(host, opened, network);
            }
        }
    });
}

/// Tells the load balancer of both its hosts, as far as they are in this part, that a connection has closed.
pub(super) fn note_closed(name: u32, hosts: [u32; 2], network: &mut Network) {
    network.with_host_balancer(|balancer, network| {
        hosts.into_iter().filter(|&host| network.has_node(host)).for_each(|host| balancer.closed(host, name));
    });
}
