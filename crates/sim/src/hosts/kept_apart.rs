//! Messages over queue pairs whose two ends are in different parts of the fabric. The sender's part begins their parts, those of
//! a queue pair one after the other; the receiver's part hears of each, and delivers it after those before it.

use super::Hosts;
use super::census::Happening;
use super::queue_pairs::Undelivered;
use crate::connections::Message;
use crate::network::Network;
use crate::pair::{Pair, Stream};
use crate::transport::{QueuePairMode, QueuePairs};
use anabranch_traffic::Flow;

impl Hosts<'_> {
    /// Whether the receiver of a flow is in another part of the fabric.
    pub(super) fn is_received_elsewhere(&self, flow: u32) -> bool {
        self.remote.as_ref().is_some_and(|remote| !remote.has(self.flows.flow(flow).dst))
    }

    /// Queue pairs that carry the messages of a pair of hosts in parts or one after the other, and the hosts if they keep
    /// them; nothing where each message has one of its own.
    pub(super) fn queue_pairs_of(&self, pair: &Pair) -> Option<(QueuePairs, Option<Pair>)> {
        let pairs = self.transports[usize::from(pair.transport)].queue_pairs()?;
        let keeps = pairs.persistent || pair.stream != Stream::Any;
        (keeps || pairs.count > 1).then_some((pairs, keeps.then_some(*pair)))
    }

    /// What a connection carries of a flow that has begun in another part, on a queue pair that ends here, and the hashes of
    /// its packets, forth and back.
    pub(super) fn expect_part(
        &mut self,
        name: u32,
        (flow, queue_pair): (u32, u8),
        network: &mut Network,
    ) -> (Message, [u32; 2]) {
        let Flow { size_bytes, .. } = *self.flows.flow(flow);
        let Some((pairs, keepers)) = self.queue_pairs_of(&self.pair_of(flow)) else {
            return (Message::whole(flow, size_bytes), self.entropies(flow, queue_pair, network));
        };
        let bytes = match pairs.mode {
            QueuePairMode::Split => pairs.parts(size_bytes).nth(queue_pair.into()),
            QueuePairMode::RoundRobin => None,
        };
        let keepers = keepers.map(|hosts| self.striped.number_of(hosts, pairs.count));
        let count = pairs.parts(size_bytes).count() as u32;
        self.striped.expect(flow, (name, queue_pair), (count, keepers));
        let entropies = match keepers {
            Some(keepers) => self.kept_entropies(flow, (keepers, queue_pair), network),
            None => self.entropies(flow, queue_pair, network),
        };
        (Message::whole(flow, bytes.unwrap_or(size_bytes)), entropies)
    }

    /// Reports that a part which has arrived whole waits, or which ones that waited are delivered by its arrival, where their
    /// sender is in another part of the fabric.
    pub(super) fn report_order(
        &mut self,
        (flow, name): (u32, u32),
        delivered: &[Undelivered],
        network: &Network,
    ) {
        if !self.is_received_here(name) {
            return;
        }
        let Some(remote) = &mut self.remote else { return };
        if delivered.is_empty() {
            remote.report(name, Happening::Arrived { flow }, network);
        }
        for part in delivered.iter().filter(|part| part.connection != name) {
            remote.report(part.connection, Happening::Delivered { flow: part.flow }, network);
        }
    }
}
