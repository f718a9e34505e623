//! Environment of the schemes that run at a host.

use anabranch_sim::Network;
use anabranch_split::{Env, capability};
use anabranch_traffic::random::Stream;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Random bits of each host.
pub(crate) struct HostStreams(Vec<Pcg32>);

impl HostStreams {
    pub(crate) fn new(hosts: u32, seed: u64) -> Self {
        let stream = |host| {
            let mut source = Stream::of_entity(seed, "edge", host);
            Pcg32::new(source.bits(), source.bits())
        };
        Self((0..hosts).map(stream).collect())
    }

    /// A host at this moment.
    #[inline]
    pub(crate) fn at(&mut self, host: u32, network: &Network) -> HostEnv<'_> {
        HostEnv { now_ns: network.now_ns(), stream: &mut self.0[host as usize] }
    }
}

/// A host at a moment.
pub(crate) struct HostEnv<'a> {
    pub(crate) now_ns: u64,
    /// Random bits of the host.
    pub(crate) stream: &'a mut Pcg32,
}

impl Env for HostEnv<'_> {
    const GIVES: u32 = capability::CLOCK | capability::RANDOM | capability::FEEDBACK;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        self.stream.next_u32()
    }
}
