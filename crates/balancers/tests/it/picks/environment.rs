//! Environment with a clock that is set by hand, random bits and feedback.

use anabranch_split::{Env, capability};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Environment in which schemes of sending hosts are tried.
#[derive(Default)]
pub(crate) struct Environment {
    pub(crate) now_ns: u64,
    /// Stream of random bits; without it, they are all zero.
    stream: Option<Pcg32>,
    /// Members that are dead.
    pub(crate) dead: Vec<u16>,
}

impl Environment {
    /// Random bits that depend on `seed`.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { stream: Some(Pcg32::new(seed, 1)), ..Self::default() }
    }
}

impl Env for Environment {
    const GIVES: u32 = capability::CLOCK | capability::RANDOM | capability::FEEDBACK;

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn random_u32(&mut self) -> u32 {
        self.stream.as_mut().map_or(0, Rng::next_u32)
    }

    fn up(&self, member: u16) -> bool {
        !self.dead.contains(&member)
    }
}
