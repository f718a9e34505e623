//! DBB in switches: each follows its list of next hops for a pair of leaves, counting its own arrivals.
//!
//! The leaf that a packet enters by writes its number into the packet's tag, as P4 switches would keep it in a header of
//! their own: switches further on know by it which pair's list to follow.

use super::cycles::{Controller, Pair};
use crate::dbb::parameters::Dbb;
use crate::dbb::pick::{Counter, Independent, Shared};
use crate::tables::table::SwitchEnv;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::{Choice, GroupPlan, Junction, Network, PacketId, SwitchBalancer};
use anabranch_split::picks::flow_cycle::Start;
use anabranch_split::picks::{FlowTable, flow_cycle, uniform};
use anabranch_split::{Env, PlanError, picks};
use anabranch_traffic::random::Stream;
use rand_pcg::Pcg32;

/// DBB in all switches of a fabric.
pub(crate) struct DbbBalancer {
    controller: Controller,
    seed: u64,
    /// Number of each switch as a destination, if it is a leaf.
    leaf_at: Vec<Option<u32>>,
    /// Plan of each pair, by source's and destination's leaf.
    pairs: Vec<Planned>,
    switches: Vec<Switch>,
}

enum Planned {
    NotYet,
    NoWay,
    /// With a shared counter for each of its switches.
    Pair(Pair, Box<[u32]>),
}

struct Switch {
    stream: Pcg32,
    /// Counters of flows.
    flows: FlowTable<flow_cycle::Counter>,
}

impl DbbBalancer {
    /// # Errors
    /// A fabric in which some pair of leaves has no cycle although paths connect it.
    pub(crate) fn new(dbb: Dbb, fabric: &Fabric, seed: u64) -> Result<Self, PlanError> {
        let controller = Controller::new(dbb, fabric, seed);
        let count = fabric.nodes().len() as u32 - fabric.hosts();
        let mut leaf_at = vec![None; count as usize];
        for (number, leaf) in (0..).zip(controller.leaves()) {
            leaf_at[(leaf - fabric.hosts()) as usize] = Some(number);
        }
        let switches = (0..count).map(|switch| {
            let mut source = Stream::of_entity(seed, "dbb", switch);
            Switch { stream: Pcg32::new(source.bits(), source.bits()), flows: FlowTable::default() }
        });
        let leaves = controller.leaves().len() as u32;
        let mut balancer =
            Self { controller, seed, leaf_at, pairs: Vec::new(), switches: switches.collect() };
        balancer.forget_pairs();
        for (from, to) in (0..leaves).flat_map(|from| (0..leaves).map(move |to| (from, to))) {
            balancer.make_pair(from, to)?;
        }
        Ok(balancer)
    }

    fn forget_pairs(&mut self) {
        let leaves = self.controller.leaves().len();
        self.pairs = (0..leaves * leaves).map(|_| Planned::NotYet).collect();
    }

    fn index(&self, from: u32, to: u32) -> usize {
        from as usize * self.controller.leaves().len() + to as usize
    }

    fn make_pair(&mut self, from: u32, to: u32) -> Result<(), PlanError> {
        let index = self.index(from, to);
        self.pairs[index] = Planned::NoWay;
        let Some(pair) = self.controller.pair(from, to)? else { return Ok(()) };
        let mut counters: Box<[u32]> = vec![0; pair.cycle.turns.len()].into();
        if self.controller.parameters().switches.start() == Start::Random {
            let mut source = Stream::of_entity(self.seed, "dbb start", index as u32);
            for (counter, turns) in
                counters.iter_mut().zip(&pair.cycle.turns).filter(|(_, turns)| !turns.is_empty())
            {
                *counter = source.below(turns.len() as u64) as u32;
            }
        }
        self.pairs[index] = Planned::Pair(pair, counters);
        Ok(())
    }
}

impl SwitchBalancer for DbbBalancer {
    const DEPARTS: bool = true;

    /// Lists come from the controller; what is dead here is not its to know before routing does.
    fn plan(&mut self, _asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        Ok(())
    }

    #[inline(always)]
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let packet = network.packet(id);
        let from = match (packet.tag.checked_sub(1), self.leaf_at[at.switch as usize]) {
            (Some(from), _) | (None, Some(from)) => from,
            // A pinned packet whose path is dead, at a switch that knows no list for it.
            (None, None) => return Choice::NoPath,
        };
        packet.tag = from + 1;
        let flow = u64::from(packet.connection) << 32 | u64::from(packet.entropy);
        let mut asked = picks::Packet { flow, bytes: packet.frame_bytes.into(), ..picks::Packet::default() };
        let index = self.index(from, at.leaf);
        if matches!(self.pairs[index], Planned::NotYet) && self.make_pair(from, at.leaf).is_err() {
            return Choice::NoPath;
        }
        let Planned::Pair(pair, counters) = &mut self.pairs[index] else { return Choice::NoPath };
        let Some(number) = pair.number(at.switch) else { return Choice::NoPath };
        let turns = &pair.cycle.turns[number][..];
        if turns.is_empty() {
            return Choice::NoPath;
        }
        let Switch { stream, flows } = &mut self.switches[at.switch as usize];
        let mut env = SwitchEnv { network, ports: at.ports, stream };
        let parameters = &self.controller.parameters().switches;
        let link = match parameters.counter {
            Counter::Shared => picks::pick::<Shared, _>(turns, &mut counters[number], &mut asked, &mut env),
            Counter::Independent => {
                let plan = flow_cycle::Plan { turns, start: parameters.start(), idle_ns: parameters.idle_ns };
                picks::pick::<Independent<&[u16], _>, _>(&plan, flows, &mut asked, &mut env)
            }
            Counter::Drawn => turns[uniform::index(env.random_u32(), turns.len())],
        };
        let port = pair.ports[usize::from(link)];
        match at.ports.iter().position(|&member| member == port) {
            Some(member) => Choice::Member(member as u16),
            None => Choice::NoPath,
        }
    }

    /// A leaf with one next hop is asked nothing: the packet learns here where it comes from.
    #[inline(always)]
    fn depart(&mut self, switch: u32, _port: u32, id: PacketId, network: &mut Network) {
        let packet = network.packet(id);
        if packet.tag == 0
            && let Some(from) = self.leaf_at[switch as usize]
        {
            packet.tag = from + 1;
        }
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.controller.learn(links);
        self.forget_pairs();
    }
}
