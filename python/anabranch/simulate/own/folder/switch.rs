//! Switches that run blank-scheme, each with random numbers of its own.

use super::pick;
use crate::switches::port_env::{PortEnv, stream};
use anabranch_fabric::Fabric;
use anabranch_sim::{Choice, GroupPlan, Junction, Network, PacketId, SwitchBalancer};
use anabranch_split::{PlanError, picks};
use rand_pcg::Pcg32;

type Rule = pick::BlankScheme;

/// All switches of a fabric.
pub(crate) struct Switches {
    /// Weights by group.
    groups: Vec<Box<[u64]>>,
    /// Random numbers by switch.
    streams: Vec<Pcg32>,
}

impl Switches {
    pub(crate) fn new(fabric: &Fabric, seed: u64) -> Self {
        let switches = fabric.nodes().len() as u32 - fabric.hosts();
        let named = |switch| stream(seed, "blank-scheme", switch);
        Self { groups: Vec::new(), streams: (0..switches).map(named).collect() }
    }
}

impl SwitchBalancer for Switches {
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let group = asked.group as usize;
        self.groups.resize(self.groups.len().max(group + 1), Box::default());
        self.groups[group] = asked.weights.into();
        Ok(())
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let now_ns = network.now_ns();
        let packet = network.packet(id);
        let mut asked = picks::Packet {
            flow: u64::from(packet.connection) << 32 | u64::from(packet.entropy),
            bytes: packet.frame_bytes.into(),
            destination: at.leaf,
            ..picks::Packet::default()
        };
        let weights = &*self.groups[at.group as usize];
        let up = |member: u16| weights[usize::from(member)] > 0;
        let stream = &mut self.streams[at.switch as usize];
        let mut env = PortEnv { now_ns, stream, up };
        Choice::Member(picks::pick::<Rule, _>(weights, &mut (), &mut asked, &mut env))
    }
}
