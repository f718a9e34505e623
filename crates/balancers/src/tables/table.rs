//! Tables at work in switches: plans shared by the groups that need the same, one state per group.

use crate::Granularity;
use crate::switches::kept::Kept;
use crate::tables::Planned;
use crate::tables::plans::Plans;
use anabranch_sim::{Choice, GroupPlan, Junction, Kind, Network, Packet, PacketId, SwitchBalancer};
use anabranch_split::{Env, PlanError, capability, picks};
use anabranch_traffic::random::Stream;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// All plans and states of one scheme in one fabric.
pub(crate) struct TableBalancer<S: Planned> {
    granularity: Granularity,
    plans: Plans<S>,
    groups: Vec<Group<S::State>>,
    switches: Vec<Switch>,
}

/// One group at work.
#[derive(Clone)]
struct Group<T> {
    plan: u32,
    state: T,
    kept: Kept,
}

/// State that choices at one switch depend on, beside plan and packet.
struct Switch {
    salt: u32,
    stream: Pcg32,
}

/// Environment that a switch gives to schemes.
pub(crate) struct SwitchEnv<'a> {
    pub(crate) network: &'a mut Network,
    /// Ports of the members.
    pub(crate) ports: &'a [u32],
    pub(crate) stream: &'a mut Pcg32,
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
        self.ports.get(usize::from(member)).is_some_and(|&port| self.network.is_up(port))
    }
}

impl<S: Planned> TableBalancer<S> {
    pub(crate) fn new(parameters: S::Parameters, granularity: Granularity, salts: &[u32], seed: u64) -> Self {
        let switches =
            (0..).zip(salts).map(|(switch, &salt)| Switch { salt, stream: stream(seed, switch) }).collect();
        Self { granularity, plans: Plans::new(parameters), groups: Vec::new(), switches }
    }
}

/// The random numbers of a switch.
pub(crate) fn stream(seed: u64, switch: u32) -> Pcg32 {
    let mut source = Stream::of_entity(seed, "spraying", switch);
    Pcg32::new(source.bits(), source.bits())
}

impl<S: Planned> SwitchBalancer for TableBalancer<S> {
    /// Smaller units than flows choose by random bits.
    fn hashes_headers(&self) -> bool {
        S::HASHES && self.granularity == Granularity::Flow
    }

    /// Continues the plan that `heir_of` has. A group that has no positive weight keeps its plan: nobody will ask.
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, ports, weights, heir_of, .. } = asked;
        if heir_of != Some(group) {
            let next = match heir_of.and_then(|heir| self.groups.get(heir as usize)) {
                Some(heir) => {
                    self.plans.share(heir.plan);
                    heir.clone()
                }
                None => Group {
                    plan: Plans::<S>::NONE,
                    state: S::state(weights.len()),
                    kept: Kept::new(self.granularity, ports.len(), S::STICKY),
                },
            };
            match self.groups.get_mut(group as usize) {
                Some(known) => self.plans.release(std::mem::replace(known, next).plan),
                None => self.groups.push(next),
            }
        }
        let Some(Group { plan, state, kept }) = self.groups.get_mut(group as usize) else { return Ok(()) };
        if weights.iter().any(|&weight| weight > 0) {
            let made = self.plans.make(*plan, weights)?;
            self.plans.release(std::mem::replace(plan, made));
        }
        for (member, _) in (0..).zip(weights).filter(|&(_, &weight)| weight == 0) {
            kept.purge(member);
            S::forget(state, member);
        }
        Ok(())
    }

    fn retire(&mut self, group: u32) {
        if let Some(Group { plan, state, kept }) = self.groups.get_mut(group as usize) {
            self.plans.release(std::mem::replace(plan, Plans::<S>::NONE));
            *state = S::state(0);
            *kept = Kept::new(self.granularity, 0, S::STICKY);
        }
    }

    #[inline(always)]
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Switch { salt, stream } = &mut self.switches[at.switch as usize];
        let Packet { entropy, kind, connection, frame_bytes, seq, .. } = *network.packet(id);
        // Messages of hosts carry a host's number, and are no packets of the connection of that name: their names count
        // down from the last, which connections have when 16 million are open at once.
        let name = if kind == Kind::HostProbe { !connection } else { connection };
        let hash = match self.granularity {
            Granularity::Packet if S::HASHES => stream.next_u32(),
            _ => network.selection_hash(at.switch, entropy, *salt),
        };
        let mut asked = picks::Packet {
            flow: u64::from(name) << 32 | u64::from(hash),
            bytes: u32::from(frame_bytes),
            destination: at.leaf,
            ..picks::Packet::default()
        };
        let Group { plan, state, kept } = &mut self.groups[at.group as usize];
        let plan = self.plans.get(*plan);
        let mut env = SwitchEnv { network, ports: at.ports, stream };
        let member = kept.pick::<S, _>(self.granularity, seq, plan, state, &mut asked, &mut env);
        Choice::Member(member)
    }
}
