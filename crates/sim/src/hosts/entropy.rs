//! Hashes of connections' header fields, from which switches choose paths.

use super::Hosts;
use anabranch_split::picks::mix;

impl Hosts<'_> {
    /// Hash of a connection's header fields, as switches compute it, in one direction. A flow's first subflow
    /// has what a flow of one connection would have.
    fn entropy(&self, flow: u32, subflow: u8, back: bool) -> u32 {
        let of_flow = mix::finalise(mix::absorb(mix::absorb(self.salt, flow), back.into()));
        if subflow == 0 { of_flow } else { mix::finalise(mix::absorb(of_flow, subflow.into())) }
    }

    /// Hashes of a flow's connection, forth and back.
    pub(super) fn entropies(&self, flow: u32, subflow: u8) -> [u32; 2] {
        [false, true].map(|back| self.entropy(flow, subflow, back))
    }
}
