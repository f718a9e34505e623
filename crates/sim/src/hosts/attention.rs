//! What of an event hosts attend to when it is over: packets that will not arrive, and records that lack a name.

use super::Hosts;
use crate::connections::connection_slot;
use crate::network::{Address, Ended, Fate, Network};
use crate::{Kind, Packet};

/// A segment or datagram that counts for a flow reached its host.
#[inline(always)]
pub(super) fn note_arrival(flow: u32, packet: &Packet, network: &mut Network) {
    if let Some(recorder) = &mut network.recorder {
        recorder.arrived(network.now_ps, flow, connection_slot(packet.connection), packet);
    }
}

impl Hosts {
    /// Says whose the packets are that were recorded, and tells connections of datagrams that will not arrive.
    #[cold]
    pub(crate) fn attend(&mut self, network: &mut Network) {
        network.attention = false;
        if let Some(recorder) = &mut network.recorder {
            for capture in recorder.take_unnamed_captures() {
                if capture.packet.kind.is_probe() {
                    capture.src = capture.packet.connection;
                    continue;
                }
                let connection = self.connections.last_user(capture.packet.connection);
                let Address { host, destination, .. } = connection.sending.address;
                capture.src = if capture.packet.destination == host { destination } else { host };
                capture.flow = connection.message.flow;
            }
            recorder.name_events(|packet| self.flow_of(packet));
        }
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
        self.transports[usize::from(connection.transport)].takes_trimmed()
    }

    /// Counts what became of a segment for the flow that it is of.
    #[cold]
    pub(super) fn count_end(&mut self, packet: &Packet, fate: Fate) {
        if !matches!(packet.kind, Kind::Data | Kind::Datagram) {
            return;
        }
        if let Some(flow) = self.flow_of(packet) {
            self.records[flow as usize].count_end(packet.payload_bytes, fate);
        }
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
                let past = self.past.get(&packet.connection)?;
                let next = past.partition_point(|&(first, _)| first <= packet.seq);
                past.get(next.wrapping_sub(1)).map(|&(_, flow)| flow)
            }
        }
    }
}
