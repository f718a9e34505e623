//! Microslices: paths of unequal bandwidth cut into slices of equal bandwidth (Rehman et al., "Efficient Datacenter Load
//! Balancing with Microslices", IFIP Networking 2025, section III: Wino).
//!
//! Algorithm 1 takes the greatest common divisor of the residual bandwidths, yet at least `slice_min_bps`. Read here:
//! its set is that of the paths of one pair of leaves, each with the least residual bandwidth of its links, and what is
//! wasted on a path is its bandwidth modulo the slice (printed the other way round, which would waste 200 Mbit/s of
//! the paper's own example, where nothing is).

use anabranch_plan::gcd;
use anabranch_split::PlanError;

/// Which paths are cut into slices of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum SliceScope {
    /// Slices of one pair of leaves.
    #[default]
    Pair,
    /// Slices of all pairs that an asymmetry affects.
    Network,
}

/// Choice of slice where the common divisor is below the least slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum SlicePick {
    /// The least slice is taken, whatever it wastes.
    #[default]
    Literal,
    /// The slice, of all from the least one up, that wastes least; of equals the largest.
    MinWaste,
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
}

impl Default for SliceRule {
    fn default() -> Self {
        Self {
            pick: SlicePick::Literal,
            order: SliceOrder::Interleaved,
            slice_min_bps: 7_000_000,
            slice_max_bps: None,
            quantum_bps: None,
            label_bits: 6,
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
    /// Cuts the paths of one pair, given the residual bandwidth of each in bits per second. Nothing where none has any.
    ///
    /// # Errors
    /// Limits that contradict each other.
    pub fn cut(&self, residual_bps: &[u64]) -> Result<Option<Slices>, PlanError> {
        let paths = self.rounded(residual_bps);
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
    pub fn cut_all(&self, pairs: &[Vec<u64>]) -> Result<Vec<Option<Slices>>, PlanError> {
        let pairs: Vec<Vec<u64>> = pairs.iter().map(|pair| self.rounded(pair)).collect();
        let affected: Vec<&[u64]> =
            pairs.iter().filter(|pair| Symmetry::of(pair) == Symmetry::Broken).map(Vec::as_slice).collect();
        let slice_bps = if affected.is_empty() { 0 } else { self.slice_bps(&affected)? };
        let cut = |paths: &Vec<u64>| match Symmetry::of(paths) {
            Symmetry::None => None,
            Symmetry::Of(whole) => Some(self.slices(paths, whole, false)),
            Symmetry::Broken => Some(self.slices(paths, slice_bps, true)),
        };
        Ok(pairs.iter().map(cut).collect())
    }

    fn rounded(&self, residual_bps: &[u64]) -> Vec<u64> {
        let small = residual_bps.iter().any(|&bps| bps > 0 && bps < 1_000_000_000);
        let quantum = self.quantum_bps.unwrap_or(if small { 1_000_000 } else { 10_000_000 }).max(1);
        residual_bps.iter().map(|bps| bps / quantum * quantum).collect()
    }

    /// The size that fits all of `pairs`, each of which must be able to label its slices.
    fn slice_bps(&self, pairs: &[&[u64]]) -> Result<u64, PlanError> {
        let divisor = pairs.iter().copied().flatten().copied().fold(0, gcd);
        let labels = (1u64 << self.label_bits.clamp(1, 16)) - 1;
        let fits =
            |slice: u64| pairs.iter().all(|pair| pair.iter().map(|bps| bps / slice).sum::<u64>() <= labels);
        let least = self.slice_min_bps.max(1);
        if self.slice_max_bps.is_some_and(|most| most < least) {
            return Err(PlanError::new(
                format!("wino: slice_max is below slice_min = {least} bit/s"),
                "raise slice_max or lower slice_min",
            ));
        }
        let allowed = |slice: u64| slice >= least && fits(slice);
        if allowed(divisor) {
            // Divisors of the common divisor, the largest first.
            let most = self.slice_max_bps.unwrap_or(divisor);
            let divisors = (1..=(divisor / least).min(labels))
                .filter(|parts| divisor.is_multiple_of(*parts))
                .map(|parts| divisor / parts);
            let mut finer = divisors.take_while(|&slice| allowed(slice));
            // Labels run out before slices are small enough: the smallest that still have one.
            let mut smallest = divisor;
            return Ok(finer
                .find(|&slice| {
                    smallest = slice;
                    slice <= most
                })
                .unwrap_or(smallest));
        }
        let total = pairs.iter().map(|pair| pair.iter().sum::<u64>()).max().unwrap_or(0);
        match self.pick {
            SlicePick::Literal => {
                // From sum / labels on, rounding down can only lower the number of slices.
                Ok(least.max(total.div_ceil(labels)))
            }
            SlicePick::MinWaste => {
                let largest = pairs.iter().copied().flatten().copied().max().unwrap_or(least);
                let waste = |slice: u64| pairs.iter().copied().flatten().map(|bps| bps % slice).sum::<u64>();
                // Least waste is at a size that divides some path: between two of those every path wastes more the
                // smaller the slice.
                let divides = |&bps: &u64| (1..=(bps / least).min(labels)).map(move |parts| bps / parts);
                let wide = pairs.iter().copied().flatten().filter(|&&bps| bps >= least);
                let sizes =
                    wide.flat_map(divides).filter(|&slice| slice >= least && slice <= largest && fits(slice));
                Ok(sizes.min_by_key(|&slice| (waste(slice), std::cmp::Reverse(slice))).unwrap_or(least))
            }
        }
    }

    fn slices(&self, paths: &[u64], slice_bps: u64, metered: bool) -> Slices {
        let counts: Vec<u64> = paths.iter().map(|bps| bps.checked_div(slice_bps).unwrap_or(0)).collect();
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
        Slices { slice_bps, path_of, waste_bps: paths.iter().sum::<u64>() - covered, metered }
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
    fn of(paths: &[u64]) -> Self {
        let mut alive = paths.iter().copied().filter(|&bps| bps > 0);
        match alive.next() {
            None => Self::None,
            Some(first) if alive.all(|bps| bps == first) => Self::Of(first),
            Some(_) => Self::Broken,
        }
    }
}

/// Excess that a meter of rate `target` let through, in percent (section III-D): windows below their rate
/// count as exact, so the mean over windows is above zero even for a meter that is right in the long run.
#[must_use]
pub fn meter_error_percent(throughput_bps: f64, target_bps: f64) -> f64 {
    (100.0 * (throughput_bps - target_bps) / target_bps).max(0.0)
}
