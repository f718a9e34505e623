//! Servers whose accelerators have two ports: one of a network card, and one into the server's scale-up switches.

use std::sync::Arc;

/// Servers. An accelerator of one is two hosts: one with the network card, which traffic names, and one with the scale-up
/// port, by which traffic goes between two accelerators of a server. All hosts that traffic names come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// Server of each host that traffic names. A host of none has a number to itself.
    server_of: Arc<[u32]>,
    /// Host of each one's scale-up port; itself where it has none.
    scale_up: Arc<[u32]>,
}

impl Servers {
    /// Hosts by their servers, `None` for those of none. Scale-up ports are the hosts behind them, in the same order.
    #[must_use]
    pub(crate) fn new(servers: &[Option<u32>]) -> Self {
        let mut alone = servers.iter().flatten().max().map_or(0, |most| most + 1)..;
        let server_of = servers.iter().map(|server| server.or_else(|| alone.next()).unwrap_or(u32::MAX));
        let mut ports = servers.len() as u32..;
        let scale_up = (0..).zip(servers).map(|(host, server)| {
            let port = server.and_then(|_| ports.next());
            port.unwrap_or(host)
        });
        Self { server_of: server_of.collect(), scale_up: scale_up.collect() }
    }

    /// Number of hosts that traffic names.
    #[must_use]
    pub fn named_hosts(&self) -> u32 {
        self.server_of.len() as u32
    }

    /// Hosts that have a scale-up port, in the order of the ports, which are the hosts behind those that traffic names.
    pub fn accelerators(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&*self.scale_up).filter(|(host, port)| host != *port).map(|(host, _)| host)
    }

    /// Server of a host.
    #[must_use]
    pub fn of(&self, host: u32) -> u32 {
        self.server_of[host as usize]
    }

    /// Hosts between which traffic from one host to another goes.
    #[must_use]
    pub fn ends(&self, src: u32, dst: u32) -> (u32, u32) {
        if self.of(src) == self.of(dst) {
            (self.scale_up[src as usize], self.scale_up[dst as usize])
        } else {
            (src, dst)
        }
    }
}
