//! What hosts keep of connections, fetched ahead of its use: where connections are many, it is in no cache.

use super::Hosts;
use crate::Packet;
use crate::network::Network;

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
            let Packet { connection, kind, .. } = *network.packets.get(id);
            self.connections.prefetch_half(connection, kind);
        }
    }

    /// Connections that are open.
    pub(crate) fn connections_open(&self) -> usize {
        self.connections.open_count()
    }
}
