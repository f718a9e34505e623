//! The controller of Wino: from what links have left to slices for every pair of leaves.

use crate::path_book::{PathBook, Route};
use crate::wino::pair_path::PairPath;
use crate::wino::parameters::{SliceBandwidth, Wino};
use anabranch_fabric::{Fabric, LinkState, Rate};
use anabranch_plan::{Residual, SliceScope, Slices, outside_bps};
use anabranch_sim::SimulationError;
use anabranch_split::PlanError;

/// The slices of every pair of leaves, by source's and destination's; none where no path has a bandwidth.
pub(crate) type Slicing = Vec<Option<Slices>>;

/// Controller of WINO, which cuts slices.
pub(crate) struct Controller {
    wino: Wino,
    book: PathBook,
    /// Traffic of each port that was in no slice, in bits per second, as slices are cut for it.
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
    pub(crate) fn learn_traffic(&mut self, measured_bps: &[u64], active: Vec<bool>) {
        let rates = self.book.links().rate.iter();
        for ((before_bps, &measured_bps), rate) in self.foreign_bps.iter_mut().zip(measured_bps).zip(rates) {
            *before_bps = outside_bps(*before_bps, measured_bps, rate.bps(), self.wino.hysteresis);
        }
        self.active = active;
    }

    /// Slices for what the controller knows now.
    ///
    /// # Errors
    /// Limits that contradict each other.
    pub(crate) fn slice(&mut self) -> Result<Slicing, PlanError> {
        let leaves = self.book.leaves();
        let free = self.free();
        let mut pairs = Vec::with_capacity(self.active.len());
        for (from, to) in (0..leaves).flat_map(|from| (0..leaves).map(move |to| (from, to))) {
            pairs.push(self.residual(from, to, &free));
        }
        let rule = &self.wino.slices;
        let mut slicing: Slicing = match self.wino.scope {
            SliceScope::Pair => pairs.iter().map(|pair| rule.cut(pair)).collect::<Result<_, _>>()?,
            SliceScope::Network => rule.cut_all(&pairs)?,
        };
        if self.wino.equal_slices {
            slicing.iter_mut().flatten().for_each(|slices| deal_out(&mut slices.path_of));
        }
        let left_out = |(pair, slices): (&Vec<Residual>, &Option<Slices>)| {
            let Some(slices) = slices else { return 0 };
            (0..).zip(pair).filter(|&(path, left)| left.bps > 0 && slices.of_path(path) == 0).count()
        };
        self.left_out = pairs.iter().zip(&slicing).map(left_out).sum::<usize>() as u64;
        Ok(slicing)
    }

    /// The paths of a pair with what each has left, and the slices that are cut of them; none where no path has any.
    ///
    /// # Errors
    /// Limits that contradict each other.
    pub(crate) fn pair(&mut self, from: u32, to: u32) -> Result<(Vec<PairPath>, Option<Slices>), PlanError> {
        let free = self.free();
        let left = self.residual(from, to, &free);
        let routes = &self.book.routes(from, to).all;
        let path =
            |(route, left): (&Route, &Residual)| PairPath { ports: route.ports.clone(), left_bps: left.bps };
        let paths = routes.iter().zip(&left).map(path).collect();
        let index = from as usize * self.book.leaves() as usize + to as usize;
        Ok((paths, self.slice()?.swap_remove(index)))
    }

    /// Paths with less than one slice, which nobody uses.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Bandwidth of each port that slices of one pair may use.
    fn free(&mut self) -> Vec<Residual> {
        let users = self.users();
        let rates = self.book.links().rate.iter().zip(&self.foreign_bps);
        let left = |((rate, &foreign_bps), port): ((&Rate, &u64), usize)| Residual {
            bps: rate.bps().saturating_sub(foreign_bps) / users.get(port).copied().unwrap_or(1).max(1),
            measured: foreign_bps > 0,
        };
        rates.zip(0..).map(left).collect()
    }

    /// What each path of a pair has left: that of its narrowest link; nothing for dead paths.
    fn residual(&mut self, from: u32, to: u32, free: &[Residual]) -> Vec<Residual> {
        let routes = self.book.routes(from, to);
        let mut residual = vec![Residual::default(); routes.all.len()];
        for &path in &routes.live {
            let path = usize::from(path);
            residual[path] = Residual::least(routes.all[path].ports.iter().map(|&port| free[port as usize]));
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

/// Gives as many slices to every path that has any: no fewer than there are, so that they cover as much.
fn deal_out(path_of: &mut Vec<u16>) {
    let slices = path_of.len();
    path_of.sort_unstable();
    path_of.dedup();
    *path_of = path_of.repeat(slices.div_ceil(path_of.len().max(1)));
}
