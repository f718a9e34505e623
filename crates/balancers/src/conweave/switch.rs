//! ConWeave at work: source leaves route data along paths, destination leaves hold it until it is in order
//! and answer.

use crate::conweave::header::{Control, Header, PATHS_MAX};
use crate::conweave::pick as conweave;
use crate::conweave::pick::{Arrived, Parameters, Plan, Round};
use crate::conweave::reorder::Reordering;
use crate::path_book::{PathBook, Route};
use crate::round_trip::between_leaves_ns;
use crate::switches::port_env::{PortEnv, Usable, leaf_of_switches, numbers, stream};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::selection_hash;
use anabranch_sim::{
    Choice, Framing, GroupPlan, Junction, Kind, Network, Packet, PacketId, SimulationError, SwitchBalancer,
    connection_slot, marks,
};
use anabranch_split::picks::{FlowTable, Pick, uniform};
use anabranch_split::{PlanError, picks};
use rand_pcg::Pcg32;

type Rule = conweave::ConWeave<Vec<u64>, FlowTable<Round>>;

/// All leaves.
pub(crate) struct ConWeave {
    parameters: Parameters,
    framing: Framing,
    book: PathBook,
    /// A host of each leaf, and the leaf's stream.
    leaves: Vec<(u32, Pcg32)>,
    salts: Vec<u32>,
    /// Number of each port at its node.
    number: Vec<u16>,
    /// Number of each switch as a leaf.
    leaf_of: Vec<Option<u32>>,
    usable: Usable,
    /// State at the source, by source's and destination's leaf.
    sources: Vec<Option<Box<Source>>>,
    /// State of each leaf as a destination, by slot of a connection.
    destinations: Vec<Vec<Option<Box<Destination>>>>,
}

/// State of a leaf for its flows to another.
struct Source {
    plan: Plan,
    state: <Rule as Pick>::State,
    /// Whether the leaf has a choice towards the other, so that the first label of a path is its own.
    first_labelled: bool,
}

/// One flow at its destination leaf.
struct Destination {
    /// The connection, as in [`Packet::connection`].
    connection: u32,
    flow: Reordering,
    /// Packets that wait, and the port they wait for.
    held: Vec<PacketId>,
    port: u32,
}

impl Destination {
    fn release(&mut self, network: &mut Network) {
        for id in self.held.drain(..) {
            network.enqueue(self.port, id);
        }
    }
}

impl ConWeave {
    pub(crate) const NEEDS: u32 = Rule::NEEDS;

    /// # Errors
    /// A fabric with more choices on a path than labels hold.
    pub(crate) fn new(
        parameters: Parameters,
        framing: Framing,
        fabric: &Fabric,
        salts: &[u32],
        seed: u64,
    ) -> Result<Self, SimulationError> {
        let book = PathBook::new(fabric)?;
        let mut leaves: Vec<(u32, Pcg32)> = (0..book.leaves())
            .map(|leaf| (u32::MAX, stream(seed, "conweave", book.switch_of(leaf))))
            .collect();
        for host in (0..fabric.hosts()).rev() {
            leaves[book.leaf_of(host) as usize].0 = host;
        }
        let pairs = leaves.len() * leaves.len();
        let nodes = (0..book.leaves()).map(|leaf| book.switch_of(leaf) + fabric.hosts());
        let leaf_of = leaf_of_switches(fabric, nodes);
        let destinations = leaves.iter().map(|_| Vec::new()).collect();
        Ok(Self {
            parameters,
            framing,
            book,
            leaves,
            salts: salts.to_vec(),
            number: numbers(fabric, |_| true),
            leaf_of,
            usable: Usable::default(),
            sources: (0..pairs).map(|_| None).collect(),
            destinations,
        })
    }

    fn pair(&self, from: u32, to: u32) -> usize {
        from as usize * self.leaves.len() + to as usize
    }

    /// Makes a leaf ready to send to another.
    fn meet(&mut self, from: u32, to: u32) {
        let index = self.pair(from, to);
        if self.sources[index].is_some() {
            return;
        }
        let routes = self.book.routes(from, to).all.clone();
        let paths = routes.len().min(PATHS_MAX) as u16;
        let parameters = self.parameters;
        let round_trip_ns =
            between_leaves_ns(self.book.fabric(), &routes, self.framing, parameters.control_bytes);
        self.sources[index] = Some(Box::new(Source {
            plan: Plan { parameters, paths, round_trip_ns },
            state: conweave::State { paused_ns: vec![0; paths.into()], flows: FlowTable::default() },
            first_labelled: chooses(&routes),
        }));
    }

    /// Choice by hash for packets that ConWeave does not route.
    fn hashed(&self, at: &Junction<'_>, entropy: u32) -> Choice {
        let hash = selection_hash(entropy, self.salts[at.switch as usize]);
        self.usable.hashed(at.group, hash).map_or(Choice::NoPath, Choice::Member)
    }

    /// A control packet from one leaf to another, along a path that the hash of the connection chooses.
    fn answer(&mut self, from: u32, to: u32, connection: u32, control: Control, network: &mut Network) {
        let hash = selection_hash(connection, self.salts[self.book.switch_of(from) as usize]);
        let routes = self.book.routes(from, to);
        let Some(&path) = routes.live.get(uniform::index(hash, routes.live.len())) else { return };
        let Route { labels, ports } = &routes.all[usize::from(path)];
        let Some(&port) = ports.first() else { return };
        let packet = Packet {
            kind: Kind::Probe,
            frame_bytes: self.parameters.control_bytes,
            connection: self.leaves[from as usize].0,
            destination: self.leaves[to as usize].0,
            seq: connection.into(),
            labels: if chooses(&routes.all) { labels >> 8 } else { *labels },
            marks: marks::LABELLED,
            tag: control.pack(),
            ..Packet::default()
        };
        network.send_probe(port, packet);
    }
}

/// Whether the first switch of these paths has a choice, so that their first label is its own.
fn chooses(routes: &[Route]) -> bool {
    let first = |route: &Route| route.ports.first().copied();
    routes.iter().any(|route| first(route) != routes.first().and_then(first))
}

impl SwitchBalancer for ConWeave {
    const DELIVERS: bool = true;
    const PROBES: bool = true;

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, ports, weights, .. } = asked;
        self.usable.plan(group, ports, weights, &self.number);
        Ok(())
    }

    /// The leaf of the sender routes data. The rest is hashed: acknowledgements, and what finds its next link
    /// dead.
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let now_ns = network.now_ns();
        let Packet { kind, marks: set, connection, entropy, frame_bytes, tag, .. } = *network.packet(id);
        let fresh = matches!(kind, Kind::Data | Kind::Datagram) && set & marks::LABELLED == 0 && tag == 0;
        let Some(leaf) = self.leaf_of[at.switch as usize].filter(|_| fresh) else {
            return self.hashed(at, entropy);
        };
        self.meet(leaf, at.leaf);
        let index = self.pair(leaf, at.leaf);
        let routes = self.book.routes(leaf, at.leaf);
        let up = |path: u16| {
            let first = routes.all.get(usize::from(path)).and_then(|route| route.ports.first());
            routes.live.binary_search(&path).is_ok() && first.is_some_and(|&port| network.is_up(port))
        };
        let Some(Source { plan, state, first_labelled: true }) = self.sources[index].as_deref_mut() else {
            return self.hashed(at, entropy);
        };
        if !(0..plan.paths).any(up) {
            return self.hashed(at, entropy);
        }
        let mut asked = picks::Packet {
            flow: connection.into(),
            bytes: frame_bytes.into(),
            destination: at.leaf,
            ..picks::Packet::default()
        };
        let stream = &mut self.leaves[leaf as usize].1;
        let path = picks::pick::<Rule, _>(plan, state, &mut asked, &mut PortEnv { now_ns, stream, up });
        let Route { labels, ports } = &routes.all[usize::from(path)];
        let Some(member) = ports.first().and_then(|first| at.ports.iter().position(|port| port == first))
        else {
            return self.hashed(at, entropy);
        };
        let packet = network.packet(id);
        packet.tag = asked.tag;
        packet.labels = labels >> 8;
        packet.marks |= marks::LABELLED;
        packet.set_tunnel_source(leaf);
        Choice::Member(member as u16)
    }

    fn deliver(&mut self, switch: u32, port: u32, id: PacketId, network: &mut Network) -> bool {
        let now_ns = network.now_ns();
        let packet = network.packet(id);
        let (Packet { kind, connection, tag, marks: set, .. }, from) = (*packet, packet.tunnel_source());
        let Some(header) = Header::unpack(tag).filter(|_| matches!(kind, Kind::Data | Kind::Datagram)) else {
            return true;
        };
        let Some(leaf) = self.leaf_of[switch as usize] else { return true };
        let flows = &mut self.destinations[leaf as usize];
        let Some(destination) = destination(flows, connection, network) else { return true };
        let verdict = destination.flow.arrive(&self.parameters, &header, now_ns);
        destination.port = port;
        if verdict.release_before {
            destination.release(network);
        }
        if verdict.hold {
            if destination.held.is_empty() {
                wake(switch, connection_slot(connection) as u32, &destination.flow, network);
            }
            destination.held.push(id);
        }
        if verdict.release_after {
            network.enqueue(port, id);
            destination.release(network);
        }
        if set & marks::EXPERIENCED != 0 {
            self.answer(leaf, from, connection, Control::Notify(header.path), network);
        }
        if let Some(control) = verdict.answer {
            self.answer(leaf, from, connection, control, network);
        }
        !verdict.hold && !verdict.release_after
    }

    /// A control packet: on along its labels, or at the leaf it is for.
    fn probe(&mut self, switch: u32, _from: u32, onward: Option<u32>, id: PacketId, network: &mut Network) {
        if let Some(port) = onward {
            network.enqueue(port, id);
            return;
        }
        let now_ns = network.now_ns();
        let Packet { connection, destination, seq, tag, .. } = *network.packet(id);
        let (leaf, from) = (self.book.leaf_of(destination), self.book.leaf_of(connection));
        let (true, Some(control)) = (self.book.switch_of(leaf) == switch, Control::unpack(tag)) else {
            // Its next link is dead.
            network.unroutable(id);
            return;
        };
        let index = self.pair(leaf, from);
        if let Some(Source { plan, state, .. }) = self.sources[index].as_deref_mut() {
            let stream = &mut self.leaves[leaf as usize].1;
            let arrived = Arrived { flow: seq, control };
            Rule::learn(plan, state, &arrived, &mut PortEnv { now_ns, stream, up: |_| true });
        }
        network.consume(id);
    }

    /// A flow's deadline, or one it had before.
    fn timer(&mut self, switch: u32, index: u32, network: &mut Network) {
        let Some(leaf) = self.leaf_of[switch as usize] else { return };
        let flow = self.destinations[leaf as usize].get_mut(index as usize);
        let Some(Some(destination)) = flow else { return };
        if destination.flow.expire(network.now_ns()) {
            destination.release(network);
        } else {
            wake(switch, index, &destination.flow, network);
        }
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.book.learn(links);
    }
}

/// A flow at its destination leaf, made when its first packet arrives; nothing if the packet is a late one of a connection
/// whose slot another has by now.
fn destination<'a>(
    flows: &'a mut Vec<Option<Box<Destination>>>,
    connection: u32,
    network: &mut Network,
) -> Option<&'a mut Destination> {
    let slot = connection_slot(connection);
    if slot >= flows.len() {
        flows.resize_with(slot + 1, || None);
    }
    let new = || Box::new(Destination { connection, flow: Reordering::default(), held: Vec::new(), port: 0 });
    let destination = flows[slot].get_or_insert_with(new);
    if destination.connection < connection {
        destination.release(network);
        (destination.connection, destination.flow) = (connection, Reordering::default());
    }
    (destination.connection == connection).then_some(&mut **destination)
}

/// Wakes when what is held of a flow is to be let go, if anything is.
fn wake(switch: u32, index: u32, flow: &Reordering, network: &mut Network) {
    if let Some(deadline_ns) = flow.deadline_ns() {
        network.wake_switch(deadline_ns * 1000, switch, index);
    }
}
