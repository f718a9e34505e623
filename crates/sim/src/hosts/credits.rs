//! Credit that hosts grant to those who send to them: one pacer for each host, shared by its connections.

use super::Hosts;
use crate::network::Network;
use crate::timers::Timer;
use crate::transport::Transport;
use crate::transport::uec::{Pacer, Turn};

/// Pacers for so many hosts, if a transport needs credit.
pub(super) fn pacers(transports: &[Transport], hosts: u32) -> Vec<Pacer> {
    let needs_credit = transports.iter().any(|transport| transport.protocol().needs_credit());
    if needs_credit { vec![Pacer::default(); hosts as usize] } else { Vec::new() }
}

impl Hosts<'_> {
    /// Puts a receiver in line at its host, whose packet may have said that its sender wants more.
    pub(super) fn line_up(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        let transport = &self.transports[usize::from(connection.transport)];
        let host = connection.receiving.address.host;
        if connection.receiving.end.lines_up(transport) && self.pacers[host as usize].line_up(name) {
            network.wake_at(network.now_ps, Timer::Pacer(host));
        }
    }

    /// A host grants credit to the next in turn.
    pub(super) fn grant(&mut self, host: u32, network: &mut Network) {
        while let Some(turn) = self.pacers[host as usize].next() {
            let (name, ahead) = match turn {
                Turn::Demand(name) => (name, false),
                Turn::Advance(name) => (name, true),
            };
            // Its flow may have ended.
            let Some(connection) = self.connections.get(name) else { continue };
            let transport = &self.transports[usize::from(connection.transport)];
            let (end, mut outlet) = connection.receiver(network);
            let Some(grant) = end.grant(transport, self.framing, ahead, &mut outlet) else { continue };
            self.pacers[host as usize].put(name, grant.queue);
            let at_ps = network.now_ps.saturating_add(grant.pause_ps);
            network.wake_at(at_ps, Timer::Pacer(host));
            return;
        }
    }
}
