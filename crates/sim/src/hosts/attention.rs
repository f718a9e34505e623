//! After an event hosts attend to packets that will not arrive. Recorders of single packets hear of hosts here too.

use super::Hosts;
use crate::connections::Message;
use crate::flow_record::Fate;
use crate::network::{Ended, Network};
use crate::transport::{MessagePosition, Transport};
use crate::{Framing, Kind, Packet};
use anabranch_traffic::Flow;
use std::collections::hash_map::Entry;

/// A segment or datagram that counts for a flow reached its host.
#[inline(always)]
pub(super) fn note_arrival(flow: u32, packet: &Packet, network: &mut Network) {
    if let Some(recorder) = &mut network.recorder {
        recorder.arrived(network.now_ps, flow, packet);
    }
}

/// A segment reached its host, whose receiver discards it.
#[cold]
pub(super) fn note_discard(flow: u32, packet: &Packet, network: &mut Network) {
    if let Some(recorder) = &mut network.recorder {
        recorder.discarded(network.now_ps, flow, packet);
    }
}

/// A connection whose sender is here opens for a message of a flow.
#[inline(always)]
pub(super) fn note_opening(
    name: u32,
    flow: &Flow,
    message: &Message,
    (transport, framing): (&Transport, Framing),
    network: &mut Network,
) {
    if let Some(recorder) = &mut network.recorder {
        // A message that is alone on its queue pair, unless the recorder hears of others.
        let position = MessagePosition {
            queue_pair: name,
            messages_before: 0,
            packets_before: 0,
            message_bytes: message.end,
            packet_bytes: transport.payload_bytes_max(framing),
        };
        let carrier = transport.protocol().carrier(position);
        recorder.opened(name, message.flow, [flow.src, flow.dst], carrier);
    }
}

impl Hosts<'_> {
    /// Counts packets that will not arrive, and tells connections of datagrams.
    #[cold]
    pub(crate) fn attend(&mut self, network: &mut Network) {
        network.attention = false;
        while let Some(Ended { packet, fate }) = network.ended.pop() {
            self.count_end(&packet, fate);
            if packet.kind == Kind::Datagram {
                self.settle_datagram(packet.connection, network);
            }
        }
    }

    /// Whether the transport of a trimmed packet is given its header.
    #[cold]
    pub(super) fn takes_trimmed(&self, packet: &Packet) -> bool {
        let connection = self.connections.last_user(packet.connection);
        self.transports[usize::from(connection.transport)].protocol().takes_trimmed()
    }

    /// Counts what became of a segment for the flow that it is of.
    #[cold]
    pub(super) fn count_end(&mut self, packet: &Packet, fate: Fate) {
        if !matches!(packet.kind, Kind::Data | Kind::Datagram) {
            return;
        }
        if let Some(remote) = &mut self.remote {
            return remote.count_end(packet, fate);
        }
        let Some(flow) = self.flow_of(packet) else { return };
        let record = self.flows.record(flow);
        record.count_end(packet.payload_bytes, fate);
        // A flow that has not ended has not counted what it sent.
        let is_settled = !self.past.is_empty() && record.sent_packets > 0 && record.left_packets() == 0;
        if is_settled {
            self.forget(packet.connection, flow);
        }
    }

    /// The last segment of a flow that had ended before is accounted for: its record is final.
    fn forget(&mut self, name: u32, flow: u32) {
        let subflows = self.past_subflows.remove(&flow).unwrap_or_else(|| vec![name]);
        for name in subflows {
            if let Entry::Occupied(mut past) = self.past.entry(name) {
                past.get_mut().retain(|&(_, other)| other != flow);
                if past.get().is_empty() {
                    past.remove();
                }
            }
        }
        self.flows.end(flow);
    }

    /// Flow of a packet: what its connection carries, or, if it is a segment or datagram, a flow before that.
    fn flow_of(&self, packet: &Packet) -> Option<u32> {
        if packet.kind.is_probe() || packet.kind == Kind::Pause {
            return None;
        }
        let user = self.connections.last_user(packet.connection);
        let of_its_own = user.sending.address.connection == packet.connection;
        if !matches!(packet.kind, Kind::Data | Kind::Datagram) {
            return of_its_own.then_some(user.message.flow);
        }
        let present = (of_its_own && user.open).then_some(user.message);
        match present.filter(|message| !message.ended && packet.seq >= message.first) {
            Some(message) => Some(message.flow),
            None => {
                if let Some(flow) = self.streams.earlier_flow(packet.connection, packet.seq) {
                    return Some(flow);
                }
                let past = self.past.get(&packet.connection)?;
                let next = past.partition_point(|&(first, _)| first <= packet.seq);
                past.get(next.wrapping_sub(1)).map(|&(_, flow)| flow)
            }
        }
    }
}
