//! SAPS in hosts: each flow is sprayed over the paths of one virtual topology.

use crate::hosts::ends::Ends;
use crate::hosts::host_env::HostStreams;
use crate::hosts::per_connection::PerConnection;
use crate::path_book::PathBook;
use crate::saps::pick::Spraying;
use crate::saps::virtual_topology::{Pair, Saps};
use anabranch_fabric::{Fabric, LinkState, Rate};
use anabranch_sim::{Address, HostBalancer, Network, Opened, Packet, SimulationError, marks};
use anabranch_split::picks::flow_cycle::Start;
use anabranch_split::picks::{FlowTable, flow_cycle};
use anabranch_split::{Env, picks};

/// Spraying at all hosts.
pub(crate) struct SapsHosts {
    saps: Saps,
    book: PathBook,
    /// Rate of each port, as routing knows it.
    rates: Vec<Rate>,
    /// Topologies by source's and destination's leaf, made when first asked for.
    pairs: Vec<Option<Pair>>,
    /// The size of the flow in bytes (an oracle tells), and the draw of each end.
    sizes: PerConnection<(u64, Ends<u32>)>,
    /// Turns of flows, each direction of a connection being one.
    flows: FlowTable<flow_cycle::Counter>,
    streams: HostStreams,
}

impl SapsHosts {
    /// # Errors
    /// A fabric with too many paths for source routes.
    pub(crate) fn new(saps: Saps, fabric: &Fabric, seed: u64) -> Result<Self, SimulationError> {
        let book = PathBook::new(fabric)?;
        let mut edge = Self {
            saps,
            rates: book.links().rate.clone(),
            book,
            pairs: Vec::new(),
            sizes: PerConnection::default(),
            flows: FlowTable::default(),
            streams: HostStreams::new(fabric.hosts(), seed),
        };
        edge.forget_pairs();
        Ok(edge)
    }

    fn forget_pairs(&mut self) {
        let leaves = self.book.leaves() as usize;
        self.pairs = (0..leaves * leaves).map(|_| None).collect();
    }

    fn make_pair(&mut self, from: u32, to: u32) -> Pair {
        let routes = self.book.routes(from, to);
        let mut residual_bps = vec![0; routes.all.len()];
        for &path in &routes.live {
            let ports = routes.all[usize::from(path)].ports.iter();
            residual_bps[usize::from(path)] =
                ports.map(|&port| self.rates[port as usize].bps()).min().unwrap_or(0);
        }
        Pair::new(&residual_bps, self.saps.quantum_bps)
    }
}

impl HostBalancer for SapsHosts {
    /// Both directions of a flow draw, independently.
    fn opened(&mut self, host: u32, flow: &Opened, network: &mut Network) {
        let draw = self.streams.at(host, network).random_u32();
        let (size_bytes, ends) = self.sizes.open(flow.connection, || (flow.size_bytes, Ends::of(flow)));
        *size_bytes = flow.size_bytes;
        ends.at(host).kept = draw;
    }

    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        let (near, far) = (self.book.leaf_of(from.host), self.book.leaf_of(from.destination));
        if near == far {
            return;
        }
        let index = (near * self.book.leaves() + far) as usize;
        if self.pairs[index].is_none() {
            self.pairs[index] = Some(self.make_pair(near, far));
        }
        let Some(pair) = &self.pairs[index] else { return };
        let Some((size_bytes, ends)) = self.sizes.get(from.connection) else { return };
        let draw = ends.at(from.host).kept;
        let Some(topology) = self.saps.hosts.topology(&pair.topologies, *size_bytes, draw) else { return };
        let turns = pair.paths_of(topology);
        let flow = u64::from(from.connection) << 32 | u64::from(from.entropy);
        let mut asked = picks::Packet { flow, bytes: packet.frame_bytes.into(), ..picks::Packet::default() };
        let plan = flow_cycle::Plan { turns, start: Start::Random, idle_ns: self.saps.hosts.idle_ns };
        let mut env = self.streams.at(from.host, network);
        let path = picks::pick::<Spraying<&[u16], _>, _>(&plan, &mut self.flows, &mut asked, &mut env);
        if let Some(route) = self.book.routes(near, far).all.get(usize::from(path)) {
            packet.labels = route.labels;
            packet.marks |= marks::LABELLED;
        }
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.book.learn(links);
        self.rates.clone_from(&links.rate);
        self.forget_pairs();
    }
}
