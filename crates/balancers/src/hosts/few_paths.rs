//! Paths as edges number them: at most 64 between two leaves, each with its labels, and which of them live.

use crate::hosts::host_env::HostEnv;
use crate::path_book::PathBook;
use crate::round_trip::between_hosts_ns;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::{Framing, SimulationError};
use anabranch_split::picks::relay::PATHS;
use anabranch_split::{Env, capability};

/// The paths of a pair of leaves.
pub(crate) struct Few {
    /// Number of each path in the book of paths.
    numbers: Box<[u16]>,
    /// Labels of each path, as in [`anabranch_sim::Packet::labels`].
    pub(crate) labels: Box<[u32]>,
    /// A bit for each path that lives as far as routing knows.
    pub(crate) alive: u64,
}

impl Few {
    /// All paths of the pair, or [`PATHS`] that are evenly spread over them.
    fn of(book: &mut PathBook, from: u32, to: u32) -> Self {
        let routes = book.routes(from, to);
        let count = routes.all.len().min(PATHS);
        let number = |path: usize| path * routes.all.len() / count;
        let numbers: Box<[u16]> = (0..count).map(|path| number(path) as u16).collect();
        let labels = numbers.iter().map(|&number| routes.all[usize::from(number)].labels).collect();
        let alive = alive(&numbers, &routes.live);
        Self { numbers, labels, alive }
    }
}

fn alive(numbers: &[u16], live: &[u16]) -> u64 {
    let bit = |(path, number): (usize, &u16)| u64::from(live.binary_search(number).is_ok()) << path;
    numbers.iter().enumerate().map(bit).sum()
}

/// The paths of all pairs, made when first asked for.
pub(crate) struct FewPaths {
    book: PathBook,
    /// Leaf of each host, as destinations are numbered.
    leaf_of: Box<[u32]>,
    pairs: Vec<Option<Few>>,
}

impl FewPaths {
    pub(crate) fn new(fabric: &Fabric) -> Result<Self, SimulationError> {
        let book = PathBook::new(fabric)?;
        let leaves = book.leaves() as usize;
        let leaf_of = (0..fabric.hosts()).map(|host| book.leaf_of(host)).collect();
        Ok(Self { book, leaf_of, pairs: std::iter::repeat_with(|| None).take(leaves * leaves).collect() })
    }

    /// Number of leaves.
    pub(crate) fn leaves(&self) -> u32 {
        self.book.leaves()
    }

    /// The leaf of a host.
    pub(crate) fn leaf_of(&self, host: u32) -> u32 {
        self.leaf_of[host as usize]
    }

    /// All hosts of a leaf.
    pub(crate) fn hosts_of(&self, leaf: u32) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.leaf_of).filter(move |&(_, &of)| of == leaf).map(|(host, _)| host)
    }

    /// The number of the pair of two hosts' leaves; nothing if it is one leaf.
    pub(crate) fn pair(&self, from: u32, to: u32) -> Option<u32> {
        let (from, to) = (self.leaf_of(from), self.leaf_of(to));
        (from != to).then(|| from * self.leaves() + to)
    }

    /// The paths of a pair.
    pub(crate) fn few(&mut self, pair: u32) -> &Few {
        let (from, to) = (pair / self.leaves(), pair % self.leaves());
        self.pairs[pair as usize].get_or_insert_with(|| Few::of(&mut self.book, from, to))
    }

    /// Round trip between hosts of a pair's leaves while nothing is in the way, in nanoseconds. The first host of a leaf
    /// stands for all of them.
    pub(crate) fn round_trip_ns(&mut self, pair: u32, framing: Framing) -> u64 {
        let (from, to) = (pair / self.leaves(), pair % self.leaves());
        let first = |leaf| self.hosts_of(leaf).next().unwrap_or(0);
        let hosts = (first(from), first(to));
        let routes = self.book.routes(from, to).all.clone();
        between_hosts_ns(self.book.fabric(), &routes, hosts, framing)
    }

    /// Routing believes the links to be so. By pair: a bit for each path that died or came back.
    pub(crate) fn learn(&mut self, links: &LinkState) -> Vec<u64> {
        self.book.learn(links);
        let leaves = self.leaves();
        let mut changed = vec![0; self.pairs.len()];
        for (pair, few) in (0u32..).zip(&mut self.pairs) {
            if let Some(few) = few {
                let now = alive(&few.numbers, &self.book.routes(pair / leaves, pair % leaves).live);
                changed[pair as usize] = few.alive ^ now;
                few.alive = now;
            }
        }
        changed
    }
}

/// A host with paths before it, at a moment.
pub(crate) struct Fork<'a> {
    pub(crate) host: HostEnv<'a>,
    /// A bit for each path that lives.
    pub(crate) alive: u64,
}

impl Env for Fork<'_> {
    const GIVES: u32 = HostEnv::GIVES | capability::TAG | capability::TIMER | capability::PROBE;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.host.now_ns()
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        self.host.random_u32()
    }

    #[inline(always)]
    fn up(&self, path: u16) -> bool {
        usize::from(path) < PATHS && self.alive >> path & 1 != 0
    }
}
