//! Network as load balancers see it: the clock, their own ports and packets, and timers.

use super::Network;
use crate::Packet;
use crate::slab::PacketId;
use crate::timers::Timer;
use anabranch_plan::selection_hash;
use std::sync::Arc;

impl Network {
    /// Watches from now on, in builds with debug assertions, that load balancers touch none but these ports, if any are
    /// given. Returns those before.
    pub(crate) fn confine(&mut self, ports: Option<Arc<[bool]>>) -> Option<Arc<[bool]>> {
        std::mem::replace(&mut self.confined, ports)
    }

    /// Watches that the load balancer at work may touch a port.
    #[inline(always)]
    pub(super) fn touch(&self, port: u32) {
        debug_assert!(
            self.confined.as_ref().is_none_or(|ports| ports[port as usize]),
            "port {port} belongs to a switch or host that this value of the load balancer does not serve"
        );
    }

    /// The packet of this name.
    #[inline(always)]
    pub fn packet(&mut self, id: PacketId) -> &mut Packet {
        self.packets.get(id)
    }

    /// Number of ports.
    #[must_use]
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// Whether a port carries.
    #[inline(always)]
    #[must_use]
    pub fn is_up(&self, port: u32) -> bool {
        self.touch(port);
        self.ports[port as usize].is_up()
    }

    /// Present rate of a port, in bits per second.
    #[must_use]
    pub fn rate_bps(&self, port: u32) -> u64 {
        self.touch(port);
        self.ports[port as usize].rate_bps()
    }

    /// Bytes that a port has sent since the start.
    #[inline]
    pub fn sent_bytes(&mut self, port: u32) -> u64 {
        self.touch(port);
        self.ports[port as usize].sent_bytes(self.now_ps)
    }

    /// Now, in picoseconds.
    #[inline(always)]
    #[must_use]
    pub fn now_ps(&self) -> u64 {
        self.now_ps
    }

    /// Now, in nanoseconds: the clock that load balancers see.
    #[inline(always)]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ps / 1000
    }

    /// Hash by which `switch` chooses for packets of this entropy: of their header fields where it is configured to, else an
    /// ideal one with this salt.
    #[inline(always)]
    #[must_use]
    pub fn selection_hash(&self, switch: u32, entropy: u32, salt: u32) -> u32 {
        match &self.headers {
            None => selection_hash(entropy, salt),
            Some(headers) => headers.hash(entropy, switch, salt),
        }
    }

    /// Ideal hash of a packet's header fields, before the salt of a switch.
    pub(crate) fn ideal_entropy(&mut self, id: PacketId) -> u32 {
        let entropy = self.packets.get(id).entropy;
        self.headers.as_ref().map_or(entropy, |headers| headers.ideal(entropy))
    }

    /// Bytes that wait at a port now, the frame in service included; 4 GiB and more are alike.
    #[inline(always)]
    pub fn backlog_bytes(&mut self, port: u32) -> u32 {
        self.touch(port);
        self.waiting_at(port).min(u32::MAX.into()) as u32
    }

    /// Bytes that wait at a port now, the frame in service included.
    #[inline(always)]
    pub(crate) fn waiting_at(&mut self, port: u32) -> u64 {
        let in_queues =
            self.classed.as_ref().map_or(0, |classed| classed.ports[port as usize].queues.waiting_bytes());
        self.ports[port as usize].backlog_bytes(self.now_ps) + in_queues
    }

    /// Wakes the load balancer of a switch.
    #[inline]
    pub fn wake_switch(&mut self, at_ps: u64, switch: u32, token: u32) {
        self.wake_at(at_ps, Timer::SwitchBalancer(switch, token));
    }

    /// Wakes the load balancer of a host.
    #[inline]
    pub fn wake_host(&mut self, at_ps: u64, host: u32, token: u32) {
        self.wake_at(at_ps, Timer::HostBalancer(host, token));
    }
}
