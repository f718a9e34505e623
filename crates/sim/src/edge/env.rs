//! What a host gives to schemes.

use crate::network::Network;
use anabranch_split::{Env, capability};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Clock and random numbers.
pub(super) struct HostEnv<'a> {
    pub(super) network: &'a Network,
    pub(super) stream: &'a mut Pcg32,
}

impl Env for HostEnv<'_> {
    const GIVES: u32 = capability::CLOCK | capability::RANDOM;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.network.now_ns()
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        self.stream.next_u32()
    }
}
