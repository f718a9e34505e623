//! Ends of a connection: both its hosts hear when a flow begins on it and when it is closed.

use super::Hosts;
use crate::door::Opened;
use crate::network::{Address, Network};

impl Hosts<'_> {
    /// Closes a connection, and tells the load balancer of both its hosts.
    pub(super) fn close(&mut self, name: u32, network: &mut Network) {
        let Address { host, destination, .. } = self.connections.last_user(name).sending.address;
        self.connections.close(name);
        network.with_host_balancer(|balancer, _| {
            [host, destination].into_iter().for_each(|host| balancer.closed(host, name));
        });
    }
}

/// Tells the load balancer of both its hosts that a flow begins.
pub(super) fn announce(opened: &Opened, network: &mut Network) {
    network.with_host_balancer(|balancer, network| {
        [opened.src, opened.dst].into_iter().for_each(|host| balancer.opened(host, opened, network));
    });
}
