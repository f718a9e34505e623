//! Workload graphs on hosts of a fabric.

use crate::random::Stream;
use crate::{Flow, Ports, Start, TrafficError};
use anabranch_fabric::{Fabric, Racks};
use anabranch_work::{Act, Graph};
use std::sync::Arc;

/// A graph of work whose ranks have hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedWork {
    /// The graph.
    pub graph: Arc<Graph>,
    /// Host of each rank.
    pub hosts: Vec<u32>,
    /// When it begins, in picoseconds; [`Self::NEVER_PS`] if it does not.
    pub start_ps: u64,
    /// Whether messages between two ranks go in order over connections that their hosts keep, one after the other, as
    /// collective libraries send them. Otherwise each has a connection of its own.
    pub ordered: bool,
}

impl PlacedWork {
    /// Start of a graph that does not begin: its messages have numbers among the flows, and nothing more.
    pub const NEVER_PS: u64 = u64::MAX;
}

/// One job: a graph on its hosts, and what carries its messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Graph and hosts.
    pub work: PlacedWork,
    /// Index into the simulation's list of transports.
    pub transport: u8,
}

/// Which hosts ranks are placed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Rank by rank onto hosts in the order in which they are listed.
    Packed,
    /// One host of each leaf in turn, then the next of each; of each server, where servers have several accelerators.
    Spread,
    /// Drawn without replacement.
    Random,
}

impl Placement {
    /// Chooses hosts for `ranks` ranks among `hosts`.
    ///
    /// # Errors
    /// Hosts that the fabric does not have or that are listed twice, and more ranks than hosts.
    pub fn choose(
        self,
        fabric: &Fabric,
        hosts: &[u32],
        ranks: u32,
        seed: u64,
    ) -> Result<Vec<u32>, TrafficError> {
        super::check_hosts(fabric, "hosts", hosts)?;
        if ranks as usize > hosts.len() {
            return Err(TrafficError::new(
                None,
                format!("{ranks} ranks on {} hosts", hosts.len()),
                "give each rank a host: a larger fabric, more `hosts`, or fewer `ranks`",
            ));
        }
        let mut chosen = hosts.to_vec();
        match self {
            Self::Packed => {}
            Self::Spread => {
                // By the number of a host among those of its server or rack, then by that.
                let racks = Racks::of(fabric);
                let group = |host| {
                    fabric.servers().map_or_else(|| racks.of[host as usize], |servers| servers.of(host))
                };
                let mut seen = std::collections::BTreeMap::new();
                let mut turns: Vec<(u32, u32, u32)> = hosts
                    .iter()
                    .map(|&host| {
                        let turn = seen.entry(group(host)).or_insert(0);
                        *turn += 1;
                        (*turn, group(host), host)
                    })
                    .collect();
                turns.sort_unstable();
                chosen = turns.into_iter().map(|(.., host)| host).collect();
            }
            Self::Random => {
                let mut stream = Stream::new(seed, "placement of ranks");
                for index in 0..chosen.len().saturating_sub(1) {
                    let other = index as u64 + stream.below((chosen.len() - index) as u64);
                    chosen.swap(index, other as usize);
                }
            }
        }
        chosen.truncate(ranks as usize);
        Ok(chosen)
    }
}

impl Job {
    /// One flow for each message, rank by rank; its job is the message's step.
    pub(super) fn flows(&self, fabric: &Fabric) -> Result<Vec<Flow>, TrafficError> {
        let PlacedWork { graph, hosts, .. } = &self.work;
        super::check_hosts(fabric, "hosts", hosts)?;
        let mut flows = Vec::new();
        for rank in 0..graph.ranks() {
            for node in graph.nodes_of(rank) {
                let Act::Send { to, bytes, .. } = graph.node(node).act else { continue };
                // What a rank sends to itself crosses no network.
                if to != rank {
                    flows.push(Flow {
                        src: hosts[rank as usize],
                        dst: hosts[to as usize],
                        size_bytes: bytes,
                        start: Start::Ready { work: 0, node },
                        path: None,
                        job: Some(graph.step_of(node)),
                        transport: self.transport,
                        ports: Ports::CHOSEN,
                    });
                }
            }
        }
        Ok(flows)
    }
}

/// Sizes of the blocks of an all-to-all by source and destination, row by row, in which each rank sends `bytes` and
/// destinations are chosen with the frequencies of Zipf's law: the k-th most popular one in proportion to k^-skew. Which
/// rank has which popularity is drawn for each step, as the experts that tokens are routed to change.
#[must_use]
pub fn skewed_blocks(ranks: u32, bytes: u64, skew: f64, seed: u64, step: u32) -> Vec<u64> {
    let mut stream = Stream::of_entity(seed, "popularity of ranks", step);
    let mut weights: Vec<f64> = (1..=ranks).map(|place| libm::pow(f64::from(place), -skew)).collect();
    for index in 0..weights.len().saturating_sub(1) {
        let other = index as u64 + stream.below((weights.len() - index) as u64);
        weights.swap(index, other as usize);
    }
    let sum: f64 = weights.iter().sum();
    let row: Vec<u64> = weights.iter().map(|weight| (bytes as f64 * (weight / sum)).round() as u64).collect();
    let count = ranks as usize;
    (0..count * count).map(|index| row[index % count]).collect()
}

/// Times in picoseconds at which requests come, without end: a Poisson process of so many in a second.
pub fn arrivals_ps(per_s: f64, seed: u64) -> impl Iterator<Item = u64> {
    let mut gaps = Stream::new(seed, "arrivals of requests");
    let mut time_ps = 0.0;
    std::iter::repeat_with(move || {
        time_ps += gaps.exponential(1e12 / per_s);
        time_ps as u64
    })
}
