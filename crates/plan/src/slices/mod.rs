//! Microslices: paths of unequal bandwidth cut into slices of equal bandwidth (Rehman et al., "Efficient Datacenter Load
//! Balancing with Microslices", IFIP Networking 2025, section III: Wino).
//!
//! Algorithm 1 takes the greatest common divisor of the residual bandwidths, yet at least `slice_min_bps`. Read here:
//! its set is that of the paths of one pair of leaves, each with the least residual bandwidth of its links, and what is
//! wasted on a path is its bandwidth modulo the slice (printed the other way round, which would waste 200 Mbit/s of
//! the paper's own example, where nothing is).

mod meter;
mod outside;
mod size;

pub use meter::{meter_error_percent, metered_frames, overflow_bps};
pub use outside::outside_bps;

use anabranch_split::PlanError;
use anabranch_split::picks::TokenBucket;

/// Which paths are cut into slices of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum SliceScope {
    /// Slices of one pair of leaves.
    #[default]
    Pair,
    /// Slices of all pairs that an asymmetry affects.
    Network,
}

/// Choice of slice where the common divisor does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum SlicePick {
    /// The size that loses least: what no slice covers, and what meters of that size drop. It is asked as soon as a
    /// bandwidth was measured, for the divisor of measured numbers is that of their noise.
    #[default]
    LeastLoss,
    /// The least size that the limits allow, whatever it wastes: the maximum of Algorithm 1.
    Literal,
    /// The size that wastes least; of equals the largest.
    MinWaste,
}

impl SlicePick {
    /// All, the default first.
    pub const ALL: [Self; 3] = [Self::LeastLoss, Self::Literal, Self::MinWaste];
    /// Their names, in that order.
    pub const NAMES: [&str; 3] = ["least-loss", "literal", "min-waste"];

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(|index| Self::ALL[index])
    }
}

/// The order in which slices are numbered, and so the order in which packets take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum SliceOrder {
    /// The first slice of each path before the second of any: 3 + 1 + 1 is paths 0, 1, 2, 0, 0.
    #[default]
    Interleaved,
    /// All slices of a path before those of the next: 0, 0, 0, 1, 2.
    Block,
}

/// Bandwidth that a path has left, in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Residual {
    /// The bandwidth.
    pub bps: u64,
    /// Whether traffic was measured and taken off, so that it is not exact.
    pub measured: bool,
}

impl Residual {
    /// Bandwidth of a path whose links carry nothing else.
    #[must_use]
    pub const fn exact(bps: u64) -> Self {
        Self { bps, measured: false }
    }

    /// What the links of a path leave, each given its own: that of the narrowest. Nothing without a link.
    pub fn least(links: impl IntoIterator<Item = Self>) -> Self {
        links.into_iter().min_by_key(|link| (link.bps, link.measured)).unwrap_or_default()
    }
}

/// How slices are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceRule {
    /// See [`SlicePick`].
    pub pick: SlicePick,
    /// See [`SliceOrder`].
    pub order: SliceOrder,
    /// Least slice, in bits per second. The paper's 7 Mbit/s keep the error of its meters below 2 % over 15 ms (section
    /// III-D).
    pub slice_min_bps: u64,
    /// Largest slice, in bits per second: the common divisor is divided further until it is no larger. The paper's text
    /// cuts 10 and 5 Gbit/s into 15 slices of 1 Gbit/s, which its Algorithm 1 does not.
    pub slice_max_bps: Option<u64>,
    /// Residual bandwidths are rounded down to multiples of this, in bits per second. `None`: 10 Mbit/s, or 1 Mbit/s where a
    /// path has less than 1 Gbit/s.
    pub quantum_bps: Option<u64>,
    /// Bits of the label that names a slice in a packet; label 0 means none. 6 in a DSCP field, 24 with VXLAN. There are never
    /// more than 65,535 slices.
    pub label_bits: u32,
    /// Burst that the meter of a slice lets pass, as the time its rate takes for it, in nanoseconds.
    pub burst_ns: u64,
    /// Largest frame, in bytes: meters let two pass at least.
    pub frame_bytes: u32,
}

impl Default for SliceRule {
    fn default() -> Self {
        Self {
            pick: SlicePick::LeastLoss,
            order: SliceOrder::Interleaved,
            slice_min_bps: 7_000_000,
            slice_max_bps: None,
            quantum_bps: None,
            label_bits: 6,
            burst_ns: 1_000_000,
            frame_bytes: 1518,
        }
    }
}

/// The slices of one pair of leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices {
    /// Bandwidth of each, in bits per second.
    pub slice_bps: u64,
    /// The path of each, in the order in which packets take them.
    pub path_of: Vec<u16>,
    /// Bandwidth that no slice covers, in bits per second.
    pub waste_bps: u64,
    /// Whether slices need meters: not where all paths are equal and each is one slice.
    pub metered: bool,
}

impl Slices {
    /// Number of slices of a path.
    #[must_use]
    pub fn of_path(&self, path: u16) -> usize {
        self.path_of.iter().filter(|&&of| of == path).count()
    }
}

impl SliceRule {
    /// Cuts the paths of one pair, given what each has left. Nothing where none has any.
    ///
    /// # Errors
    /// Limits that contradict each other.
    pub fn cut(&self, residual: &[Residual]) -> Result<Option<Slices>, PlanError> {
        let paths = self.rounded(residual);
        match Symmetry::of(&paths) {
            Symmetry::None => Ok(None),
            Symmetry::Of(whole) => Ok(Some(self.slices(&paths, whole, false))),
            Symmetry::Broken => Ok(Some(self.slices(&paths, self.slice_bps(&[&paths])?, true))),
        }
    }

    /// Cuts the paths of many pairs into slices of one size, which the pairs decide together that are not symmetric.
    ///
    /// # Errors
    /// As [`Self::cut`].
    pub fn cut_all(&self, pairs: &[Vec<Residual>]) -> Result<Vec<Option<Slices>>, PlanError> {
        let pairs: Vec<Vec<Residual>> = pairs.iter().map(|pair| self.rounded(pair)).collect();
        let affected: Vec<&[Residual]> =
            pairs.iter().filter(|pair| Symmetry::of(pair) == Symmetry::Broken).map(Vec::as_slice).collect();
        let slice_bps = if affected.is_empty() { 0 } else { self.slice_bps(&affected)? };
        let cut = |paths: &Vec<Residual>| match Symmetry::of(paths) {
            Symmetry::None => None,
            Symmetry::Of(whole) => Some(self.slices(paths, whole, false)),
            Symmetry::Broken => Some(self.slices(paths, slice_bps, true)),
        };
        Ok(pairs.iter().map(cut).collect())
    }

    /// The meter of a slice.
    #[must_use]
    pub fn meter(&self, slice_bps: u64) -> TokenBucket {
        TokenBucket::new(slice_bps, self.depth_bytes(slice_bps))
    }

    /// Depth of a slice's meter, in bytes.
    #[must_use]
    pub fn depth_bytes(&self, slice_bps: u64) -> u64 {
        TokenBucket::depth_bytes(slice_bps, self.burst_ns, self.frame_bytes)
    }

    fn rounded(&self, residual: &[Residual]) -> Vec<Residual> {
        let small = residual.iter().any(|path| path.bps > 0 && path.bps < 1_000_000_000);
        let quantum = self.quantum_bps.unwrap_or(if small { 1_000_000 } else { 10_000_000 }).max(1);
        residual.iter().map(|path| Residual { bps: path.bps / quantum * quantum, ..*path }).collect()
    }

    fn slices(&self, paths: &[Residual], slice_bps: u64, metered: bool) -> Slices {
        let counts: Vec<u64> =
            paths.iter().map(|path| path.bps.checked_div(slice_bps).unwrap_or(0)).collect();
        let rounds = counts.iter().copied().max().unwrap_or(0);
        let numbered = || (0u16..).zip(&counts);
        let path_of = match self.order {
            SliceOrder::Interleaved => (0..rounds)
                .flat_map(|round| numbered().filter(move |&(_, &count)| count > round).map(|(path, _)| path))
                .collect(),
            SliceOrder::Block => {
                numbered().flat_map(|(path, &count)| std::iter::repeat_n(path, count as usize)).collect()
            }
        };
        let covered: u64 = counts.iter().sum::<u64>() * slice_bps;
        let total: u64 = paths.iter().map(|path| path.bps).sum();
        Slices { slice_bps, path_of, waste_bps: total - covered, metered }
    }
}

/// Whether the paths that have a bandwidth have the same: then spraying needs no slices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    /// No path has any.
    None,
    /// All have this.
    Of(u64),
    Broken,
}

impl Symmetry {
    fn of(paths: &[Residual]) -> Self {
        let mut alive = paths.iter().map(|path| path.bps).filter(|&bps| bps > 0);
        match alive.next() {
            None => Self::None,
            Some(first) if alive.all(|bps| bps == first) => Self::Of(first),
            Some(_) => Self::Broken,
        }
    }
}
