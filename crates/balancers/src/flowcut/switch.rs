//! Flowcut at work: source leaves choose paths and hold what is drained, destination leaves answer every packet.

use crate::flowcut::header::Header;
use crate::flowcut::pick as flowcut;
use crate::flowcut::pick::{Answer, Cut, Parameters, Plan, WAIT};
use crate::switches::source_routes::{Living, PathEnv, SourceRoutes, stream};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::{
    Choice, GroupPlan, Junction, Network, Packet, PacketId, SimulationError, SwitchBalancer, marks,
};
use anabranch_split::picks::{FlowTable, Flows, Pick, uniform};
use anabranch_split::{PlanError, picks};
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

type Rule<'a> = flowcut::Flowcut<Living<'a>, FlowTable<Cut>>;

/// All leaves.
pub(crate) struct Flowcut {
    parameters: Parameters,
    source: SourceRoutes,
    leaves: Vec<Leaf>,
}

/// One leaf.
struct Leaf {
    flows: FlowTable<Cut>,
    stream: Pcg32,
    /// Packets that wait for the end of their flow's flowcut, by connection.
    held: BTreeMap<u32, Held>,
    /// Number of flowcuts that were drained.
    drained: u64,
}

/// Packets of a flow, oldest first.
struct Held {
    /// Leaf that they go to.
    to: u32,
    packets: Vec<PacketId>,
}

impl Flowcut {
    pub(crate) const NEEDS: u32 = Rule::NEEDS;

    /// # Errors
    /// Paths that labels cannot name.
    pub(crate) fn new(parameters: Parameters, fabric: &Fabric, seed: u64) -> Result<Self, SimulationError> {
        let source = SourceRoutes::new(fabric, seed)?;
        let leaf = |leaf| Leaf {
            flows: FlowTable::default(),
            stream: stream(seed, "flowcut", leaf),
            held: BTreeMap::new(),
            drained: 0,
        };
        let leaves = (0..source.leaves()).map(leaf).collect();
        Ok(Self { parameters, source, leaves })
    }

    /// Path of a packet that is at its source leaf, or [`WAIT`]; `None` if no path leads on.
    fn pick(&mut self, from: u32, to: u32, id: PacketId, network: &mut Network) -> Option<u16> {
        let Packet { connection, frame_bytes, .. } = *network.packet(id);
        let Leaf { flows, stream, .. } = &mut self.leaves[from as usize];
        let routes = self.source.routes(from, to);
        if routes.live.is_empty() {
            return None;
        }
        let mut asked = picks::Packet {
            flow: connection.into(),
            bytes: frame_bytes.into(),
            destination: to,
            ..picks::Packet::default()
        };
        let plan = Plan { paths: Living(&routes.live), parameters: self.parameters };
        let mut env = PathEnv::<false> { network, routes, stream };
        let path = picks::pick::<Rule<'_>, _>(&plan, flows, &mut asked, &mut env);
        if path != WAIT {
            let sent_bytes = flows.get(asked.flow).map_or(0, |(_, cut)| cut.sent_bytes as u32);
            let packet = network.packet(id);
            packet.tag = asked.tag;
            packet.set_tunnel_source(from);
            packet.set_tunnel_number(sent_bytes);
        }
        Some(path)
    }

    /// Lets go what waits for the end of a flow's flowcut, if that has ended.
    fn release(&mut self, leaf: u32, connection: u32, network: &mut Network) {
        let now_ns = network.now_ns();
        let Leaf { flows, held, .. } = &mut self.leaves[leaf as usize];
        let timeout_ns = self.parameters.timeout_ns;
        let present = flows.get(connection.into()).filter(|(_, cut)| !cut.is_over(timeout_ns, now_ns));
        if present.is_some_and(|(_, cut)| cut.draining) {
            return;
        }
        let Some(Held { to, packets }) = held.remove(&connection) else { return };
        for id in packets {
            // The first of them begins a flowcut, so that none waits again before something was answered.
            let path = self.pick(leaf, to, id, network).filter(|&path| path != WAIT);
            let route = path.and_then(|path| self.source.routes(leaf, to).all.get(usize::from(path)));
            let Some(route) = route else {
                network.unroutable(id);
                continue;
            };
            let packet = network.packet(id);
            packet.labels = route.labels >> 8;
            packet.marks |= marks::LABELLED;
            let port = route.ports[0];
            network.enqueue(port, id);
        }
    }
}

impl SwitchBalancer for Flowcut {
    const DELIVERS: bool = true;
    const PROBES: bool = true;

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, weights, .. } = asked;
        self.source.plan(group, weights);
        Ok(())
    }

    /// The leaf of the sender routes data. The rest is hashed: acknowledgements, and what finds its next link dead.
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Packet { kind, tag, connection, .. } = *network.packet(id);
        let fresh = kind.has_payload() && Header::unpack(tag).is_none();
        let Some(from) = self.source.leaf(at.switch).filter(|_| fresh) else {
            return self.source.by_hash(at, id, network);
        };
        match self.pick(from, at.leaf, id, network) {
            None => self.source.by_hash(at, id, network),
            Some(WAIT) => {
                let Leaf { flows, held, drained, .. } = &mut self.leaves[from as usize];
                let waiting = held.entry(connection).or_insert_with(|| {
                    *drained += 1;
                    if let Some((_, cut)) = flows.get(connection.into()) {
                        let at_ns = cut.deadline_ns(self.parameters.timeout_ns);
                        network.wake_switch(at_ns * 1000, at.switch, connection);
                    }
                    Held { to: at.leaf, packets: Vec::new() }
                });
                waiting.packets.push(id);
                Choice::Kept
            }
            Some(path) => self.source.along(from, path, at, id, network),
        }
    }

    /// The leaf of the receiver answers: so much arrived, and so long it took.
    fn deliver(&mut self, switch: u32, _port: u32, id: PacketId, network: &mut Network) -> bool {
        let now_ns = network.now_ns();
        let packet = *network.packet(id);
        let Some(header) = Header::unpack(packet.tag).filter(|_| packet.kind.has_payload()) else {
            return true;
        };
        let Some(here) = self.source.leaf(switch) else { return true };
        let from = packet.tunnel_source();
        let live = &self.source.routes(here, from).live;
        if let Some(&path) = live.get(uniform::index(packet.connection.wrapping_mul(0x9e37_79b9), live.len()))
        {
            let answer = Packet {
                frame_bytes: self.parameters.control_bytes,
                seq: u64::from(packet.tunnel_number()) << 32 | u64::from(packet.connection),
                tag: header.answered(now_ns),
                ..Packet::default()
            };
            self.source.probe(here, from, path, answer, network);
        }
        true
    }

    /// An answer: on along its labels, or at the leaf it is for.
    fn probe(&mut self, switch: u32, _from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        if let Some(port) = onward {
            network.enqueue(port, id);
            return;
        }
        let packet = *network.packet(id);
        let Some((leaf, to)) = self.source.received(switch, &packet, id, network) else { return };
        let Some((number, delay_ns)) = Header::unpack(packet.tag).map(Header::answer) else { return };
        let answer = Answer {
            flow: packet.seq & u64::from(u32::MAX),
            number,
            sent_bytes: (packet.seq >> 32) as u32,
            delay_ns,
        };
        let Leaf { flows, stream, .. } = &mut self.leaves[leaf as usize];
        let routes = self.source.routes(leaf, to);
        let plan = Plan { paths: Living(&routes.live), parameters: self.parameters };
        Rule::learn(&plan, flows, &answer, &mut PathEnv::<false> { network, routes, stream });
        self.release(leaf, answer.flow as u32, network);
    }

    /// What a flow that is drained waits for may be lost.
    fn timer(&mut self, switch: u32, connection: u32, network: &mut Network) {
        let Some(leaf) = self.source.leaf(switch) else { return };
        self.release(leaf, connection, network);
        let Leaf { flows, held, .. } = &self.leaves[leaf as usize];
        if held.contains_key(&connection)
            && let Some((_, cut)) = flows.get(connection.into())
        {
            let at_ns = cut.deadline_ns(self.parameters.timeout_ns);
            network.wake_switch(at_ns * 1000, switch, connection);
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("flowcuts drained", self.leaves.iter().map(|leaf| leaf.drained).sum())]
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.source.learn(links);
    }
}
