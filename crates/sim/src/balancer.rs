//! Schemes at work in switches: plans shared by the groups that need the same, one state per group.

use crate::Packet;
use crate::planned::Planned;
use anabranch_plan::{Granularity, selection_hash};
use anabranch_split::{PlanError, Still, scheme};
use anabranch_traffic::random::Stream;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use std::collections::HashMap;

/// All plans and states of one scheme in one fabric.
pub(crate) struct Balancer<S: Planned> {
    parameters: S::Parameters,
    granularity: Granularity,
    plans: Vec<S::Stored>,
    /// Plans by what they were made from: a plan before, and weights.
    known: HashMap<(Option<u32>, Vec<u64>), u32>,
    /// By group: its plan and its state.
    groups: Vec<(u32, S::State)>,
    switches: Vec<Switch>,
}

/// What choices at one switch depend on beside plan and packet.
struct Switch {
    salt: u32,
    stream: Pcg32,
}

impl<S: Planned> Balancer<S> {
    pub(crate) fn new(parameters: S::Parameters, granularity: Granularity, salts: &[u32], seed: u64) -> Self {
        let switches = (0..)
            .zip(salts)
            .map(|(switch, &salt)| {
                let mut source = Stream::of_entity(seed, "spraying", switch);
                Switch { salt, stream: Pcg32::new(source.bits(), source.bits()) }
            })
            .collect();
        Self {
            parameters,
            granularity,
            plans: Vec::new(),
            known: HashMap::new(),
            groups: Vec::new(),
            switches,
        }
    }

    /// Plans `group` for these weights, continuing the plan that `heir_of` has. A group that has no positive weight
    /// keeps its plan: nobody will ask.
    pub(crate) fn plan(
        &mut self,
        group: u32,
        weights: &[u64],
        heir_of: Option<u32>,
    ) -> Result<(), PlanError> {
        let old = heir_of.and_then(|group| self.groups.get(group as usize)).map(|&(plan, _)| plan);
        let alive = weights.iter().any(|&weight| weight > 0);
        let plan = if alive {
            let key = (old, weights.to_vec());
            match self.known.get(&key) {
                Some(&plan) => plan,
                None => {
                    let before = old.and_then(|old| self.plans.get(old as usize));
                    let made = S::plan(&self.parameters, weights, before)?;
                    self.plans.push(made);
                    let plan = self.plans.len() as u32 - 1;
                    self.known.insert(key, plan);
                    plan
                }
            }
        } else {
            old.unwrap_or(u32::MAX)
        };
        let group = group as usize;
        if group < self.groups.len() {
            self.groups[group].0 = plan;
        } else {
            self.groups.push((plan, S::State::default()));
        }
        Ok(())
    }

    /// The member of `group`, at `switch`, that takes `packet`.
    #[inline(always)]
    pub(crate) fn pick(&mut self, switch: u32, group: u32, packet: &Packet) -> u16 {
        let Switch { salt, stream } = &mut self.switches[switch as usize];
        let hash = match self.granularity {
            Granularity::Flow => selection_hash(packet.entropy, *salt),
            Granularity::Packet => stream.next_u32(),
        };
        let (plan, state) = &mut self.groups[group as usize];
        let mut asked = scheme::Packet {
            flow: u64::from(packet.connection) << 32 | u64::from(hash),
            bytes: u32::from(packet.frame_bytes),
            ..scheme::Packet::default()
        };
        scheme::pick::<S, Still>(self.plans[*plan as usize].as_ref(), state, &mut asked, &mut Still)
    }
}
