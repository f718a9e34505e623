//! CONGA at work: leaves choose and tell each other, spines write the levels of their links into what passes.

use crate::conga::pick as conga;
use crate::conga::pick::{Arrived, Metric, Parameters, Plan};
use crate::conga::tag::{Tag, UPLINKS_MAX, raised};
use crate::switches::port_env::{PortEnv, Usable, leaf_of_switches, numbers, stream};
use anabranch_fabric::{Fabric, LinkState, NextHops, Tier};
use anabranch_plan::selection_hash;
use anabranch_sim::{
    Choice, GroupPlan, Junction, Network, Packet, PacketId, SimulationError, SwitchBalancer,
};
use anabranch_split::picks::dre::{Estimator, Register};
use anabranch_split::picks::{FlowTable, Pick};
use anabranch_split::{PlanError, picks};
use rand_pcg::Pcg32;

type Rule = conga::Conga<Box<[u64]>, Box<[Register]>, Box<[Metric]>, Box<[u8]>, FlowTable<u64>>;

/// All leaves and spines.
pub(crate) struct Conga {
    parameters: Parameters,
    estimator: Estimator,
    /// State of each leaf.
    leaves: Vec<Leaf>,
    /// Number of each switch as a leaf.
    leaf_of: Vec<Option<u32>>,
    salts: Vec<u32>,
    /// Number of each port among the ports to switches of its own switch.
    number: Vec<u16>,
    usable: Usable,
    /// Register of each port of a spine.
    registers: Vec<Register>,
    full_bytes: Vec<u64>,
    /// Whether each port leads from a switch to a switch.
    between: Vec<bool>,
}

/// One leaf.
struct Leaf {
    plan: Plan<Box<[u64]>>,
    state: <Rule as Pick>::State,
    /// Port of each uplink.
    ports: Box<[u32]>,
    stream: Pcg32,
}

impl Conga {
    pub(crate) const NEEDS: u32 = Rule::NEEDS;

    /// # Errors
    /// A fabric that is not leaf-spine.
    pub(crate) fn new(
        parameters: Parameters,
        fabric: &Fabric,
        salts: &[u32],
        seed: u64,
    ) -> Result<Self, SimulationError> {
        let hosts = fabric.hosts();
        let links = LinkState::of(fabric);
        let leaves = NextHops::shortest(fabric, &links).leaves;
        check(fabric, &leaves)?;
        let between: Vec<bool> =
            fabric.ports().iter().map(|port| port.from >= hosts && port.to >= hosts).collect();
        let uplinks = |&leaf: &u32| -> Box<[u32]> {
            fabric.ports_of(leaf).iter().copied().filter(|&port| between[port as usize]).collect()
        };
        let row = leaves.iter().map(|leaf| uplinks(leaf).len()).max().unwrap_or(0);
        let estimator = parameters.estimator();
        let leaf = |node: &u32| {
            let ports = uplinks(node);
            let metrics = || vec![Metric::default(); leaves.len() * row].into_boxed_slice();
            let Parameters { gap_ns, age_ns, candidates, wrap, .. } = parameters;
            Leaf {
                plan: Plan {
                    estimator,
                    full_bytes: vec![0; ports.len()].into(),
                    row: row as u16,
                    gap_ns,
                    age_ns,
                    candidates,
                    wrap,
                },
                state: conga::State {
                    registers: vec![Register::default(); ports.len()].into(),
                    to_leaf: metrics(),
                    from_leaf: metrics(),
                    turns: vec![0; leaves.len()].into(),
                    flowlets: FlowTable::default(),
                },
                ports,
                stream: stream(seed, "conga", node - hosts),
            }
        };
        let mut conga = Self {
            parameters,
            estimator,
            leaves: leaves.iter().map(leaf).collect(),
            leaf_of: leaf_of_switches(fabric, leaves.iter().copied()),
            salts: salts.to_vec(),
            number: numbers(fabric, |port| between[port as usize]),
            usable: Usable::default(),
            registers: vec![Register::default(); fabric.ports().len()],
            full_bytes: vec![0; fabric.ports().len()],
            between,
        };
        conga.measure(&links);
        Ok(conga)
    }

    /// Whether a packet is measured, and carries levels and feedback.
    #[inline(always)]
    fn tells(&self, packet: &Packet) -> bool {
        !self.parameters.data_only || packet.kind.has_payload()
    }

    /// Sets the register value of a full link, by which links are measured.
    fn measure(&mut self, links: &LinkState) {
        let between = || links.rate.iter().zip(&self.between).filter(|&(_, &between)| between);
        let fastest = between().map(|(rate, _)| rate.bps()).max().unwrap_or(0);
        for (full, rate) in self.full_bytes.iter_mut().zip(&links.rate) {
            let rate_bps = if self.parameters.own_rates { rate.bps() } else { fastest };
            *full = self.estimator.full_bytes(rate_bps);
        }
        for leaf in &mut self.leaves {
            for (full, &port) in leaf.plan.full_bytes.iter_mut().zip(&leaf.ports) {
                *full = self.full_bytes[port as usize];
            }
        }
    }
}

/// Every link between switches joins a leaf, which has hosts, and a spine, which has none.
fn check(fabric: &Fabric, leaves: &[u32]) -> Result<(), SimulationError> {
    let name = |node: u32| &fabric.nodes()[node as usize].name;
    let tier = |node: u32| fabric.nodes()[node as usize].tier;
    let has_hosts = |node: u32| leaves.binary_search(&node).is_ok();
    let alien = fabric.ports().iter().find(|port| {
        let (from, to) = (port.from, port.to);
        let switches = tier(from) != Tier::Host && tier(to) != Tier::Host;
        switches && has_hosts(from) == has_hosts(to)
    });
    if let Some(port) = alien {
        return Err(SimulationError::new(
            format!(
                "routing.balance: conga, and a link from {} to {}, which is not one of leaf and spine",
                name(port.from),
                name(port.to)
            ),
            "set fabric.kind = \"leaf-spine\", or routing.balance = \"hula\", which knows three tiers too",
        ));
    }
    let uplinks = |leaf: u32| {
        fabric.ports_of(leaf).iter().filter(|&&port| tier(fabric.ports()[port as usize].to) != Tier::Host)
    };
    if let Some(&leaf) = leaves.iter().find(|&&leaf| uplinks(leaf).count() > UPLINKS_MAX) {
        return Err(SimulationError::new(
            format!("routing.balance: conga, and {} uplinks of {}", uplinks(leaf).count(), name(leaf)),
            format!("give a leaf at most {UPLINKS_MAX} uplinks: a packet's tag numbers no more"),
        ));
    }
    Ok(())
}

impl SwitchBalancer for Conga {
    const DEPARTS: bool = true;
    const DELIVERS: bool = true;

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, ports, weights, .. } = asked;
        self.usable.plan(group, ports, weights, &self.number);
        Ok(())
    }

    /// A leaf chooses for what its own hosts send. A packet that is on its way, between parallel links or on
    /// a detour round failures, is hashed; control too, where it takes no part.
    #[inline]
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let now_ns = network.now_ns();
        let packet = network.packet(id);
        let chosen_for = Tag::unpack(packet.tag).is_none() && self.tells(packet);
        let Some(leaf) = self.leaf_of[at.switch as usize].filter(|_| chosen_for) else {
            let hash = selection_hash(packet.entropy, self.salts[at.switch as usize]);
            return self.usable.hashed(at.group, hash).map_or(Choice::NoPath, Choice::Member);
        };
        let mut asked = picks::Packet {
            flow: u64::from(packet.connection) << 32 | u64::from(packet.entropy),
            bytes: packet.frame_bytes.into(),
            destination: at.leaf,
            ..picks::Packet::default()
        };
        let usable = &self.usable;
        let Leaf { plan, state, stream, .. } = &mut self.leaves[leaf as usize];
        let up = |uplink| usable.member(at.group, uplink).is_some();
        let uplink = picks::pick::<Rule, _>(plan, state, &mut asked, &mut PortEnv { now_ns, stream, up });
        packet.tag = asked.tag;
        // Whom it comes from, which the outer header of the paper's tunnels says.
        packet.labels = leaf;
        usable.member(at.group, uplink).map_or(Choice::NoPath, Choice::Member)
    }

    #[inline]
    fn depart(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) {
        if !self.between[port as usize] {
            return;
        }
        let now_ns = network.now_ns();
        let packet = network.packet(id);
        if !self.tells(packet) {
            return;
        }
        let bytes = packet.frame_bytes.into();
        let full_bytes = self.full_bytes[port as usize];
        let level = match self.leaf_of[switch as usize] {
            None => {
                let register = &mut self.registers[port as usize];
                register.add(&self.estimator, bytes, now_ns);
                register.level(&self.estimator, full_bytes, now_ns)
            }
            Some(leaf) => {
                let Leaf { plan, state, stream, .. } = &mut self.leaves[leaf as usize];
                let uplink = self.number[port as usize];
                let mut leaving = picks::Packet { bytes, ..picks::Packet::default() };
                let mut here = PortEnv { now_ns, stream, up: |_| true };
                Rule::depart(plan, state, uplink, &mut leaving, &mut here);
                if packet.labels == leaf {
                    return;
                }
                state.registers[usize::from(uplink)].level(&self.estimator, full_bytes, now_ns)
            }
        };
        packet.tag = raised(packet.tag, level);
    }

    #[inline]
    fn deliver(&mut self, switch: u32, _port: u32, id: PacketId, network: &mut Network) -> bool {
        let now_ns = network.now_ns();
        let packet = network.packet(id);
        if !self.tells(packet) {
            return true;
        }
        let arrived = Arrived { leaf: packet.labels, tag: packet.tag };
        if let Some(leaf) = self.leaf_of[switch as usize] {
            let Leaf { plan, state, stream, .. } = &mut self.leaves[leaf as usize];
            Rule::learn(plan, state, &arrived, &mut PortEnv { now_ns, stream, up: |_| true });
        }
        true
    }

    fn ports_changed(&mut self, switch: u32, ports: &[u32], network: &mut Network) {
        let Some(leaf) = self.leaf_of[switch as usize] else { return };
        let now_ns = network.now_ns();
        let Leaf { plan, state, stream, ports: uplinks } = &mut self.leaves[leaf as usize];
        for (uplink, port) in (0..).zip(uplinks) {
            if ports.contains(port) && !network.is_up(*port) {
                let mut env = PortEnv { now_ns, stream, up: |_| true };
                Rule::port_changed(plan, state, uplink, false, &mut env);
            }
        }
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.measure(links);
    }
}
