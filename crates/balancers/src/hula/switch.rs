//! HULA at work: leaves flood probes, every switch keeps the best hop and sends flowlets there.

use crate::hula::pick::{self, Best, BestHop, Parameters, Plan, Probe, hear};
use crate::switches::port_env::{PortEnv, Usable, numbers, stream};
use anabranch_fabric::{Fabric, LinkState, NextHops, Tier};
use anabranch_sim::{
    Choice, GroupPlan, Junction, Kind, Network, Packet, PacketId, SimulationError, SwitchBalancer,
};
use anabranch_split::picks::utilisation::{Recent, full_bytes};
use anabranch_split::picks::{FlowTable, Flowlet, Flows, Pick, units};
use anabranch_split::{PlanError, picks, random_below};
use rand_pcg::Pcg32;

type Rule = pick::Hula<Vec<Best>, FlowTable<u64>>;

/// Token of a leaf's only timer: its next round of probes.
const ROUND: u32 = 0;

/// All switches.
pub(crate) struct Hula {
    parameters: Parameters,
    fabric: Fabric,
    leaves: Vec<u32>,
    /// Number of each host's leaf.
    leaf_of: Vec<u32>,
    switches: Vec<Switch>,
    /// Number of each port among its switch's links to switches.
    number: Vec<u16>,
    usable: Usable,
    /// Recent traffic of each port.
    recents: Vec<Recent>,
    full_bytes: Vec<u64>,
    /// Whether data by this port is on a shortest path to the leaf, as routing knows, by leaf and port.
    shortest: Vec<bool>,
}

/// One switch.
struct Switch {
    flows: FlowTable<u64>,
    /// Best link towards each leaf.
    best: Vec<Best>,
    stream: Pcg32,
    /// Links to switches.
    ports: u16,
}

impl Hula {
    pub(crate) const NEEDS: u32 = Rule::NEEDS;

    /// # Errors
    /// A fabric with a link that leads neither up nor down.
    pub(crate) fn new(parameters: Parameters, fabric: &Fabric, seed: u64) -> Result<Self, SimulationError> {
        let tier = |node: u32| fabric.nodes()[node as usize].tier;
        if let Some(level) = fabric.ports().iter().find(|port| tier(port.from) == tier(port.to)) {
            let name = |node: u32| &fabric.nodes()[node as usize].name;
            return Err(SimulationError::new(
                format!(
                    "routing.balance: hula, and a link from {} to {}, which stand in one tier",
                    name(level.from),
                    name(level.to)
                ),
                "use a fabric whose links lead up or down, such as fabric.kind = \"leaf-spine\" or \"fat-tree\", or a \
                 scheme without probes",
            ));
        }
        let links = LinkState::of(fabric);
        let leaves = NextHops::shortest(fabric, &links).leaves;
        let leaf_of = (0..fabric.hosts())
            .map(|host| leaves.binary_search(&fabric.leaf_of(host)).unwrap_or(0) as u32)
            .collect();
        let between = |port: u32| {
            let port = &fabric.ports()[port as usize];
            port.from >= fabric.hosts() && port.to >= fabric.hosts()
        };
        let switches = (fabric.hosts()..fabric.nodes().len() as u32)
            .map(|node| Switch {
                flows: FlowTable::default(),
                best: vec![Best::default(); leaves.len()],
                stream: stream(seed, "hula", node - fabric.hosts()),
                ports: fabric.ports_of(node).iter().filter(|&&port| between(port)).count() as u16,
            })
            .collect();
        let mut hula = Self {
            parameters,
            fabric: fabric.clone(),
            leaves,
            leaf_of,
            switches,
            number: numbers(fabric, between),
            usable: Usable::default(),
            recents: vec![Recent::default(); fabric.ports().len()],
            full_bytes: Vec::new(),
            shortest: Vec::new(),
        };
        hula.learn_links(&links);
        Ok(hula)
    }

    fn learn_links(&mut self, links: &LinkState) {
        let tau_ns = self.parameters.tau_ns;
        self.full_bytes = links.rate.iter().map(|rate| full_bytes(rate.bps(), tau_ns)).collect();
        let hops = NextHops::shortest(&self.fabric, links);
        let ports = self.fabric.ports().len();
        self.shortest = vec![false; self.leaves.len() * ports];
        for (leaf, row) in (0..).zip(self.shortest.chunks_exact_mut(ports.max(1))) {
            for node in self.fabric.hosts()..self.fabric.nodes().len() as u32 {
                hops.ports(node, leaf).for_each(|port| row[port as usize] = true);
            }
        }
    }

    /// The number of a switch as a leaf, if it is one.
    fn leaf(&self, switch: u32) -> Option<u32> {
        self.leaves.binary_search(&(switch + self.fabric.hosts())).ok().map(|leaf| leaf as u32)
    }

    fn tier(&self, node: u32) -> Tier {
        self.fabric.nodes()[node as usize].tier
    }

    /// A probe leaves by a port, and counts there like anything else.
    fn depart_probe(&mut self, port: u32, network: &Network) {
        let Parameters { tau_ns, probe_bytes, .. } = self.parameters;
        self.recents[port as usize].add(tau_ns, probe_bytes.into(), network.now_ns());
    }

    /// Passes a probe on: from below to all links but those to the node it came from, from above down only.
    fn pass_on(&mut self, node: u32, came_by: u32, id: PacketId, network: &mut Network) {
        let came_from = self.fabric.ports()[came_by as usize].to;
        let from_below = self.tier(came_from) < self.tier(node);
        let packet = *network.packet(id);
        let mut original = Some(id);
        for index in 0..self.fabric.ports_of(node).len() {
            let port = self.fabric.ports_of(node)[index];
            let to = self.fabric.ports()[port as usize].to;
            let down = self.tier(to) < self.tier(node);
            let wanted = to != came_from && self.tier(to) != Tier::Host && (from_below || down);
            if !wanted || !network.is_up(port) {
                continue;
            }
            self.depart_probe(port, network);
            match original.take() {
                Some(id) => network.enqueue(port, id),
                None => {
                    network.send_probe(port, packet);
                }
            }
        }
        if let Some(id) = original {
            network.consume(id);
        }
    }
}

impl SwitchBalancer for Hula {
    const DEPARTS: bool = true;
    const PROBES: bool = true;

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, ports, weights, .. } = asked;
        self.usable.plan(group, ports, weights, &self.number);
        Ok(())
    }

    #[inline]
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Parameters { gap_ns, keep_ns, .. } = self.parameters;
        let now_ns = network.now_ns();
        let Packet { connection, entropy, frame_bytes, .. } = *network.packet(id);
        let mut asked = picks::Packet {
            flow: u64::from(connection) << 32 | u64::from(entropy),
            bytes: frame_bytes.into(),
            destination: at.leaf,
            ..picks::Packet::default()
        };
        let usable = &self.usable;
        let Switch { flows, best, stream, ports } = &mut self.switches[at.switch as usize];
        let number = units::pick::<Flowlet, BestHop<Vec<Best>>, _, _>(
            &Flowlet { gap_ns },
            &Plan { members: *ports, keep_ns },
            flows,
            best,
            &mut asked,
            &mut PortEnv { now_ns, stream, up: |number| usable.member(at.group, number).is_some() },
        );
        usable.member(at.group, number).map_or(Choice::NoPath, Choice::Member)
    }

    /// Leaves begin at times of their own, so that their probes do not meet.
    fn begin(&mut self, switch: u32, network: &mut Network) {
        if self.leaf(switch).is_none() {
            return;
        }
        let period_ns = self.parameters.period_ns;
        let stream = &mut self.switches[switch as usize].stream;
        let mut env = PortEnv { now_ns: 0, stream, up: |_| true };
        let first_ns = random_below(&mut env, period_ns.min(u32::MAX.into()) as u32);
        network.wake_switch(u64::from(first_ns) * 1000, switch, ROUND);
    }

    fn timer(&mut self, switch: u32, _token: u32, network: &mut Network) {
        let Some(leaf) = self.leaf(switch) else { return };
        let node = self.leaves[leaf as usize];
        let Some(host) = self.leaf_of.iter().position(|&of| of == leaf) else { return };
        let probe = Packet {
            kind: Kind::Probe,
            frame_bytes: self.parameters.probe_bytes,
            connection: host as u32,
            destination: host as u32,
            ..Packet::default()
        };
        for index in 0..self.fabric.ports_of(node).len() {
            let port = self.fabric.ports_of(node)[index];
            let up = self.tier(self.fabric.ports()[port as usize].to) > self.tier(node);
            if up && network.is_up(port) {
                self.depart_probe(port, network);
                network.send_probe(port, probe);
            }
        }
        network.wake_switch(network.now_ps() + self.parameters.period_ns * 1000, switch, ROUND);
    }

    fn probe(&mut self, switch: u32, from: u32, _onward: Option<u32>, id: PacketId, network: &mut Network) {
        let Parameters { tau_ns, keep_ns, .. } = self.parameters;
        let now_ns = network.now_ns();
        let leaf = self.leaf_of[network.packet(id).connection as usize];
        let port = self.fabric.ports()[from as usize].reverse;
        let on_path = self.shortest[leaf as usize * self.recents.len() + port as usize];
        if !on_path || !network.is_up(port) {
            network.consume(id);
            return;
        }
        let packet = network.packet(id);
        let own = self.recents[port as usize].utilisation(tau_ns, self.full_bytes[port as usize], now_ns);
        let utilisation = own.max(packet.tag as u16);
        packet.tag = utilisation.into();
        let heard = Probe { leaf, member: self.number[port as usize], utilisation };
        if hear(&mut self.switches[switch as usize].best, &heard, keep_ns, now_ns) {
            self.pass_on(switch + self.fabric.hosts(), port, id, network);
        } else {
            network.consume(id);
        }
    }

    #[inline]
    fn depart(&mut self, _switch: u32, port: u32, id: PacketId, network: &mut Network) {
        let now_ns = network.now_ns();
        let bytes = network.packet(id).frame_bytes.into();
        self.recents[port as usize].add(self.parameters.tau_ns, bytes, now_ns);
    }

    fn ports_changed(&mut self, switch: u32, ports: &[u32], network: &mut Network) {
        let now_ns = network.now_ns();
        for &port in ports.iter().filter(|&&port| !network.is_up(port)) {
            if self.fabric.ports()[port as usize].to < self.fabric.hosts() {
                continue;
            }
            let Switch { flows, best, stream, ports } = &mut self.switches[switch as usize];
            let plan = Plan { members: *ports, keep_ns: self.parameters.keep_ns };
            let number = self.number[port as usize];
            flows.purge(number);
            let mut env = PortEnv { now_ns, stream, up: |_| true };
            BestHop::port_changed(&plan, best, number, false, &mut env);
        }
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.learn_links(links);
    }
}
