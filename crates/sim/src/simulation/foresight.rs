//! Memory that the next events of ports will need, fetched ahead of its use: the ports of a large fabric, and the packets and
//! connections of a crowd, are in no cache.
//!
//! Of ports, one thing leads to another: a key of the event queue to a port, the port to its ring, the ring to a packet, the packet
//! to the next port. Nobody knows the order of the next events, but the winner of a part of the queue's tree is among them:
//! that of one of 2^n equal parts comes on average after as many events. So whenever an event gives its part a new winner,
//! the new winners of larger and larger parts, which it may be or may not, are each taken one step further.

use super::Simulation;
use crate::door::SwitchBalancer;
use crate::network::source;

/// Ports from which on it pays: 5,184 mostly ran slower with it, 69,984 run 1.4 times as fast; none between was measured
/// (`bench/size.md`). With debug assertions, which tests have, every fabric is looked at ahead: results are the same.
pub(super) const PORTS_MIN: usize = if cfg!(debug_assertions) { 1 } else { 1 << 15 };

/// Steps, the first first: each is taken by the winner of one of so many parts of the queue's tree, as a power of two.
const TO_SOURCE: u32 = 9;
const TO_PORT: u32 = 7;
const TO_RING: u32 = 5;
const TO_PACKET: u32 = 3;
const TO_NEXT_PORT: u32 = 1;

impl<B: SwitchBalancer> Simulation<'_, B> {
    /// Fetches ahead what became known when the source `at` got another next event.
    #[inline(always)]
    pub(super) fn foresee_ports(&mut self, at: usize) {
        let network = &mut self.network;
        network.queue.prefetch_source(at, TO_SOURCE);
        let coming = network.queue.winner(at, TO_PORT);
        network.queue.prefetch_path(coming);
        network.ports[coming.saturating_sub(source::PORTS)].prefetch();
        let coming = network.queue.winner(at, TO_RING);
        network.ports[coming.saturating_sub(source::PORTS)].prefetch_ring();
        let coming = network.queue.winner(at, TO_PACKET);
        if let Some(id) = network.ports[coming.saturating_sub(source::PORTS)].coming(0) {
            network.packets.prefetch(id);
        }
        let coming = network.queue.winner(at, TO_NEXT_PORT);
        let egress = &network.ports[coming.saturating_sub(source::PORTS)];
        let (node, Some(id)) = (egress.to, egress.coming(0)) else { return };
        if node >= self.hosts_count
            && let Some(port) = self.forwarding.foresee(node - self.hosts_count, network.packets.get(id))
        {
            network.queue.prefetch_path(source::PORTS + port as usize);
            network.ports[port as usize].prefetch();
        }
    }
    /// Fetches what the later packets of a port's link will need, which had an event: the next one, which has until the
    /// link's next event, and what hosts keep of its connection.
    #[inline(always)]
    pub(super) fn foresee_packets(&mut self, port: usize) {
        let egress = &self.network.ports[port];
        self.network.packets.prefetch(egress.next_packet());
        if egress.to < self.hosts_count {
            self.hosts.foresee(port, &mut self.network);
            return;
        }
        let last = &self.network.ports[self.forwarded_to as usize];
        if last.to < self.hosts_count
            && last.coming(2).is_none()
            && let Some(id) = last.newest()
        {
            self.hosts.foresee_soon(id, &mut self.network);
        }
    }
}
