//! One flow from every sender of a pattern, all at once.

use crate::random::Stream;
use crate::sizes::Sizes;
use crate::{Flow, Pattern, Ports, Start, TrafficError};
use anabranch_fabric::Fabric;

/// One flow from every sender of a pattern at the same time, as one job: a permutation, an all-to-all exchange, long
/// flows between given pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Once {
    /// Pattern of senders and receivers.
    pub pattern: Pattern,
    /// Sizes of the flows.
    pub sizes: Sizes,
    /// Start of all flows, in picoseconds.
    pub start_ps: u64,
    /// Index into the simulation's list of transports.
    pub transport: u8,
}

impl Once {
    pub(super) fn flows(&self, fabric: &Fabric, seed: u64) -> Result<Vec<Flow>, TrafficError> {
        let senders = self.pattern.on(fabric, seed)?;
        if let Some((problem, hint)) = self.sizes.fault() {
            return Err(TrafficError::new("sizes", problem, hint));
        }
        let flows = (0..).zip(&senders.senders).map(|(entity, &sender)| {
            let stream = |purpose| Stream::of_entity(seed, purpose, entity);
            Flow {
                src: sender.host,
                dst: senders.destination(sender, &mut stream("destinations")),
                size_bytes: self.sizes.draw_bytes(&mut stream("sizes")),
                start: Start::At(self.start_ps),
                path: None,
                job: Some(0),
                transport: self.transport,
                ports: Ports::CHOSEN,
            }
        });
        Ok(flows.collect())
    }
}
