//! What hosts keep of connections, fetched ahead of its use: where connections are many, it is in no cache.

use super::Hosts;
use crate::Packet;
use crate::network::Network;
use crate::prefetch::prefetch;
use crate::slab::PacketId;
use crate::timers::Timer;

/// Timers between the fetching of a connection and its use: a few hundred nanoseconds.
const TIMERS_AHEAD: usize = 4;

/// The same for starts of flows.
const STARTS_AHEAD: usize = 4;

/// Packets between the fetching of a connection and that of its half.
pub(super) const SOON: usize = 4;

impl Hosts {
    /// Fetches what the next packets of a link to a host will need, each one step closer: the packet, its connection, and
    /// the half that takes it.
    pub(crate) fn foresee(&self, port: usize, network: &mut Network) {
        let egress = &network.ports[port];
        let (first, second, third) = (egress.coming(0), egress.coming(1), egress.coming(2));
        if let Some(id) = third {
            network.packets.prefetch(id);
        }
        if let Some(id) = second {
            self.connections.prefetch(network.packets.get(id).connection);
        }
        if let Some(id) = first {
            let Packet { connection, kind, seq, payload_bytes, .. } = *network.packets.get(id);
            if let Some(flow) = self.connections.foresee(connection, kind, seq + u64::from(payload_bytes)) {
                prefetch(self.records.as_ptr().wrapping_add(flow as usize));
            }
        }
    }

    /// Fetches what a packet will need that no other precedes on its last link: its connection now, the half that takes it
    /// some packets later.
    pub(crate) fn foresee_soon(&mut self, id: PacketId, network: &mut Network) {
        let Packet { connection, kind, seq, payload_bytes, .. } = *network.packets.get(id);
        self.connections.prefetch(connection);
        let place = &mut self.soon[self.soon_at % SOON];
        let (connection, kind, end) =
            std::mem::replace(place, (connection, kind, seq + u64::from(payload_bytes)));
        self.soon_at += 1;
        if let Some(flow) = self.connections.foresee(connection, kind, end) {
            prefetch(self.records.as_ptr().wrapping_add(flow as usize));
        }
    }

    /// Fetches what the next timers will need: flows, their records, connections and halves that will be woken.
    pub(super) fn foresee_timers(&self, timer: Timer, network: &Network) {
        if let Timer::Start(flow) = timer {
            let coming = flow as usize + STARTS_AHEAD;
            prefetch(self.flows.as_ptr().wrapping_add(coming));
            prefetch(self.records.as_ptr().wrapping_add(coming));
        }
        if let Some(Timer::Sender(name) | Timer::Receiver(name)) = network.coming_timer(TIMERS_AHEAD) {
            self.connections.prefetch(name);
        }
        if let Some(Timer::Sender(name)) = network.coming_timer(TIMERS_AHEAD / 2) {
            self.connections.prefetch_sender(name);
        }
    }

    /// Connections that are open.
    pub(crate) fn connections_open(&self) -> usize {
        self.connections.open_count()
    }
}
