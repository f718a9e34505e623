//! RDMA at hosts: packets reach their queue pair.

use super::{Hosts, attention};
use crate::connections::{AnyReceiver, AnySender};
use crate::network::Network;
use crate::telemetry::Carried;
use crate::transport::Transport;
use crate::transport::roce::{Completion, Roce, Semantics};
use crate::transport::uec::{Uec, timeout_ps};
use crate::{Framing, Kind, Packet, marks};
use anabranch_fabric::{Change, Fabric, longest_round_trip_ps};

/// The transports, each with the longest round trip of the empty fabric, and UEC with a timeout, where it was given none.
pub(super) fn with_times(
    transports: &[Transport],
    fabric: &Fabric,
    changes: &[Change],
    framing: Framing,
) -> Vec<Transport> {
    let mut transports = transports.to_vec();
    for transport in &mut transports {
        let frame_bytes = framing.frame_bytes(transport.payload_bytes_max(framing));
        let (rtt_ps, answer_bytes) = match transport {
            Transport::Roce(Roce { rtt_ps, answer_bytes, .. })
            | Transport::Uec(Uec { rtt_ps, answer_bytes, .. }) => (rtt_ps, *answer_bytes),
            Transport::Tcp(_) | Transport::Mptcp(_) | Transport::Udp(_) => continue,
        };
        if *rtt_ps == 0 {
            let wire_bytes = |frame_bytes: u16| u32::from(frame_bytes) + u32::from(framing.gap_bytes);
            *rtt_ps = longest_round_trip_ps(fabric, wire_bytes(frame_bytes), wire_bytes(answer_bytes));
        }
        if let Transport::Uec(Uec { rto_ps: rto_ps @ 0, rtt_ps, .. }) = transport {
            *rto_ps = timeout_ps(fabric, changes, frame_bytes, *rtt_ps);
        }
    }
    transports
}

/// When flows over a transport have finished.
fn completion(transport: &Transport) -> Completion {
    match transport {
        Transport::Roce(roce) => roce.completion,
        Transport::Uec(uec) => uec.completion,
        Transport::Tcp(_) | Transport::Mptcp(_) | Transport::Udp(_) => Completion::Delivered,
    }
}

impl Hosts<'_> {
    /// Data reach their host.
    pub(super) fn reach_rdma_receiver(&mut self, packet: &Packet, network: &mut Network) {
        let Some(connection) = self.connections.get(packet.connection) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        let completion = completion(transport);
        let flow = connection.message.flow;
        let (end, mut outlet) = connection.receiver(network);
        let mut is_discarded = false;
        let delivered = match (end, transport) {
            (AnyReceiver::Roce(receiver), Transport::Roce(roce)) => {
                let is_ready = match roce.semantics {
                    Semantics::Write => true,
                    Semantics::Send { .. } => {
                        let start = self.flows.flow(flow).start;
                        let has_receive = || self.works.accept(start);
                        receiver.is_ready(roce, packet, has_receive, &mut outlet)
                    }
                };
                is_discarded = !is_ready || receiver.discards(roce, packet);
                if is_ready {
                    receiver.receive(roce, self.framing, packet, &mut outlet);
                }
                receiver.delivered()
            }
            (AnyReceiver::Uec(receiver), Transport::Uec(uec)) => {
                receiver.receive(uec, self.framing, packet, &mut outlet);
                receiver.delivered()
            }
            _ => return,
        };
        self.line_up(packet.connection, network);
        if packet.marks & marks::TRIMMED != 0 || packet.kind == Kind::Request {
            return;
        }
        attention::note_arrival(flow, packet, network);
        if is_discarded {
            self.refused.discarded += 1;
            attention::note_discard(flow, packet, network);
        }
        if completion == Completion::Delivered {
            self.account(packet.connection, delivered, network);
        }
    }

    /// An answer reaches its host.
    pub(super) fn reach_rdma_sender(&mut self, packet: &Packet, network: &mut Network) {
        let Some(connection) = self.connections.get(packet.connection) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        let completion = completion(transport);
        let carried = network.telemetry.as_ref().map(|telemetry| telemetry.arrived());
        let hops = carried.as_ref().map_or(&[][..], Carried::hops);
        let (end, mut outlet) = connection.sender(network);
        let idle = match (end, transport) {
            (AnySender::Roce(sender), Transport::Roce(roce)) => {
                sender.receive(roce, self.framing, packet, hops, &mut outlet);
                sender.idle()
            }
            (AnySender::Uec(sender), Transport::Uec(uec)) => {
                sender.receive(uec, self.framing, packet, &mut outlet);
                sender.idle()
            }
            _ => return,
        };
        self.watch(packet.connection, network);
        if !idle {
            return;
        }
        if completion == Completion::Acknowledged {
            self.deliver_last(packet.connection, network);
        }
        self.end(packet.connection, network);
    }
}
