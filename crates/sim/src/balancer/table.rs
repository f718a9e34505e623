//! Tables at work in switches: plans shared by the groups that need the same, one state per group.

use super::{Choice, Junction, LoadBalancer, Planned};
use crate::Packet;
use crate::network::Network;
use anabranch_plan::{Granularity, selection_hash};
use anabranch_split::scheme::byte_deficit::WholeFlow;
use anabranch_split::scheme::flowcell::{self, Numbered};
use anabranch_split::scheme::{FlowTable, Flowlet, Flows, units};
use anabranch_split::{Env, PlanError, capability, scheme};
use anabranch_traffic::random::Stream;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use std::collections::HashMap;

/// All plans and states of one scheme in one fabric.
pub(crate) struct TableBalancer<S: Planned> {
    parameters: S::Parameters,
    granularity: Granularity,
    plans: Vec<S::Stored>,
    /// Plans by what they were made from: a plan before, and weights.
    known: HashMap<(Option<u32>, Vec<u64>), u32>,
    groups: Vec<Group<S::State>>,
    switches: Vec<Switch>,
}

/// One group at work.
#[derive(Clone)]
struct Group<T> {
    plan: u32,
    state: T,
    units: Units,
}

/// What is kept together beyond a packet, with the member each flow's unit has.
#[derive(Clone)]
enum Units {
    /// Nothing that must be remembered.
    None,
    /// Whole flows, where a hash alone does not keep them together.
    Flows(Box<FlowTable<()>>),
    Flowlets(Box<FlowTable<u64>>),
    Flowcells(Box<FlowTable<u32>>),
}

/// What choices at one switch depend on beside plan and packet.
struct Switch {
    salt: u32,
    stream: Pcg32,
}

/// What a switch gives to schemes.
pub(super) struct SwitchEnv<'a> {
    pub(super) network: &'a mut Network,
    /// Ports of the members.
    pub(super) ports: &'a [u32],
    pub(super) stream: &'a mut Pcg32,
}

impl Env for SwitchEnv<'_> {
    const GIVES: u32 = capability::CLOCK | capability::RANDOM | capability::BACKLOG;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.network.now_ns()
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        self.stream.next_u32()
    }

    #[inline(always)]
    fn backlog_bytes(&mut self, member: u16) -> u32 {
        self.ports.get(usize::from(member)).map_or(0, |&port| self.network.backlog_bytes(port))
    }

    #[inline(always)]
    fn up(&self, member: u16) -> bool {
        self.ports.get(usize::from(member)).is_some_and(|&port| self.network.ports[port as usize].is_up())
    }
}

impl<S: Planned> TableBalancer<S> {
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

    fn units(&self, members: usize) -> Units {
        match self.granularity {
            _ if members < 2 => Units::None,
            Granularity::Flow if S::STICKY => Units::None,
            Granularity::Flow => Units::Flows(Box::default()),
            Granularity::Flowlet { .. } => Units::Flowlets(Box::default()),
            Granularity::Flowcell { .. } => Units::Flowcells(Box::default()),
            Granularity::Packet => Units::None,
        }
    }
}

impl Units {
    /// Units on a member that is not to be used any more choose again.
    fn purge(&mut self, member: u16) {
        match self {
            Self::None => {}
            Self::Flows(flows) => flows.purge(member),
            Self::Flowlets(flows) => flows.purge(member),
            Self::Flowcells(flows) => flows.purge(member),
        }
    }
}

impl<S: Planned> LoadBalancer for TableBalancer<S> {
    /// Continues the plan that `heir_of` has. A group that has no positive weight keeps its plan: nobody will ask.
    fn plan(
        &mut self,
        group: u32,
        _switch: u32,
        ports: &[u32],
        weights: &[u64],
        heir_of: Option<u32>,
    ) -> Result<(), PlanError> {
        let heir = heir_of.and_then(|group| self.groups.get(group as usize));
        let old = heir.map(|heir| heir.plan);
        let mut next = match heir {
            Some(heir) => heir.clone(),
            None => Group { plan: u32::MAX, state: S::state(weights.len()), units: self.units(ports.len()) },
        };
        if weights.iter().any(|&weight| weight > 0) {
            let key = (old, weights.to_vec());
            next.plan = match self.known.get(&key) {
                Some(&plan) => plan,
                None => {
                    let before = old.and_then(|old| self.plans.get(old as usize));
                    let made = S::plan(&self.parameters, weights, before)?;
                    self.plans.push(made);
                    let plan = self.plans.len() as u32 - 1;
                    self.known.insert(key, plan);
                    plan
                }
            };
        }
        for (member, _) in (0..).zip(weights).filter(|&(_, &weight)| weight == 0) {
            next.units.purge(member);
            S::forget(&mut next.state, member);
        }
        match self.groups.get_mut(group as usize) {
            Some(known) => *known = next,
            None => self.groups.push(next),
        }
        Ok(())
    }

    #[inline(always)]
    fn choose(&mut self, at: &Junction<'_>, place: u32, network: &mut Network) -> Choice {
        let Switch { salt, stream } = &mut self.switches[at.switch as usize];
        let Packet { entropy, connection, frame_bytes, seq, .. } = *network.packets.get(place);
        let hash = match self.granularity {
            Granularity::Packet if S::HASHES => stream.next_u32(),
            _ => selection_hash(entropy, *salt),
        };
        let mut asked = scheme::Packet {
            flow: u64::from(connection) << 32 | u64::from(hash),
            bytes: u32::from(frame_bytes),
            ..scheme::Packet::default()
        };
        let Group { plan, state, units } = &mut self.groups[at.group as usize];
        let plan = self.plans[*plan as usize].as_ref();
        let mut env = SwitchEnv { network, ports: at.ports, stream };
        Choice::Member(match (units, self.granularity) {
            (Units::Flowlets(flows), Granularity::Flowlet { gap_ns }) => units::pick::<_, S, _, _>(
                &Flowlet { gap_ns },
                plan,
                &mut **flows,
                state,
                &mut asked,
                &mut env,
            ),
            (Units::Flowcells(flows), Granularity::Flowcell { bytes }) => {
                asked.cell = flowcell::number(seq, bytes) as u32;
                units::pick::<_, S, _, _>(&Numbered, plan, &mut **flows, state, &mut asked, &mut env)
            }
            (Units::Flows(flows), _) => {
                units::pick::<_, S, _, _>(&WholeFlow, plan, &mut **flows, state, &mut asked, &mut env)
            }
            _ => scheme::pick::<S, SwitchEnv<'_>>(plan, state, &mut asked, &mut env),
        })
    }
}
