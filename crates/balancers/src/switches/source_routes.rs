//! Routing at the source leaf: whole paths as members, labels for the way, and probes along it.

use crate::path_book::{PathBook, Route, Routes};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::selection_hash;
use anabranch_sim::{Choice, Junction, Kind, Network, Packet, PacketId, SimulationError, marks, salt};
use anabranch_split::picks::paths::Paths;
use anabranch_split::picks::{flowcell, uniform};
use anabranch_split::{Env, capability, picks};
use anabranch_traffic::random::Stream;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Most members that [`anabranch_split::picks::FlowTable`] holds.
const PATHS_MAX: u64 = 2046;

/// The paths of all leaves, and what to do where they do not lead.
pub(crate) struct SourceRoutes {
    book: PathBook,
    /// Number of each switch as destination, if it is a leaf.
    leaf_of: Vec<Option<u32>>,
    /// A host of each leaf, to name it by in probes.
    host_of: Vec<u32>,
    /// Salt of each switch.
    salts: Vec<u32>,
    /// Members of each group that have a weight.
    living: Vec<Box<[u16]>>,
}

impl SourceRoutes {
    /// # Errors
    /// Paths that labels cannot name, or more than a table of flows tells apart.
    pub(crate) fn new(fabric: &Fabric, seed: u64) -> Result<Self, SimulationError> {
        let book = PathBook::new(fabric)?;
        let paths = book.most_paths();
        if paths > PATHS_MAX {
            return Err(SimulationError::new(
                format!("routing: {paths} paths between two leaves"),
                format!(
                    "a source leaf tells {PATHS_MAX} apart: use a scheme that chooses hop by hop such as ecmp"
                ),
            ));
        }
        let switches = fabric.nodes().len() as u32 - fabric.hosts();
        let mut leaf_of = vec![None; switches as usize];
        for leaf in 0..book.leaves() {
            leaf_of[book.switch_of(leaf) as usize] = Some(leaf);
        }
        let mut host_of = vec![0; book.leaves() as usize];
        for host in (0..fabric.hosts()).rev() {
            host_of[book.leaf_of(host) as usize] = host;
        }
        let salts = (0..switches).map(|switch| salt(seed, switch)).collect();
        Ok(Self { book, leaf_of, host_of, salts, living: Vec::new() })
    }

    /// Number of leaves.
    pub(crate) fn leaves(&self) -> u32 {
        self.book.leaves()
    }

    /// The fabric as built.
    pub(crate) fn fabric(&self) -> &Fabric {
        self.book.fabric()
    }

    /// The switch, counted from the first, that leaf number `leaf` is.
    pub(crate) fn switch_of(&self, leaf: u32) -> u32 {
        self.book.switch_of(leaf)
    }

    /// Most paths between two leaves.
    pub(crate) fn paths_max(&self) -> u16 {
        self.book.most_paths() as u16
    }

    /// The number as destination of a switch, if it is a leaf.
    pub(crate) fn leaf(&self, switch: u32) -> Option<u32> {
        self.leaf_of[switch as usize]
    }

    /// The leaf of a host.
    pub(crate) fn leaf_of_host(&self, host: u32) -> u32 {
        self.book.leaf_of(host)
    }

    /// The paths between two leaves.
    pub(crate) fn routes(&mut self, from: u32, to: u32) -> &Routes {
        self.book.routes(from, to)
    }

    /// A probe that its labels send no further: the leaf it has come to and the leaf that sent it. Nothing if it is not where
    /// it was going, because its label leads to a port that is dead.
    pub(crate) fn received(
        &self,
        switch: u32,
        probe: &Packet,
        id: PacketId,
        network: &mut Network,
    ) -> Option<(u32, u32)> {
        let here = self.leaf_of_host(probe.destination);
        if self.leaf(switch) != Some(here) {
            network.unroutable(id);
            return None;
        }
        network.consume(id);
        Some((here, self.leaf_of_host(probe.connection)))
    }

    /// Plans as [`super::SwitchBalancer::plan`] does.
    pub(crate) fn plan(&mut self, group: u32, weights: &[u64]) {
        let living = (0..).zip(weights).filter(|&(_, &weight)| weight > 0).map(|(member, _)| member);
        let living: Box<[u16]> = living.collect();
        match self.living.get_mut(group as usize) {
            Some(known) => *known = living,
            None => self.living.push(living),
        }
    }

    /// Routing believes the links to be so.
    pub(crate) fn learn(&mut self, links: &LinkState) {
        self.book.learn(links);
    }

    /// Packet at its source leaf as schemes see it: hashed as ECMP would, in flowcells of `cell_bytes`.
    pub(crate) fn asked(&self, at: &Junction<'_>, packet: &Packet, cell_bytes: u64) -> picks::Packet {
        let hash = selection_hash(packet.entropy, self.salts[at.switch as usize]);
        picks::Packet {
            flow: u64::from(packet.connection) << 32 | u64::from(hash),
            bytes: packet.frame_bytes.into(),
            cell: flowcell::number(packet.seq, cell_bytes) as u32,
            destination: at.leaf,
            ..picks::Packet::default()
        }
    }

    /// The packet goes the rest of its way as under ECMP: where no path of the book leads on.
    pub(crate) fn by_hash(&self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let packet = network.packet(id);
        packet.marks &= !marks::LABELLED;
        let living = &self.living[at.group as usize];
        let index =
            uniform::index(selection_hash(packet.entropy, self.salts[at.switch as usize]), living.len());
        living.get(index).map_or(Choice::NoPath, |&member| Choice::Member(member))
    }

    /// The packet goes along path number `path` from leaf `from`.
    pub(crate) fn along(
        &mut self,
        from: u32,
        path: u16,
        at: &Junction<'_>,
        id: PacketId,
        network: &mut Network,
    ) -> Choice {
        if let Some(&Route { labels, ref ports }) = self.routes(from, at.leaf).all.get(usize::from(path)) {
            let (member, port) = ((labels & 0xff) as u16, ports[0]);
            let leads = at.ports.get(usize::from(member)) == Some(&port);
            if leads && network.is_up(port) {
                let packet = network.packet(id);
                packet.labels = labels >> 8;
                packet.marks |= marks::LABELLED;
                return Choice::Member(member);
            }
        }
        self.by_hash(at, id, network)
    }

    /// Sends a probe along path number `path` from one leaf to another, without its own fields: returns whether there
    /// is such a path.
    pub(crate) fn probe(
        &mut self,
        from: u32,
        to: u32,
        path: u16,
        probe: Packet,
        network: &mut Network,
    ) -> bool {
        let (connection, destination) = (self.host_of[from as usize], self.host_of[to as usize]);
        let all = &self.routes(from, to).all;
        let Some(Route { labels, ports }) = all.get(usize::from(path)) else { return false };
        // In lexicographic order, first and last differ at the first choice if there is one.
        let is_chosen = all.first().map(|route| route.ports[0]) != all.last().map(|route| route.ports[0]);
        let labels = if is_chosen { labels >> 8 } else { *labels };
        let port = ports[0];
        let marks = marks::LABELLED;
        let packet = Packet { kind: Kind::Probe, connection, destination, labels, marks, ..probe };
        network.send_probe(port, packet);
        true
    }

    /// First port of a path, if there is such a path.
    pub(crate) fn first_port(&mut self, from: u32, to: u32, path: u16) -> Option<u32> {
        self.routes(from, to).all.get(usize::from(path)).map(|route| route.ports[0])
    }

    /// The path from `to` to `from` that has the links of path number `path` from `from` to `to`.
    pub(crate) fn opposite(&mut self, from: u32, to: u32, path: u16) -> Option<u16> {
        let forth = self.routes(from, to).all.get(usize::from(path))?.ports.clone();
        let back: Box<[u32]> =
            forth.iter().rev().map(|&port| self.fabric().ports()[port as usize].reverse).collect();
        let all = &self.routes(to, from).all;
        // Both ways count alike in a Clos fabric.
        if all.get(usize::from(path)).is_some_and(|route| route.ports == back) {
            return Some(path);
        }
        all.iter().position(|route| route.ports == back).map(|index| index as u16)
    }
}

/// The living paths to the destination of the moment.
#[derive(Clone, Copy)]
pub(crate) struct Living<'a>(pub(crate) &'a [u16]);

impl Paths for Living<'_> {
    #[inline(always)]
    fn living(&self, _destination: u32) -> &[u16] {
        self.0
    }
}

/// Environment at a source leaf of schemes whose members are paths to one destination. Backlogs are those of
/// the first port, or of all ports if `WHOLE`.
pub(crate) struct PathEnv<'a, const WHOLE: bool> {
    pub(crate) network: &'a mut Network,
    pub(crate) routes: &'a Routes,
    pub(crate) stream: &'a mut Pcg32,
}

impl<const WHOLE: bool> Env for PathEnv<'_, WHOLE> {
    const GIVES: u32 = capability::CLOCK
        | capability::RANDOM
        | capability::BACKLOG
        | capability::TAG
        | capability::TIMER
        | capability::PROBE;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.network.now_ns()
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        self.stream.next_u32()
    }

    fn backlog_bytes(&mut self, member: u16) -> u32 {
        let Some(route) = self.routes.all.get(usize::from(member)) else { return u32::MAX };
        let counted = if WHOLE { route.ports.len() } else { 1 };
        route
            .ports
            .iter()
            .take(counted)
            .fold(0, |sum: u32, &port| sum.saturating_add(self.network.backlog_bytes(port)))
    }

    #[inline(always)]
    fn up(&self, member: u16) -> bool {
        self.routes.live.binary_search(&member).is_ok()
            && self
                .routes
                .all
                .get(usize::from(member))
                .is_some_and(|route| self.network.is_up(route.ports[0]))
    }
}

/// A leaf's own random numbers.
pub(crate) fn stream(seed: u64, purpose: &str, leaf: u32) -> Pcg32 {
    let mut source = Stream::of_entity(seed, purpose, leaf);
    Pcg32::new(source.bits(), source.bits())
}
