//! What hosts keep of connections, fetched ahead of its use: where connections are many, it is in no cache.

use super::Hosts;
use crate::network::Network;
use crate::slab::PacketId;
use crate::timers::Timer;
use crate::{Kind, Packet};

/// Timers between the fetching of a connection and its use: a few hundred nanoseconds.
const TIMERS_AHEAD: usize = 4;

/// The same for starts of flows.
const STARTS_AHEAD: u32 = 4;

/// Packets between the fetching of a connection and that of the record of a flow that its packet ends.
const RECORDS_AHEAD: usize = 4;

/// The last packets whose connections were fetched one by one: connection, kind, and end of the bytes they bring or
/// acknowledge.
#[derive(Default)]
pub(super) struct Foreseen {
    last: [(u32, Kind, u64); RECORDS_AHEAD],
    count: usize,
}

impl Hosts<'_> {
    /// Fetches what the next packets of a link to a host will need, each one step closer: the packet, its connection, and
    /// what stands apart of it or the record of a flow that it ends.
    pub(crate) fn foresee(&self, port: usize, network: &mut Network) {
        let egress = &network.ports[port];
        let (first, second, third) = (egress.coming(0), egress.coming(1), egress.coming(2));
        if let Some(id) = third {
            network.packets.prefetch(id);
        }
        if let Some(id) = second {
            let Packet { connection, kind, .. } = *network.packets.get(id);
            self.connections.prefetch(connection, kind);
        }
        if let Some(id) = first {
            let Packet { connection, kind, seq, payload_bytes, .. } = *network.packets.get(id);
            self.foresee_apart(connection, kind, seq + u64::from(payload_bytes));
        }
    }

    /// Fetches what a packet will need that few others precede on its last link.
    pub(crate) fn foresee_soon(&mut self, id: PacketId, network: &mut Network) {
        let Packet { connection, kind, seq, payload_bytes, .. } = *network.packets.get(id);
        self.connections.prefetch(connection, kind);
        let Foreseen { last, count } = &mut self.foreseen;
        let end = seq + u64::from(payload_bytes);
        let (earlier, kind, end) =
            std::mem::replace(&mut last[*count % RECORDS_AHEAD], (connection, kind, end));
        *count += 1;
        self.foresee_apart(earlier, kind, end);
    }

    fn foresee_apart(&self, name: u32, kind: Kind, end: u64) {
        if let Some(flow) = self.connections.prefetch_apart(name, kind, end) {
            self.flows.prefetch_record(flow);
        }
    }

    /// Fetches what the next timers will need: flows and their records, or connections, most of which were closed since.
    pub(super) fn foresee_timers(&self, timer: Timer, network: &Network) {
        if let Timer::Start(flow) = timer {
            self.flows.prefetch(flow.saturating_add(STARTS_AHEAD));
        }
        match network.coming_timer(TIMERS_AHEAD) {
            Some(Timer::Sender(_, name)) => self.connections.prefetch_sender(name),
            Some(Timer::Receiver(_, name)) => self.connections.prefetch(name, Kind::Data),
            _ => {}
        }
    }

    /// Connections that are open.
    pub(crate) fn connections_open(&self) -> usize {
        self.connections.open_count()
    }
}
