//! The book of paths: for each pair of leaves all shortest paths of the fabric as built, with the labels that lead along
//! them, and which of them routing believes alive.

use anabranch_fabric::{Fabric, LinkState, NextHops, paths};
use anabranch_sim::SimulationError;

/// Most choices that labels hold, and most next hops a label tells apart.
const CHOICES_MAX: u32 = 4;
const MEMBERS_MAX: usize = 256;
/// Most paths between two leaves that anyone would keep a list of.
const PATHS_MAX: u64 = 1 << 16;

/// One path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Choices on the path, as in [`anabranch_sim::Packet::labels`].
    pub(crate) labels: u32,
    /// Its ports, one per switch, the last leaf's to the host excepted.
    pub(crate) ports: Box<[u32]>,
}

/// The paths of a pair of leaves, in lexicographic order of their choices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routes {
    /// All, dead or alive: their numbers in this list never change.
    pub(crate) all: Box<[Route]>,
    /// Numbers of those that live as far as routing knows, ascending.
    pub(crate) live: Vec<u16>,
}

/// All paths, made when first asked for.
pub(crate) struct PathBook {
    fabric: Fabric,
    hops: NextHops,
    /// Number of paths to each destination from each switch.
    counts: Vec<Vec<u64>>,
    /// Routes by source's and destination's leaf.
    pairs: Vec<Option<Box<Routes>>>,
    links: LinkState,
}

impl PathBook {
    /// # Errors
    /// A fabric with more choices on a path than labels hold, or too many paths.
    pub(crate) fn new(fabric: &Fabric) -> Result<Self, SimulationError> {
        let links = LinkState::of(fabric);
        let hops = NextHops::shortest(fabric, &links);
        let leaves = hops.leaves.len();
        let mut counts = Vec::with_capacity(leaves);
        for destination in 0..leaves as u32 {
            let number = paths::path_counts(fabric, &hops, destination);
            check(fabric, &hops, destination, &number)?;
            counts.push(number);
        }
        Ok(Self { fabric: fabric.clone(), hops, counts, pairs: vec![None; leaves * leaves], links })
    }

    /// The fabric as built.
    pub(crate) fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Number of leaves.
    pub(crate) fn leaves(&self) -> u32 {
        self.hops.leaves.len() as u32
    }

    /// Most paths between two leaves.
    pub(crate) fn most_paths(&self) -> u64 {
        let of = |counts: &Vec<u64>| {
            let leaves = self.hops.leaves.iter();
            leaves.map(|&leaf| counts[self.hops.switch(leaf)]).max().unwrap_or(0)
        };
        self.counts.iter().map(of).max().unwrap_or(0)
    }

    /// The leaf of a host, as destinations are numbered.
    pub(crate) fn leaf_of(&self, host: u32) -> u32 {
        self.hops.leaves.binary_search(&self.fabric.leaf_of(host)).unwrap_or(0) as u32
    }

    /// The switch, counted from the first, that leaf number `leaf` is.
    pub(crate) fn switch_of(&self, leaf: u32) -> u32 {
        self.hops.leaves[leaf as usize] - self.fabric.hosts()
    }

    /// The paths from leaf number `from` to leaf number `to`; none from a leaf to itself.
    pub(crate) fn routes(&mut self, from: u32, to: u32) -> &Routes {
        let index = from as usize * self.hops.leaves.len() + to as usize;
        if self.pairs[index].is_none() {
            let all = self.find(from, to);
            let live = live(&all, &self.fabric, &self.links);
            self.pairs[index] = Some(Box::new(Routes { all, live }));
        }
        self.pairs[index].get_or_insert_default()
    }

    fn find(&self, from: u32, to: u32) -> Box<[Route]> {
        if from == to {
            return Box::default();
        }
        let counts = &self.counts[to as usize];
        let node = self.hops.leaves[from as usize];
        let number = counts[self.hops.switch(node)];
        (0..number)
            .filter_map(|index| paths::path(&self.fabric, &self.hops, counts, node, to, index).ok())
            .map(|path| Route { labels: path.labels, ports: path.ports.into() })
            .collect()
    }

    /// Routing believes the links to be so.
    pub(crate) fn learn(&mut self, links: &LinkState) {
        self.links.clone_from(links);
        for routes in self.pairs.iter_mut().flatten() {
            routes.live = live(&routes.all, &self.fabric, links);
        }
    }

    /// State of the links as routing believes it.
    pub(crate) fn links(&self) -> &LinkState {
        &self.links
    }
}

fn live(all: &[Route], fabric: &Fabric, links: &LinkState) -> Vec<u16> {
    let lives = |route: &Route| route.ports.iter().all(|&port| links.link_up(fabric, port));
    (0..).zip(all).filter(|(_, route)| lives(route)).map(|(index, _)| index).collect()
}

/// Whether labels lead everywhere.
fn check(fabric: &Fabric, hops: &NextHops, destination: u32, number: &[u64]) -> Result<(), SimulationError> {
    let mut choices = vec![0u32; hops.switches()];
    for node in hops.nearest_first(destination) {
        let ports: Vec<u32> = hops.ports(node, destination).collect();
        let beyond = ports.iter().map(|&port| choices[hops.switch(fabric.ports()[port as usize].to)]);
        let deepest = beyond.max().unwrap_or(0) + u32::from(ports.len() > 1);
        choices[hops.switch(node)] = deepest;
        let many = number[hops.switch(node)] > PATHS_MAX;
        if deepest > CHOICES_MAX || ports.len() > MEMBERS_MAX || many {
            let name = |node: u32| &fabric.nodes()[node as usize].name;
            return Err(SimulationError::new(
                format!(
                    "routing: the paths from {} to {} are too many for source routes",
                    name(node),
                    name(hops.leaves[destination as usize])
                ),
                format!(
                    "use a fabric with at most {CHOICES_MAX} choices on a path, {MEMBERS_MAX} next hops a choice and \
                     {PATHS_MAX} paths a pair, or a scheme that chooses hop by hop such as ecmp"
                ),
            ));
        }
    }
    Ok(())
}
