//! Wake-ups of halves: their time has come, or their host's card has room again.

use super::Hosts;
use crate::network::{Network, Served};

impl Hosts<'_> {
    pub(super) fn wake_sender(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if connection.sending.wake_ps != network.now_ps {
            return;
        }
        connection.sending.wake_ps = u64::MAX;
        if let Some(subflow) = connection.subflow {
            self.wake_subflow(subflow, network);
            return;
        }
        let transport = &self.transports[usize::from(connection.transport)];
        let (end, mut outlet) = connection.sender(network);
        end.wake(transport, self.framing, &mut outlet);
        let has_others = connection.message.holds || connection.message.shares;
        self.watch(name, network);
        if has_others {
            self.follow_step(name, network);
        }
    }

    pub(super) fn wake_receiver(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if connection.receiving.wake_ps != network.now_ps {
            return;
        }
        connection.receiving.wake_ps = u64::MAX;
        let transport = &self.transports[usize::from(connection.transport)];
        let (end, mut outlet) = connection.receiver(network);
        let delivered = end.wake(transport, self.framing, &mut outlet);
        self.account(name, delivered, network);
    }

    /// A card's turns are due: it hands packets to its port, and who waited for room there goes on.
    pub(crate) fn serve_card(&mut self, network: &mut Network) {
        let Some(host) = network.begin_service() else { return };
        let port = self.port_of[host as usize];
        while let Served::Half(starved) = network.serve(host, port) {
            if let Some(name) = starved {
                self.resume_sender(name, network);
            }
        }
        network.end_service(host, port);
    }

    /// A sender has room in its host's card again.
    pub(super) fn resume_sender(&mut self, name: u32, network: &mut Network) {
        let Some(connection) = self.connections.get(name) else { return };
        if let Some(subflow) = connection.subflow {
            self.resume_subflow(subflow, network);
            return;
        }
        let transport = &self.transports[usize::from(connection.transport)];
        let (end, mut outlet) = connection.sender(network);
        end.resume(transport, self.framing, &mut outlet);
        if connection.message.holds || connection.message.shares {
            self.settle_step(name, network);
        }
    }
}
