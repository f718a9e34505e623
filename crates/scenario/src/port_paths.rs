//! Paths that source ports of queue pairs lead to, where switches are configured to hash header fields.

use crate::Resolved;
use anabranch_balancers::{Settings, Task};
use anabranch_fabric::{Fabric, LinkState, NextHops};
use anabranch_sim::{Field, Observe, Progress, SimulationError, pair_headers};
use anabranch_traffic::Flow;
use std::collections::BTreeMap;

/// Source ports of RDMA: the dynamic ones (RFC 6335), as Linux gives them to queue pairs.
const FIRST_PORT: u16 = 49_152;

/// Paths between two hosts, by the source ports that lead to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPaths {
    /// Bound on the paths that share no link, over all shortest paths of the fabric: links of the narrowest step.
    pub disjoint_most: usize,
    /// Each path as its ports between switches, with the first source port that leads to it: a list for each queue pair, or
    /// one for all of them where switches do not hash their numbers.
    pub of_queue_pairs: Vec<Vec<(Vec<u32>, u16)>>,
}

impl Resolved {
    /// Paths of the first `queue_pairs` queue pairs that host `src` opens to `dst`, when the run begins.
    ///
    /// # Errors
    /// Hosts that are not two of different leaves, traffic without queue pairs, and switches on the way that choose by no
    /// configured hash.
    pub fn port_paths(&self, src: u32, dst: u32, queue_pairs: u8) -> Result<PortPaths, SimulationError> {
        let (fabric, settings) = (self.fabric(), self.settings());
        let Some(transport) = settings.transports.iter().find(|one| one.queue_pairs().is_some()) else {
            return Err(SimulationError::new(
                "transport: no traffic has queue pairs, whose source ports could be chosen",
                "set transport.kind = \"roce\" or \"uec\"",
            ));
        };
        if settings.switch_hashes.is_empty() {
            return Err(SimulationError::new(
                "routing.hash: switches hash ideally, and no source port names a path",
                "add [[routing.hash]] with what the switches are configured to",
            ));
        }
        if src == dst || src.max(dst) >= fabric.named_hosts() || fabric.leaf_of(src) == fabric.leaf_of(dst) {
            return Err(SimulationError::new(
                format!("hosts {src} and {dst}: no switch has a choice between them"),
                "name two hosts of different leaves",
            ));
        }
        let mut links = LinkState::of(fabric);
        for change in settings.changes.iter().filter(|change| change.at_ps == 0) {
            links.apply(change.what);
        }
        let steps = steps(fabric, &links, src, dst);
        let chooses = |port: u32, step: &[u32]| {
            let from = fabric.ports()[port as usize].from;
            step.iter().filter(|&&other| fabric.ports()[other as usize].from == from).count() > 1
        };
        let mut choosing =
            steps.iter().flat_map(|step| step.iter().filter(|&&port| chooses(port, step)).copied());
        let ideal = |port: &u32| {
            let switch = fabric.ports()[*port as usize].from - fabric.hosts();
            settings.switch_hashes[switch as usize].is_none()
        };
        if let Some(port) = choosing.find(ideal) {
            let switch = &fabric.nodes()[fabric.ports()[port as usize].from as usize].name;
            return Err(SimulationError::new(
                format!("routing.hash: {switch} chooses on the way and hashes ideally"),
                "configure the hash of every switch that has a choice",
            ));
        }
        let reads_number =
            settings.switch_hashes.iter().flatten().any(|hash| hash.fields.has(Field::QueuePair));
        let lists = if reads_number { u32::from(queue_pairs) } else { 1 };
        let ports = FIRST_PORT..=u16::MAX;
        let headers = pair_headers(settings, transport, [src, dst], lists, ports.clone());
        let (none, progress): (Vec<Flow>, _) = (Vec::new(), Progress::default());
        let settings = Settings { observe: Observe::default(), works: Vec::new(), ..settings.clone() };
        let paths = Task::new(fabric, &none, &settings, &progress)?.paths(&headers)?;
        let of_queue_pairs = paths.chunks(ports.len()).map(|paths| {
            let mut first: BTreeMap<&Vec<u32>, u16> = BTreeMap::new();
            for (path, port) in paths.iter().zip(ports.clone()).filter(|(path, _)| !path.is_empty()) {
                first.entry(path).or_insert(port);
            }
            first.into_iter().map(|(path, port)| (path.clone(), port)).collect()
        });
        Ok(PortPaths {
            disjoint_most: steps.iter().map(Vec::len).min().unwrap_or(0),
            of_queue_pairs: of_queue_pairs.collect(),
        })
    }
}

/// Ports of all shortest paths between the leaves of two hosts, step by step.
fn steps(fabric: &Fabric, links: &LinkState, src: u32, dst: u32) -> Vec<Vec<u32>> {
    let hops = NextHops::shortest(fabric, links);
    let [from, to] = [src, dst].map(|host| fabric.leaf_of(host));
    let Ok(destination) = hops.leaves.binary_search(&to) else { return Vec::new() };
    let (mut nodes, mut steps) = (vec![from], Vec::new());
    while nodes != [to] && steps.len() < fabric.nodes().len() {
        let step: Vec<u32> = nodes.iter().flat_map(|&node| hops.ports(node, destination as u32)).collect();
        nodes = step.iter().map(|&port| fabric.ports()[port as usize].to).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() {
            return Vec::new();
        }
        steps.push(step);
    }
    steps
}
