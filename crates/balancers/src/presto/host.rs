//! Presto at the sending hosts: flowcells over a list of paths.

use crate::hosts::host_env::HostStreams;
use crate::hosts::per_connection::PerConnection;
use crate::path_book::PathBook;
use crate::presto::parameters::{Settings, list};
use crate::presto::pick as presto;
use crate::presto::pick::Presto;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::transport::{Reorder, Transport};
use anabranch_sim::{Address, HostBalancer, Kind, Network, Opened, Packet, SimulationError, marks};
use anabranch_split::picks;
use anabranch_split::picks::flowcell;
use anabranch_traffic::random::Stream;

/// All hosts.
pub(crate) struct PrestoHosts {
    settings: Settings,
    seed: u64,
    book: PathBook,
    /// Leaf of each host, as destinations are numbered.
    leaf_of: Vec<u32>,
    /// Labels in the order of turns, by source's and destination's leaf. Made when first asked for.
    lists: Vec<Option<List>>,
    flows: PerConnection<presto::State>,
    streams: HostStreams,
}

/// Turns, each the index of a path among the labels.
struct List {
    turns: Vec<u16>,
    labels: Vec<u32>,
}

impl PrestoHosts {
    /// # Errors
    /// A fabric whose paths labels do not hold.
    pub(crate) fn new(settings: Settings, fabric: &Fabric, seed: u64) -> Result<Self, SimulationError> {
        let book = PathBook::new(fabric)?;
        let leaves = book.leaves() as usize;
        Ok(Self {
            settings,
            seed,
            leaf_of: (0..fabric.hosts()).map(|host| book.leaf_of(host)).collect(),
            book,
            lists: std::iter::repeat_with(|| None).take(leaves * leaves).collect(),
            flows: PerConnection::default(),
            streams: HostStreams::new(fabric.hosts(), seed),
        })
    }

    fn plan(&mut self, from: u32, to: u32, index: usize) -> List {
        let rates = self.book.links().rate.clone();
        let routes = self.book.routes(from, to);
        let live = || routes.live.iter().map(|&path| &routes.all[usize::from(path)]);
        let slowest = |ports: &[u32]| ports.iter().map(|&port| rates[port as usize].bps()).min().unwrap_or(1);
        let weights: Vec<u64> =
            live().map(|route| if self.settings.weighted { slowest(&route.ports) } else { 1 }).collect();
        let mut stream = Stream::of_entity(self.seed, "presto list", index as u32);
        let turns = list(&weights, self.settings.order, |n| stream.below(n));
        List { turns, labels: live().map(|route| route.labels).collect() }
    }
}

/// The transports, TCP's receivers that had no hold of their own with Presto's.
pub(crate) fn with_receiver(transports: &[Transport], settings: &Settings) -> Vec<Transport> {
    let mut transports = transports.to_vec();
    for transport in &mut transports {
        if let Transport::Tcp(tcp) = transport
            && tcp.reorder == Reorder::None
            && settings.hold_ps > 0
        {
            tcp.reorder =
                Reorder::Flowcell { cell_bytes: settings.cell_bytes.into(), timeout_ps: settings.hold_ps };
        }
    }
    transports
}

impl HostBalancer for PrestoHosts {
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        if !matches!(packet.kind, Kind::Data | Kind::Syn | Kind::Datagram) {
            return;
        }
        let (leaf, to) = (self.leaf_of[from.host as usize], self.leaf_of[from.destination as usize]);
        if leaf == to {
            return;
        }
        let index = (leaf * self.book.leaves() + to) as usize;
        if self.lists[index].is_none() {
            self.lists[index] = Some(self.plan(leaf, to, index));
        }
        let (Some(list), Some(state)) = (&self.lists[index], self.flows.get(packet.connection)) else {
            return;
        };
        let cell = flowcell::number(packet.seq, self.settings.cell_bytes.into()) as u32;
        let mut asked = picks::Packet { bytes: packet.frame_bytes.into(), cell, ..picks::Packet::default() };
        let mut env = self.streams.at(from.host, network);
        let path = picks::pick::<Presto, _>(&list.turns, state, &mut asked, &mut env);
        // Without a path that lives, switches do what they can.
        if let Some(&labels) = list.labels.get(usize::from(path)) {
            packet.labels = labels;
            packet.marks |= marks::LABELLED;
        }
    }

    fn opened(&mut self, host: u32, flow: &Opened, _network: &mut Network) {
        if flow.fresh && host == flow.src {
            self.flows.open(flow.connection, presto::State::default);
        }
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.book.learn(links);
        self.lists.fill_with(|| None);
    }
}
