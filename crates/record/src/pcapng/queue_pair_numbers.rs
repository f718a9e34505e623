//! Numbers by which hosts know their queue pairs of RoCE, and their packet delivery contexts of UEC.

use anabranch_sim::{CapturedPacket, Carrier};
use std::collections::HashMap;

/// Numbers in use. Each host gives its own in order.
#[derive(Default)]
pub(super) struct QueuePairNumbers {
    /// Numbers at the sending and at the receiving host, by the name of the queue pair.
    given: HashMap<u32, [u32; 2]>,
    /// Number of queue pairs so far, by host.
    counts: HashMap<u32, u32>,
}

impl QueuePairNumbers {
    /// Numbers of the queue pair that `capture` belongs to, at its sending and at its receiving host, which are `hosts`; the
    /// packet may go either way.
    pub(super) fn of(&mut self, capture: &CapturedPacket, hosts: [u32; 2]) -> [u32; 2] {
        // InfiniBand has queue pairs 0 and 1 for management, Ultra Ethernet reserves context 0.
        let (first, count) = match &capture.carrier {
            Carrier::Uec(_) => (1, (1 << 16) - 1),
            Carrier::Roce(..) | Carrier::Stream => (2, (1 << 24) - 2),
        };
        let Self { given, counts } = self;
        let queue_pair =
            capture.carrier.position().map_or(capture.packet.connection, |position| position.queue_pair);
        *given.entry(queue_pair).or_insert_with(|| {
            hosts.map(|host| {
                let so_far = counts.entry(host).or_default();
                let number = first + *so_far % count;
                *so_far = so_far.wrapping_add(1);
                number
            })
        })
    }
}
