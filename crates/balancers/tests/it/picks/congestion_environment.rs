//! Environment with a clock that tests set, a stream of random bits, and members that die.

use anabranch_split::{Env, capability};

pub(crate) struct Environment {
    pub(crate) now_ns: u64,
    pub(crate) dead: Vec<u16>,
    bits: u64,
}

impl Environment {
    pub(crate) fn new() -> Self {
        Self { now_ns: 1, dead: Vec::new(), bits: 0x9e37_79b9_7f4a_7c15 }
    }
}

impl Env for Environment {
    const GIVES: u32 = !capability::BACKLOG;

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn random_u32(&mut self) -> u32 {
        self.bits = self.bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.bits >> 32) as u32
    }

    fn up(&self, member: u16) -> bool {
        !self.dead.contains(&member)
    }
}
