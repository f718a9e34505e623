//! Credit that hosts grant to those who send to them: one pacer for each host, shared by its connections.

use super::Hosts;
use crate::connections::AnyReceiver;
use crate::network::Network;
use crate::timers::Timer;
use crate::transport::uec::{Granted, Pacer, Turn, Uec};
use crate::transport::{Host, Transport};

/// Pacers for so many hosts, if a transport needs credit.
pub(super) fn pacers(transports: &[Transport], hosts: u32) -> Vec<Pacer> {
    let needs = |transport: &Transport| matches!(transport, Transport::Uec(Uec { credits: Some(_), .. }));
    if transports.iter().any(needs) { vec![Pacer::default(); hosts as usize] } else { Vec::new() }
}

impl Hosts<'_> {
    /// Puts a receiver in line at its host, whose packet may have said that its sender wants more.
    pub(super) fn line_up(&mut self, name: u32, network: &mut Network) {
        if self.pacers.is_empty() {
            return;
        }
        let Some(connection) = self.connections.get(name) else { return };
        let Transport::Uec(Uec { credits: Some(_), .. }) = self.transports[usize::from(connection.transport)]
        else {
            return;
        };
        let host = connection.receiving.address.host;
        if let AnyReceiver::Uec(receiver) = &mut connection.receiving.end
            && receiver.lines_up()
            && self.pacers[host as usize].line_up(name)
        {
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
            let Transport::Uec(uec @ Uec { credits: Some(credits), .. }) =
                &self.transports[usize::from(connection.transport)]
            else {
                continue;
            };
            let (AnyReceiver::Uec(receiver), mut outlet) = connection.receiver(network) else { continue };
            let quantum_ps = credits.quantum_ps(outlet.link_bps());
            let Granted { quanta, queue } = receiver.grant(uec, self.framing, credits, ahead, &mut outlet);
            self.pacers[host as usize].put(name, queue);
            let at_ps = network.now_ps.saturating_add(quanta.saturating_mul(quantum_ps));
            network.wake_at(at_ps, Timer::Pacer(host));
            return;
        }
    }
}
