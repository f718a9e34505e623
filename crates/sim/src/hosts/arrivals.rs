//! Packets that reach their host.

use super::{Hosts, attention};
use crate::connections::Message;
use crate::flow_record::Fate;
use crate::network::Network;
use crate::slab::PacketId;
use crate::transport::{Completion, Reception};
use crate::{FlowRecord, Kind, Packet, marks};

impl Hosts<'_> {
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
                self.reach_receiver(&packet, network);
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
        let Message { flow, first, ended, shares, .. } = connection.message;
        let of_another = (ended || packet.seq < first) && packet.kind == Kind::Data;
        if of_another && shares {
            return self.reach_earlier(packet, network);
        }
        let transport = &self.transports[usize::from(connection.transport)];
        let (end, mut outlet) = connection.receiver(network);
        let before = of_another.then(|| end.counters(transport));
        let has_receive = || self.works.accept(self.flows.flow(flow).start);
        let (reception, delivered) = end.receive(transport, self.framing, packet, has_receive, &mut outlet);
        if let Some(before) = before {
            end.set_counters(transport, &before);
            return self.count_end(packet, Fate::Delivered);
        }
        let waits = connection.waits_for_more_than(delivered);
        if !self.pacers.is_empty() {
            self.line_up(packet.connection, network);
        }
        match reception {
            Reception::Heard => return,
            Reception::Taken => attention::note_arrival(flow, packet, network),
            Reception::Discarded => {
                attention::note_arrival(flow, packet, network);
                self.refused.discarded += 1;
                attention::note_discard(flow, packet, network);
            }
        }
        if !waits {
            self.account(packet.connection, delivered, network);
        }
    }

    /// A receiver has so many bytes in order.
    #[inline(always)]
    pub(super) fn account(&mut self, name: u32, delivered: u64, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if connection.message.shares {
            self.deliver_earlier(name, delivered, network);
        }
        let Some(connection) = self.connections.get(name) else { return };
        if let Some(subflow) = connection.subflow {
            self.pass_up(subflow, delivered, network);
        } else if delivered >= connection.message.end && !connection.message.delivered {
            match self.transports[usize::from(connection.transport)].protocol().completion() {
                Completion::Delivered => self.deliver_last(name, network),
                Completion::Acknowledged if self.remote.is_some() => {
                    connection.message.delivered = true;
                    self.note_arrived(name, network.now_ps);
                }
                Completion::Acknowledged => {}
            }
        }
    }

    fn reach_sender(&mut self, packet: &Packet, network: &mut Network) {
        let Some(connection) = self.connections.get(packet.connection) else { return };
        if let Some(subflow) = connection.subflow {
            self.reach_subflow(subflow, packet, network);
            return;
        }
        let transport = &self.transports[usize::from(connection.transport)];
        let (end, mut outlet) = connection.sender(network);
        end.receive(transport, self.framing, packet, &mut outlet);
        let is_idle = end.is_idle(transport);
        let is_delivered = connection.message.delivered;
        let number = connection.transport;
        let has_others = connection.message.holds || connection.message.shares;
        if !self.watched.is_empty() {
            self.watch(packet.connection, network);
        }
        if has_others {
            self.follow_step(packet.connection, network);
        }
        if is_idle {
            self.acknowledged(packet.connection, (number, is_delivered), network);
        }
    }

    /// A datagram arrived or was lost. The flow ends when all are accounted for, and has finished if none is missing.
    pub(super) fn settle_datagram(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        let (sent, received) = connection.counters(transport);
        let is_sent = connection.sending.end.is_idle(transport);
        let &mut FlowRecord { dropped_packets, lost_packets, .. } =
            self.flows.record(connection.message.flow);
        let settled_packets = received.delivered_packets + dropped_packets + lost_packets;
        if is_sent && settled_packets == sent.sent_packets {
            self.end(name, network);
        }
    }
}
