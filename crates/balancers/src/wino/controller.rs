//! The controller of Wino: from what links have left to slices for every pair of leaves.

use crate::path_book::{PathBook, Route};
use crate::wino::parameters::{SliceBandwidth, Wino};
use crate::wino::slices::{SliceScope, Slices};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::SimulationError;
use anabranch_split::PlanError;

/// The slices of every pair of leaves, by source's and destination's; none where no path has a bandwidth.
pub(crate) type Slicing = Vec<Option<Slices>>;

/// Controller of WINO, which cuts slices.
pub(crate) struct Controller {
    wino: Wino,
    book: PathBook,
    /// Traffic of each port that was in no slice, in bits per second, at the last measurement.
    foreign_bps: Vec<u64>,
    /// Whether each pair sent between the last two measurements.
    active: Vec<bool>,
    /// Paths that had bandwidth but less than a slice of it, when slices were last cut.
    left_out: u64,
}

impl Controller {
    pub(crate) fn new(wino: Wino, fabric: &Fabric) -> Result<Self, SimulationError> {
        let book = PathBook::new(fabric)?;
        let pairs = book.leaves() as usize * book.leaves() as usize;
        Ok(Self {
            wino,
            book,
            foreign_bps: vec![0; fabric.ports().len()],
            active: vec![false; pairs],
            left_out: 0,
        })
    }

    pub(crate) fn book(&mut self) -> &mut PathBook {
        &mut self.book
    }

    pub(crate) fn parameters(&self) -> &Wino {
        &self.wino
    }

    /// A path of a pair.
    pub(crate) fn route(&mut self, from: u32, to: u32, path: u16) -> Option<&Route> {
        self.book.routes(from, to).all.get(usize::from(path))
    }

    pub(crate) fn learn_links(&mut self, links: &LinkState) {
        self.book.learn(links);
    }

    /// Takes a measurement: by port, bits per second in no slice; by pair, whether it sent.
    pub(crate) fn learn_traffic(&mut self, foreign_bps: Vec<u64>, active: Vec<bool>) {
        self.foreign_bps = foreign_bps;
        self.active = active;
    }

    /// Slices for what the controller knows now.
    ///
    /// # Errors
    /// Limits that contradict each other.
    pub(crate) fn slice(&mut self) -> Result<Slicing, PlanError> {
        let leaves = self.book.leaves();
        let free_bps = self.free_bps();
        let mut pairs = Vec::with_capacity(self.active.len());
        for (from, to) in (0..leaves).flat_map(|from| (0..leaves).map(move |to| (from, to))) {
            pairs.push(self.residual(from, to, &free_bps));
        }
        let rule = &self.wino.slices;
        let slicing: Slicing = match self.wino.scope {
            SliceScope::Pair => pairs.iter().map(|pair| rule.cut(pair)).collect::<Result<_, _>>()?,
            SliceScope::Network => rule.cut_all(&pairs)?,
        };
        let left_out = |(pair, slices): (&Vec<u64>, &Option<Slices>)| {
            let Some(slices) = slices else { return 0 };
            (0..).zip(pair).filter(|&(path, &bps)| bps > 0 && slices.of_path(path) == 0).count()
        };
        self.left_out = pairs.iter().zip(&slicing).map(left_out).sum::<usize>() as u64;
        Ok(slicing)
    }

    /// Paths with less than one slice, which nobody uses.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Bandwidth of each port that slices of one pair may use, in bits per second.
    fn free_bps(&mut self) -> Vec<u64> {
        let users = self.users();
        let rates = self.book.links().rate.iter().zip(&self.foreign_bps);
        let left = rates.map(|(rate, foreign_bps)| rate.bps().saturating_sub(*foreign_bps));
        left.zip(0usize..).map(|(bps, port)| bps / users.get(port).copied().unwrap_or(1).max(1)).collect()
    }

    /// Least that a link of each path of a pair has left, in bits per second; nothing for dead paths.
    fn residual(&mut self, from: u32, to: u32, free_bps: &[u64]) -> Vec<u64> {
        let routes = self.book.routes(from, to);
        let mut residual = vec![0; routes.all.len()];
        for &path in &routes.live {
            let path = usize::from(path);
            let free = routes.all[path].ports.iter().map(|&port| free_bps[port as usize]);
            residual[path] = free.min().unwrap_or(0);
        }
        residual
    }

    /// Number of pairs that sent lately and may use each port. Empty where it does not matter.
    fn users(&mut self) -> Vec<u64> {
        if self.wino.bandwidth == SliceBandwidth::Full {
            return Vec::new();
        }
        let leaves = self.book.leaves();
        let mut users = vec![0; self.foreign_bps.len()];
        for pair in (0..self.active.len()).filter(|&pair| self.active[pair]) {
            let (from, to) = (pair as u32 / leaves, pair as u32 % leaves);
            let routes = self.book.routes(from, to);
            let mut ports: Vec<u32> =
                routes.live.iter().flat_map(|&path| routes.all[usize::from(path)].ports.to_vec()).collect();
            ports.sort_unstable();
            ports.dedup();
            for port in ports {
                users[port as usize] += 1;
            }
        }
        users
    }
}
