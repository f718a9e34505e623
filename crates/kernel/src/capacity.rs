//! Sizes of a datapath's maps, and a program's object loaded with them.

use crate::error::KernelError;
use crate::layout::GENERATIONS;
use crate::object::Object;
use aya::{Ebpf, EbpfLoader};

/// Parts of PLANS where plans have slots: the plans, and their homes.
pub(crate) const PARTS: u32 = 2;

/// Sizes of a datapath and its mode, fixed when it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Most groups, at least one.
    pub groups: u32,
    /// Most prefixes; zero where all IP packets belong to group 0.
    pub routes: u32,
    /// Clock and random numbers come with the packet ([`crate::Program::try_packet`]).
    pub replay: bool,
}

impl Capacity {
    /// One group for all IP packets.
    #[must_use]
    pub fn one(replay: bool) -> Self {
        Self { groups: 1, routes: 0, replay }
    }

    /// Loads an object with constants and maps of these sizes.
    pub(crate) fn load(self, object: Object) -> Result<Ebpf, KernelError> {
        let constants = [("REPLAY", u32::from(self.replay)), ("ROUTED", u32::from(self.routes > 0))];
        let mut loader = EbpfLoader::new();
        for (name, value) in &constants {
            loader.override_global(name, value, true);
        }
        // Behind the plans stand the homes of their slots.
        let parts = if object.has_slots() { PARTS } else { 1 };
        loader.map_max_entries("PLANS", GENERATIONS * self.groups * parts);
        loader.map_max_entries("NAMES", GENERATIONS * self.groups);
        loader.map_max_entries("GATEWAYS", GENERATIONS * self.groups);
        loader.map_max_entries("ROUTES", GENERATIONS * self.routes.max(1));
        loader.map_max_entries("COUNTERS", self.groups);
        // The place in the cycle of each group, where the scheme has one.
        loader.map_max_entries("TURN", self.groups);
        loader.load(object.bytes()).map_err(|error| KernelError::of("eBPF maps")(&error))
    }
}
