//! Hashes of connections' header fields, from which switches choose paths.

use super::Hosts;
use crate::network::Network;
use anabranch_split::picks::mix;

impl Hosts<'_> {
    /// Hash of a connection's header fields, as switches compute it, in one direction. A flow's first subflow
    /// has what a flow of one connection would have.
    fn entropy(&self, flow: u32, subflow: u8, back: bool) -> u32 {
        let of_flow = mix::finalise(mix::absorb(mix::absorb(self.salt, flow), back.into()));
        if subflow == 0 { of_flow } else { mix::finalise(mix::absorb(of_flow, subflow.into())) }
    }

    /// Hashes of a flow's connection, forth and back, or the numbers of its headers.
    pub(super) fn entropies(&self, flow: u32, subflow: u8, network: &mut Network) -> [u32; 2] {
        let hashed = [false, true].map(|back| self.entropy(flow, subflow, back));
        self.with_headers(flow, subflow, hashed, network)
    }

    /// Numbers of the headers of a flow's connection, if switches hash headers, which are made now; else these hashes.
    pub(super) fn with_headers(
        &self,
        flow: u32,
        index: u8,
        hashed: [u32; 2],
        network: &mut Network,
    ) -> [u32; 2] {
        let Some(headers) = &mut network.headers else { return hashed };
        let flow = self.flows.flow(flow);
        headers.open(flow, index, &self.transports[usize::from(flow.transport)], hashed)
    }
}
