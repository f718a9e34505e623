//! Queue pairs whose two ends are in different parts of the fabric. The sender's part begins the messages, one after the
//! other; the receiver's part hears of each and delivers it after those before it. Such a queue pair is alone between its
//! hosts, and a message has one part.

use super::Hosts;
use super::census::Happening;
use super::queue_pairs::{Part, Parts, Striped, Undelivered};
use crate::network::Network;
use crate::pair::{Pair, Stream};

impl Striped {
    /// Whether a message has arrived whole on a connection and waits for those before it.
    pub(super) fn keeps_waiting(&self, flow: u32, connection: u32) -> bool {
        self.undelivered(flow).any(|part| part.connection == connection && part.arrived)
    }
}

impl Hosts<'_> {
    /// Whether the receiver of a flow is in another part of the fabric.
    pub(super) fn is_received_elsewhere(&self, flow: u32) -> bool {
        self.remote.as_ref().is_some_and(|remote| !remote.has(self.flows.flow(flow).dst))
    }

    /// The hosts of a flow, if they keep the queue pair that carries it.
    pub(super) fn keepers_of(&self, flow: u32) -> Option<Pair> {
        let pair = self.pair_of(flow);
        let pairs = self.transports[usize::from(pair.transport)].queue_pairs()?;
        (pairs.persistent || pair.stream != Stream::Any).then_some(pair)
    }

    /// A message has begun in another part on a queue pair that ends here. Returns the hashes of its packets, forth and back.
    pub(super) fn expect_part(
        &mut self,
        (name, flow): (u32, u32),
        keepers: Pair,
        network: &mut Network,
    ) -> [u32; 2] {
        let keepers = self.striped.number_of(keepers, 1);
        let begun = vec![Part { connection: name, queue_pair: 0, ended: false }];
        let parts = Parts { keepers: Some(keepers), begun, undelivered: 1, unended: 1 };
        self.striped.expect(flow, parts, Undelivered { connection: name, flow, arrived: false });
        self.kept_entropies(flow, (keepers, 0), network)
    }

    /// Reports that a message which has arrived whole waits, or which ones that waited are delivered by its arrival, where their
    /// sender is in another part.
    pub(super) fn report_order(&mut self, name: u32, delivered: &[Undelivered], network: &Network) {
        if !self.is_received_here(name) {
            return;
        }
        let Some(remote) = &mut self.remote else { return };
        if delivered.is_empty() {
            remote.report(name, Happening::Arrived, network);
        }
        for part in delivered.iter().filter(|part| part.connection != name) {
            remote.report(part.connection, Happening::Delivered, network);
        }
    }

    /// The sender of a message, in another part, has closed: its counters are final.
    pub(super) fn leave_parts(&mut self, flow: u32) {
        self.write_parts(flow);
        self.striped.forget(flow);
    }
}
